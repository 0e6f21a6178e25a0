import type { KubeObject } from '../api/meta';
import type { ModelServing } from '../api/model-serving';
import { isPodReady, type Pod } from '../api/pod';
import { disaggregatedPosition } from './expand-disaggregated-set';
import { leaderWorkerPosition } from './expand-leader-worker-set';
import { servingPosition } from './expand-model-serving';
import { ordinalOf } from './expand-stateful-set';
import { workloadKindOf } from './expand-workload';
import type { LeaderWorkerSet } from './leader-worker-workload';
import { countOf } from './workload-plan';

/** Annotation by which a pod asks to go later (higher) or sooner (lower) than its siblings. */
export const POD_DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/**
 * The pods that `workload`'s controller removes when it loses `count` replicas: for a Deployment the least useful ones, for a
 * StatefulSet and a LeaderWorkerSet the highest ordinals, for a ModelServing whole serving groups, for a DisaggregatedSet whole slices.
 *
 * @param pods the workload's pods; those being deleted are never chosen.
 */
export function victims(workload: KubeObject, pods: readonly Pod[], count: number): readonly Pod[] {
  const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  switch (workloadKindOf(workload)) {
    case 'Deployment':
      return present.toSorted(replicaSetOrder).slice(0, count);
    case 'StatefulSet':
      return present.toSorted((a, b) => ordinalOf(b) - ordinalOf(a)).slice(0, count);
    case 'ModelServing':
      return groupVictims(workload as ModelServing, present, count);
    case 'LeaderWorkerSet':
      return highest(
        unitsBy(present, (pod) => leaderWorkerPosition(workload as LeaderWorkerSet, pod)?.group),
        count,
      );
    case 'DisaggregatedSet':
      return highest(
        unitsBy(present, (pod) => disaggregatedPosition(pod)?.slice),
        count,
      );
    case undefined:
      return [];
  }
}

/** ReplicaSet's order of removal: pending, then not ready, then by deletion cost, shortest ready, most restarts, newest. */
export function replicaSetOrder(a: Pod, b: Pod): number {
  return (
    phaseRank(a) - phaseRank(b) ||
    Number(isPodReady(a)) - Number(isPodReady(b)) ||
    deletionCost(a) - deletionCost(b) ||
    compareText(b.status?.startTime, a.status?.startTime) ||
    restarts(b) - restarts(a) ||
    compareText(b.metadata.creationTimestamp, a.metadata.creationTimestamp) ||
    compareText(b.metadata.name, a.metadata.name)
  );
}

function phaseRank(pod: Pod): number {
  return pod.status?.phase === 'Running' ? 2 : pod.status?.phase === 'Unknown' ? 1 : 0;
}

function restarts(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

/** An unreadable cost counts as 0. */
function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[POD_DELETION_COST] ?? '';
  return /^[+-]?\d+$/.test(text) ? Number(text) : 0;
}

function compareText(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Serving groups, or instances of a role, with their pods. */
export interface PodUnit {
  readonly ordinal: number;
  readonly pods: readonly Pod[];
}

/** Kthena's order of removal: not running first, then the lowest sum of deletion costs, then the highest ordinal. */
export function servingOrder(a: PodUnit, b: PodUnit): number {
  return Number(isUnitReady(a)) - Number(isUnitReady(b)) || unitCost(a) - unitCost(b) || b.ordinal - a.ordinal;
}

export function isUnitReady({ pods }: PodUnit): boolean {
  return pods.length > 0 && pods.every(isPodReady);
}

function unitCost({ pods }: PodUnit): number {
  return pods.reduce((sum, pod) => sum + deletionCost(pod), 0);
}

/** Groups of pods by an ordinal, lowest first; pods without one are left out. */
export function unitsBy(pods: readonly Pod[], ordinal: (pod: Pod) => number | undefined): readonly PodUnit[] {
  const units = new Map<number, Pod[]>();
  for (const pod of pods) {
    const at = ordinal(pod);
    if (at !== undefined) units.set(at, [...(units.get(at) ?? []), pod]);
  }
  return [...units].map(([at, members]) => ({ ordinal: at, pods: members })).sort((a, b) => a.ordinal - b.ordinal);
}

function highest(units: readonly PodUnit[], count: number): readonly Pod[] {
  return units
    .toReversed()
    .slice(0, count)
    .flatMap(({ pods }) => pods);
}

function groupVictims(serving: ModelServing, pods: readonly Pod[], count: number): readonly Pod[] {
  const groups = unitsBy(pods, (pod) => servingPosition(serving, pod)?.group);
  const protectedCount = countOf(
    serving.spec.rolloutStrategy?.rollingUpdateConfiguration?.partition ?? 0,
    serving.spec.replicas ?? 1,
    Math.ceil,
  );
  const order = [
    ...groups.slice(protectedCount).toSorted(servingOrder),
    ...groups.slice(0, protectedCount).toSorted(servingOrder),
  ];
  return order.slice(0, count).flatMap((group) => group.pods);
}
