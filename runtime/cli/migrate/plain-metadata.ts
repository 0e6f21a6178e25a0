import type { KubeObject } from '../../../src/api/meta';

/** Whether an object says nothing but kind, name, namespace and spec, which is all that constructs let people say. */
export function isPlain({ apiVersion, kind, metadata, spec, ...rest }: KubeObject & { readonly spec?: unknown }): boolean {
  const { name, namespace, ...others } = metadata;
  return [...Object.values(rest), ...Object.values(others)].every((field) => field === null || field === undefined);
}
