import type { KubeObject } from './meta';

/** Metadata that an API server sets, and that only dumps of running objects have. */
const LIVE_METADATA = ['creationTimestamp', 'generation', 'managedFields', 'resourceVersion', 'selfLink', 'uid'] as const;

/** Paths of the fields by which a manifest shows to be a dump of a running object. Applied again, `resourceVersion` is a conflict. */
export function liveFields({ metadata }: KubeObject): readonly string[] {
  const fields = metadata as unknown as Readonly<Record<string, unknown>>;
  return LIVE_METADATA.filter((name) => fields[name] !== undefined && fields[name] !== null).map((name) => `metadata.${name}`);
}

/** `object` as a person would write it: without status and what the API server sets. */
export function withoutLiveFields(object: KubeObject): KubeObject {
  const { status, ...written } = object as KubeObject & { readonly status?: unknown };
  const metadata = Object.entries(object.metadata).filter(([name]) => !(LIVE_METADATA as readonly string[]).includes(name));
  return { ...written, metadata: Object.fromEntries(metadata) as unknown as KubeObject['metadata'] };
}
