import type { Pod } from '../../../src/api/pod';
import { isPodReady } from '../../../src/api/pod';
import { LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { Annotations, Labels } from '../../../src/labels';
import { replicaOf } from '../observe/target-pods';

/** Requests of a pod; undefined where they cannot be told, which counts as many. */
type Streams = (pod: Pod) => Promise<number | undefined>;

/**
 * The pods that are to go when a target, or a role of it in each group, has `to` replicas.
 *
 * Only the controller of the pods chooses. That of a Deployment and that of a ModelServing take the replicas that are not ready, and then those
 * of least deletion cost, so that the choice is ours: replicas that are drained already, then those with the fewest requests, then the youngest, whose
 * caches know least. StatefulSets and LeaderWorkerSets lose their highest ordinals.
 *
 * @returns undefined when nobody knows what the controller takes.
 */
export async function chooseVictims(
  { kind, role }: { readonly kind: string; readonly role?: string },
  pods: readonly Pod[],
  to: number,
  streams: Streams,
): Promise<readonly Pod[] | undefined> {
  const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  switch (kind) {
    case 'Deployment':
      return leastUseful(
        present.map((pod) => [pod]),
        to,
        streams,
      );
    case 'ModelServing': {
      const groups = role === undefined ? [present] : together(present, groupOf);
      const chosen = groups.map((group) =>
        leastUseful(
          together(group, (pod) => replicaOf(pod, role)),
          to,
          streams,
        ),
      );
      return (await Promise.all(chosen)).flat();
    }
    case 'StatefulSet':
      return highest(present, to, ({ metadata }) => numberAtEnd(metadata.name));
    case 'LeaderWorkerSet':
    case 'DisaggregatedSetRoleScaler':
      return highest(present, to, ({ metadata }) => Number(metadata.labels?.[LeaderWorkerLabels.groupIndex] ?? Number.NaN));
    default:
      return undefined;
  }
}

/** @param replicas their pods: what is served by several goes with all of them. */
async function leastUseful(replicas: readonly (readonly Pod[])[], to: number, streams: Streams): Promise<readonly Pod[]> {
  const known = await Promise.all(
    replicas.map(async (pods) => {
      const isReady = pods.every(isPodReady);
      const requests = isReady ? await Promise.all(pods.map(async (pod) => (await streams(pod)) ?? Number.MAX_VALUE)) : [];
      const created = pods.map(({ metadata }) => metadata.creationTimestamp ?? '').toSorted(compare);
      const names = pods.map(({ metadata }) => metadata.name).toSorted(compare);
      return {
        pods,
        isReady,
        isDrained: pods.some(isDrained),
        requests: requests.reduce((sum, count) => sum + count, 0),
        created: created.at(-1)!,
        name: names.at(-1)!,
      };
    }),
  );
  return known
    .toSorted(
      (a, b) =>
        Number(a.isReady) - Number(b.isReady) ||
        Number(b.isDrained) - Number(a.isDrained) ||
        a.requests - b.requests ||
        compare(b.created, a.created) ||
        compare(b.name, a.name),
    )
    .slice(0, Math.max(0, replicas.length - to))
    .flatMap(({ pods }) => pods);
}

function together(pods: readonly Pod[], keyOf: (pod: Pod) => string): readonly (readonly Pod[])[] {
  const byKey = new Map<string, Pod[]>();
  for (const pod of pods) byKey.set(keyOf(pod), [...(byKey.get(keyOf(pod)) ?? []), pod]);
  return [...byKey.values()];
}

function groupOf({ metadata }: Pod): string {
  return metadata.labels?.[Labels.modelServingGroup] ?? '';
}

function highest(pods: readonly Pod[], to: number, ordinal: (pod: Pod) => number): readonly Pod[] | undefined {
  const numbered = pods.map((pod) => ({ pod, at: ordinal(pod) }));
  if (numbered.some(({ at }) => Number.isNaN(at))) return undefined;
  return numbered
    .sort((a, b) => b.at - a.at)
    .slice(0, Math.max(0, pods.length - to))
    .map(({ pod }) => pod);
}

function numberAtEnd(name: string): number {
  const digits = /-(\d+)$/.exec(name)?.[1];
  return digits === undefined ? Number.NaN : Number(digits);
}

function isDrained({ metadata }: Pod): boolean {
  const mark = metadata.annotations?.[Annotations.drain];
  return mark !== undefined && mark !== 'false';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
