import type { Pod } from '../api/pod';
import { leaderWorkerGroup, leaderWorkerPosition, leaderWorkerRevision } from './expand-leader-worker-set';
import { LeaderWorkerLabels, type LeaderWorkerSet } from './leader-worker-workload';
import { isUnitReady, type PodUnit, unitsBy } from './victims';
import { countOf, type PodChanges } from './workload-plan';

/**
 * One sync of the LeaderWorkerSet controller and its StatefulSets: groups by ordinal, whole groups made anew when a pod of theirs
 * fails, then the rolling update from the highest ordinal down to the partition. A group that leaves keeps its ordinal until its last
 * pod is gone.
 */
export function leaderWorkerChanges(set: LeaderWorkerSet, pods: readonly Pod[]): PodChanges {
  const replicas = set.spec.replicas ?? 1;
  const groups = unitsBy(pods, (pod) => leaderWorkerPosition(set, pod)?.group);
  const { create, kept, failed } = groupsToKeep(set, groups, replicas + surgeOf(set, groups, replicas));
  const surplus = groups.filter((group) => !kept.includes(group) && !failed.includes(group));
  const outdated = failed.length > 0 ? [] : outdatedGroups(set, kept, replicas);
  return { create, remove: [...surplus, ...failed, ...outdated].flatMap((group) => group.pods).filter(isStaying) };
}

interface Kept {
  readonly create: readonly Pod[];
  readonly kept: readonly PodUnit[];
  /** Groups that must be made anew as a whole. */
  readonly failed: readonly PodUnit[];
}

function groupsToKeep(set: LeaderWorkerSet, groups: readonly PodUnit[], wanted: number): Kept {
  const present = new Map(groups.map((group) => [group.ordinal, group]));
  const create: Pod[] = [];
  const kept: PodUnit[] = [];
  const failed: PodUnit[] = [];
  for (let ordinal = 0; ordinal < wanted; ordinal++) {
    const group = present.get(ordinal);
    if (group !== undefined && mustRestart(set, group)) failed.push(group);
    else {
      if (group !== undefined) kept.push(group);
      create.push(...missingPods(set, ordinal, group));
    }
  }
  return { create, kept, failed };
}

/** Whether a pod of the group was restarted or is going, and its siblings have to go with it. */
function mustRestart({ spec }: LeaderWorkerSet, { pods }: PodUnit): boolean {
  const policy = spec.leaderWorkerTemplate.restartPolicy ?? 'RecreateGroupOnPodRestart';
  if (!policy.startsWith('RecreateGroup')) return pods.some((pod) => isLeader(pod) && !isStaying(pod));
  if (policy === 'RecreateGroupAfterStart' && pods.some(({ status }) => (status?.phase ?? 'Pending') === 'Pending')) return false;
  return pods.some((pod) => !isStaying(pod) || restarts(pod) > 0);
}

/** Pods that the group lacks. With `LeaderReady` its workers wait for the leader; without the leader nothing is there to own them. */
function missingPods(set: LeaderWorkerSet, ordinal: number, group: PodUnit | undefined): readonly Pod[] {
  const names = new Set((group?.pods ?? []).map(({ metadata }) => metadata.name));
  const pods = leaderWorkerGroup(set, ordinal).map(({ pod }) => pod);
  const leader = group?.pods.find(isLeader);
  const waits = set.spec.startupPolicy === 'LeaderReady' && (leader === undefined || !isUnitReady({ ordinal, pods: [leader] }));
  return (waits ? pods.slice(0, 1) : pods).filter(({ metadata }) => !names.has(metadata.name));
}

/** Groups beyond the replicas while an update runs: no more than are still to be replaced. */
function surgeOf(set: LeaderWorkerSet, groups: readonly PodUnit[], replicas: number): number {
  const { maxSurge = 0, partition = 0 } = set.spec.rolloutStrategy?.rollingUpdateConfiguration ?? {};
  const surge = countOf(maxSurge, replicas, Math.ceil);
  if (surge === 0) return 0;
  const tail = groups.filter(({ ordinal }) => ordinal >= partition && ordinal < replicas);
  const isRunning = tail.some((group) => isOutdated(set, group)) || groups.some(({ ordinal }) => ordinal >= replicas);
  const done = tail.filter((group) => !isOutdated(set, group) && isUnitReady(group)).length;
  return isRunning ? Math.min(surge, Math.max(0, replicas - partition) - done) : 0;
}

/** Outdated groups that may go now: those that do not serve, and ready ones as long as enough others are ready. */
function outdatedGroups(set: LeaderWorkerSet, groups: readonly PodUnit[], replicas: number): readonly PodUnit[] {
  const { maxUnavailable = 1, maxSurge = 0, partition = 0 } = set.spec.rolloutStrategy?.rollingUpdateConfiguration ?? {};
  const surge = countOf(maxSurge, replicas, Math.ceil);
  const unavailable = countOf(maxUnavailable, replicas, Math.floor);
  const minReady = replicas - (surge === 0 ? Math.max(1, unavailable) : unavailable);
  const spare = Math.max(0, groups.filter(isUnitReady).length - minReady);
  const old = groups
    .filter((group) => group.ordinal >= partition && group.ordinal < replicas && isOutdated(set, group))
    .toReversed();
  return [...old.filter((group) => !isUnitReady(group)), ...old.filter(isUnitReady).slice(0, spare)];
}

function isOutdated(set: LeaderWorkerSet, { pods }: PodUnit): boolean {
  const revision = leaderWorkerRevision(set);
  return pods.some(({ metadata }) => metadata.labels?.[LeaderWorkerLabels.revision] !== revision);
}

function isLeader({ metadata }: Pod): boolean {
  return metadata.labels?.[LeaderWorkerLabels.workerIndex] === '0';
}

function isStaying({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined;
}

function restarts({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}
