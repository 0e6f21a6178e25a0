import type { Pod } from '../../../src/api/pod';
import { isPodReady } from '../../../src/api/pod';
import { LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { Annotations } from '../../../src/labels';

/**
 * The pods that are to go when a target loses `count` replicas, one pod for each.
 *
 * Only the controller of the pods chooses. That of a Deployment and that of a ModelServing take the pods that are not ready, and then those
 * of least deletion cost, so that the choice is ours: pods that are drained already, then those with the fewest requests, then the youngest, whose
 * caches know least. StatefulSets and LeaderWorkerSets lose their highest ordinals.
 *
 * @param streams requests of a pod; undefined where they cannot be told, which counts as many.
 * @returns undefined when nobody knows what the controller takes.
 */
export async function chooseVictims(
  kind: string,
  pods: readonly Pod[],
  count: number,
  streams: (pod: Pod) => Promise<number | undefined>,
): Promise<readonly Pod[] | undefined> {
  const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  switch (kind) {
    case 'Deployment':
    case 'ModelServing': {
      const known = await Promise.all(
        present.map(async (pod) => ({ pod, requests: isPodReady(pod) ? ((await streams(pod)) ?? Number.MAX_VALUE) : 0 })),
      );
      known.sort(
        (a, b) =>
          Number(isPodReady(a.pod)) - Number(isPodReady(b.pod)) ||
          Number(isDrained(b.pod)) - Number(isDrained(a.pod)) ||
          a.requests - b.requests ||
          compare(b.pod.metadata.creationTimestamp, a.pod.metadata.creationTimestamp) ||
          compare(b.pod.metadata.name, a.pod.metadata.name),
      );
      return known.slice(0, count).map(({ pod }) => pod);
    }
    case 'StatefulSet':
      return highest(present, count, ({ metadata }) => numberAtEnd(metadata.name));
    case 'LeaderWorkerSet':
    case 'DisaggregatedSetRoleScaler':
      return highest(present, count, ({ metadata }) => Number(metadata.labels?.[LeaderWorkerLabels.groupIndex] ?? Number.NaN));
    default:
      return undefined;
  }
}

function highest(pods: readonly Pod[], count: number, ordinal: (pod: Pod) => number): readonly Pod[] | undefined {
  const numbered = pods.map((pod) => ({ pod, at: ordinal(pod) }));
  if (numbered.some(({ at }) => Number.isNaN(at))) return undefined;
  return numbered
    .sort((a, b) => b.at - a.at)
    .slice(0, count)
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

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
