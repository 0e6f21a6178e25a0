import { decodeObject } from '../../../src/api/decode-object';
import { deepFreeze } from '../../../src/api/deep-freeze';
import { apiKindOf } from '../../../src/api/kinds';
import type { KubeObject } from '../../../src/api/meta';
import type { Finding } from '../../../src/errors';
import { kindKeyOf, type ObjectRef, type ObjectSource, refOf, type StoreListener } from '../object-source';

/**
 * What was last heard of a cluster's objects. Our own kinds are decoded with their defaults; an object that another tool wrote past our
 * rules is told of, and its last good version stays.
 */
export class ObjectCache implements ObjectSource {
  private readonly kinds = new Map<string, Map<string, KubeObject>>();
  private readonly listeners = new Set<StoreListener>();

  constructor(private readonly onFinding: (finding: Finding) => void) {}

  get(ref: ObjectRef): KubeObject | undefined {
    return this.kinds.get(kindKeyOf(ref))?.get(`${ref.namespace}/${ref.name}`);
  }

  list(kind: Pick<ObjectRef, 'group' | 'kind'>): Iterable<KubeObject> {
    return this.kinds.get(kindKeyOf(kind))?.values() ?? [];
  }

  listen(listener: StoreListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Takes in an object as the API gives it. */
  put(object: KubeObject): void {
    const ref = refOf(object);
    const before = this.get(ref);
    const { uid, resourceVersion } = object.metadata;
    if (before?.metadata.uid === uid && before?.metadata.resourceVersion === resourceVersion) return;
    const taken = this.taken(object);
    // One that cannot be read stands for nothing of an earlier object under its name.
    if (taken === undefined) {
      if (before !== undefined && before.metadata.uid !== uid) this.remove(ref);
      return;
    }
    let objects = this.kinds.get(kindKeyOf(ref));
    if (objects === undefined) {
      objects = new Map();
      this.kinds.set(kindKeyOf(ref), objects);
    }
    objects.set(`${ref.namespace}/${ref.name}`, taken);
    for (const listener of this.listeners) listener(taken, 'put');
  }

  remove(ref: ObjectRef): void {
    const before = this.get(ref);
    if (before === undefined) return;
    this.kinds.get(kindKeyOf(ref))!.delete(`${ref.namespace}/${ref.name}`);
    for (const listener of this.listeners) listener(before, 'removed');
  }

  private taken(object: KubeObject): KubeObject | undefined {
    const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & { readonly managedFields?: unknown };
    const lean = { ...object, metadata };
    if (apiKindOf(lean) === undefined) return deepFreeze(lean);
    const decoded = decodeObject(lean);
    for (const finding of decoded.findings) {
      if (!(finding.field ?? '').startsWith('status')) this.onFinding(finding);
    }
    return decoded.kind === 'valid' ? decoded.value : undefined;
  }
}
