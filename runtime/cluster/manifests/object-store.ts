import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { deepFreeze } from '../../../src/api/deep-freeze';
import { type KubeObject, keyOf, type ObjectMeta } from '../../../src/api/meta';
import type { Clock } from '../../lib/clock';
import { kindKeyOf, type ObjectRef, type ObjectSource, refKeyOf, refOf, type StoreListener, timestamp } from '../object-source';

/**
 * Objects with the bookkeeping that an API server does: uid, resourceVersion, generation, creationTimestamp. Values are frozen; a
 * change is a new value. Listeners are told at once, inside the write.
 */
export class ObjectStore implements ObjectSource {
  private readonly kinds = new Map<string, Map<string, KubeObject>>();
  private readonly incarnations = new Map<string, number>();
  private readonly listeners = new Set<StoreListener>();
  private version = 0;

  constructor(private readonly clock: Clock) {}

  get(ref: ObjectRef): KubeObject | undefined {
    return this.kinds.get(kindKeyOf(ref))?.get(`${ref.namespace}/${ref.name}`);
  }

  /** The object at `ref` when it is still the one with `uid`. */
  same(ref: ObjectRef, uid: string | undefined): KubeObject | undefined {
    const object = this.get(ref);
    return object?.metadata.uid === uid ? object : undefined;
  }

  list(kind: Pick<ObjectRef, 'group' | 'kind'>): Iterable<KubeObject> {
    return this.kinds.get(kindKeyOf(kind))?.values() ?? [];
  }

  all(): readonly KubeObject[] {
    return [...this.kinds.values()].flatMap((objects) => [...objects.values()]);
  }

  /**
   * Adds an object under a new uid.
   *
   * @param kept uid and creationTimestamp of an object that exists elsewhere already.
   */
  create(object: KubeObject, kept: Pick<ObjectMeta, 'uid' | 'creationTimestamp'> = {}): KubeObject {
    const key = refKeyOf(refOf(object));
    const incarnation = (this.incarnations.get(key) ?? 0) + 1;
    this.incarnations.set(key, incarnation);
    return this.put({
      ...object,
      metadata: {
        ...object.metadata,
        uid: kept.uid ?? uidOf(`${key}#${incarnation}`),
        generation: 1,
        creationTimestamp: kept.creationTimestamp ?? timestamp(this.clock.now()),
      },
    });
  }

  /**
   * Replaces the stored object `current` by `next`, which keeps its identity. The generation grows when more than metadata and
   * status differ. An equal `next` changes nothing.
   *
   * @returns what is stored now.
   */
  update(current: KubeObject, next: KubeObject): KubeObject {
    const { uid, resourceVersion, generation = 1, creationTimestamp } = current.metadata;
    const isSameContent = isDeepStrictEqual(contentOf(current), contentOf(next));
    const metadata: ObjectMeta = {
      ...next.metadata,
      uid,
      resourceVersion,
      generation: isSameContent ? generation : generation + 1,
      creationTimestamp,
    } as ObjectMeta;
    const whole = { ...next, metadata };
    return isDeepStrictEqual(whole, current) ? current : this.put(whole);
  }

  remove(object: KubeObject): void {
    const ref = refOf(object);
    const objects = this.kinds.get(kindKeyOf(ref));
    const stored = objects?.get(keyOf(object));
    if (stored === undefined) return;
    objects!.delete(keyOf(object));
    this.version += 1;
    for (const listener of this.listeners) listener(stored, 'removed');
  }

  /** @returns a function that ends it. */
  listen(listener: StoreListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private put(object: KubeObject): KubeObject {
    this.version += 1;
    const stored = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.version) } });
    const kindKey = kindKeyOf(refOf(stored));
    let objects = this.kinds.get(kindKey);
    if (objects === undefined) {
      objects = new Map();
      this.kinds.set(kindKey, objects);
    }
    objects.set(keyOf(stored), stored);
    for (const listener of this.listeners) listener(stored, 'put');
    return stored;
  }
}

function contentOf(object: KubeObject): object {
  const { metadata: _metadata, status: _status, ...content } = object as KubeObject & { readonly status?: unknown };
  return content;
}

/** A uid that two processes over the same folder agree on, and that no other incarnation of the name has. */
function uidOf(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
