import fc from 'fast-check';
import type { KubeObject } from '../../src/api/meta';
import { isPodReady, type Pod } from '../../src/api/pod';
import { expandWorkload, podChanges } from '../../src/expand';

export const template = (image: string) => ({ metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image }] } });

export const ready = (pod: Pod): Pod => ({
  ...pod,
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});
export const pending = (pod: Pod): Pod => ({ ...pod, status: { phase: 'Pending' } });
export const leaving = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
export const names = (pods: readonly Pod[]) => pods.map((pod) => pod.metadata.name);
export const podsOf = (object: KubeObject) => expandWorkload(object)!.pods.map(({ pod }) => ready(pod));

/** A cluster in small: pods that were asked for become ready a step later, deleted ones are gone a step later. */
export class SmallCluster {
  pods: readonly Pod[] = [];
  fewestReady = Number.POSITIVE_INFINITY;
  mostPods = 0;

  step(object: KubeObject): boolean {
    const { create, remove } = podChanges(object, this.pods);
    const removed = new Set(names(remove));
    const settled = this.pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => (removed.has(pod.metadata.name) ? leaving(pod) : ready(pod)));
    const isDone = create.length === 0 && remove.length === 0 && this.pods.every((pod) => isPodReady(pod));
    this.pods = [...settled, ...create.map(pending)];
    this.fewestReady = Math.min(this.fewestReady, this.pods.filter(isPodReady).length);
    this.mostPods = Math.max(this.mostPods, this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length);
    return isDone;
  }

  settle(object: KubeObject): void {
    this.fewestReady = Number.POSITIVE_INFINITY;
    this.mostPods = 0;
    for (let i = 0; i < 200; i++) if (this.step(object)) return;
    throw new Error(`not at rest: ${names(this.pods).join(' ')}`);
  }
}

const replicas = fc.integer({ min: 0, max: 6 });
const image = fc.constantFrom('v1', 'v2', 'v3');

/** What holds for every workload. @param workload `n` replicas of pods with an image; other pods of it have the image `w`. */
export function comesToRest(workload: (n: number, image: string) => KubeObject): void {
  it('comes to rest with the pods of its plan, after any history of scales and updates', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(replicas, image, fc.integer({ min: 0, max: 12 })), { minLength: 1, maxLength: 4 }),
        (history) => {
          const cluster = new SmallCluster();
          for (const [n, v, steps] of history) for (let i = 0; i < steps; i++) cluster.step(workload(n, v));
          const [n, v] = history.at(-1)!;
          const last = workload(n, v);
          cluster.settle(last);
          expect(cluster.pods).toHaveLength(expandWorkload(last)!.pods.length);
          expect(new Set(names(cluster.pods)).size).toBe(cluster.pods.length);
          for (const pod of cluster.pods) expect(['w', v]).toContain(pod.spec.containers[0]!.image);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('creates exactly its plan in an empty cluster', () => {
    const cluster = new SmallCluster();
    const object = workload(3, 'v1');
    cluster.settle(object);
    expect(names(cluster.pods).toSorted()).toEqual(names(podsOf(object)).toSorted());
  });
}
