import type { KubeObject } from '../../src/api/meta';

/** Which object is meant. The version of an API group does not matter for that. */
export interface ObjectRef {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}

export function refOf(object: KubeObject): ObjectRef {
  const { namespace = 'default', name } = object.metadata;
  return { group: groupOf(object.apiVersion), kind: object.kind, namespace, name };
}

/** `group/Kind`, the key of a kind. */
export function kindKeyOf({ group, kind }: Pick<ObjectRef, 'group' | 'kind'>): string {
  return `${group}/${kind}`;
}

/** `group/Kind/namespace/name`. */
export function refKeyOf(ref: ObjectRef): string {
  return `${ref.group}/${ref.kind}/${ref.namespace}/${ref.name}`;
}

export type StoreListener = (object: KubeObject, change: 'put' | 'removed') => void;

/** Where views read objects: values are frozen, and a change is a new value. */
export interface ObjectSource {
  get(ref: ObjectRef): KubeObject | undefined;
  list(kind: Pick<ObjectRef, 'group' | 'kind'>): Iterable<KubeObject>;
  /** Listeners are told at once, inside the change. @returns a function that ends it. */
  listen(listener: StoreListener): () => void;
}

/** RFC 3339 with whole seconds, as Kubernetes writes times. */
export function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
