import type { KubeObject } from '../../../src/api/meta';
import type { Pods, Status } from '../cluster';
import { refOf } from '../object-source';
import type { Kind, KindMap } from '../objects';
import type { WriteOutcome } from '../outcome';
import type { ObjectStore } from './object-store';

/**
 * Status of objects and annotations of pods. Both name the object by uid and take no version: each has one writer, which is
 * complete each time, so a write over a stale copy loses nothing.
 */
export class StatusWriter implements Status, Pods {
  constructor(
    private readonly store: ObjectStore,
    private readonly admit: (object: KubeObject) => { readonly object: KubeObject } | { readonly refusal: string },
  ) {}

  async report<K extends Kind>(_kind: K, object: KindMap[K], status: object): Promise<WriteOutcome> {
    const current = this.store.same(refOf(object), object.metadata.uid);
    if (current === undefined) return { kind: 'gone' };
    const admitted = this.admit({ ...current, status: structuredClone(status) } as KubeObject);
    if ('refusal' in admitted) return { kind: 'invalid', message: admitted.refusal };
    return this.put(current, admitted.object);
  }

  async mark(
    namespace: string,
    name: string,
    uid: string,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<WriteOutcome> {
    const current = this.store.same({ group: '', kind: 'Pod', namespace, name }, uid);
    if (current === undefined) return { kind: 'gone' };
    const next: Record<string, string> = { ...current.metadata.annotations };
    for (const [key, value] of Object.entries(annotations)) {
      if (value === null) delete next[key];
      else next[key] = value;
    }
    const { annotations: _before, ...metadata } = current.metadata;
    return this.put(current, {
      ...current,
      metadata: Object.keys(next).length === 0 ? metadata : { ...metadata, annotations: next },
    });
  }

  private put(current: KubeObject, next: KubeObject): WriteOutcome {
    const stored = this.store.update(current, next);
    return { kind: stored === current ? 'unchanged' : 'applied', version: stored.metadata.resourceVersion! };
  }
}
