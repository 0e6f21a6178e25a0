import type { KubeObject } from '../api/meta';
import { error, type Problem } from '../api/problem';

/** A Secret whose values would be committed. */
export function secretData(object: KubeObject): readonly Problem[] {
  const { kind, apiVersion, data, stringData } = object as KubeObject & { readonly data?: object; readonly stringData?: object };
  if (kind !== 'Secret' || apiVersion !== 'v1') return [];
  const field = [['stringData', stringData] as const, ['data', data] as const].find(
    ([, values]) => typeof values === 'object' && values !== null && Object.values(values).some((value) => value !== ''),
  )?.[0];
  if (field === undefined) return [];
  return [
    error(
      field,
      'secrets/in-output',
      'would be committed to the folder in plain sight',
      'create the Secret outside of the stack and refer to it with SecretRef.existing',
    ),
  ];
}
