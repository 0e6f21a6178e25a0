import type { KubeObject } from '../api/meta';
import type { ModelServing } from '../api/model-serving';
import { isPodReady, type Pod } from '../api/pod';
import { disaggregatedChanges } from './disaggregated-changes';
import { deploymentPod, POD_TEMPLATE_HASH } from './expand-deployment';
import { CONTROLLER_REVISION_HASH, ordinalOf, statefulSetPod } from './expand-stateful-set';
import { workloadKindOf } from './expand-workload';
import { leaderWorkerChanges } from './leader-worker-changes';
import type { DisaggregatedSet, LeaderWorkerSet } from './leader-worker-workload';
import { servingChanges } from './serving-changes';
import { replicaSetOrder, victims } from './victims';
import { type AppsWorkload, countOf, type PodChanges, revisionOf } from './workload-plan';

const NOTHING: PodChanges = { create: [], remove: [] };

/**
 * What the controller of `workload` does next, given the pods that it has: scale up and down, rolling update, replacement of pods that
 * went away. Level-triggered and pure: apply the changes, wait for a pod to change, ask again; no changes means that it is done.
 *
 * @param pods the workload's own pods, those being deleted included.
 */
export function podChanges(workload: KubeObject, pods: readonly Pod[]): PodChanges {
  switch (workloadKindOf(workload)) {
    case 'Deployment':
      return deploymentChanges(workload as AppsWorkload, pods);
    case 'StatefulSet':
      return statefulSetChanges(workload as AppsWorkload, pods);
    case 'ModelServing':
      return servingChanges(workload as ModelServing, pods);
    case 'LeaderWorkerSet':
      return leaderWorkerChanges(workload as LeaderWorkerSet, pods);
    case 'DisaggregatedSet':
      return disaggregatedChanges(workload as DisaggregatedSet, pods);
    case undefined:
      return NOTHING;
  }
}

/** Deployment controller: at most `replicas + maxSurge` pods, at least `replicas - maxUnavailable` ready ones while it updates. */
function deploymentChanges(deployment: AppsWorkload, pods: readonly Pod[]): PodChanges {
  const replicas = deployment.spec.replicas ?? 1;
  const hash = revisionOf(deployment);
  const active = pods.filter(isActive);
  const isNew = (pod: Pod) => pod.metadata.labels?.[POD_TEMPLATE_HASH] === hash;
  const current = active.filter(isNew);
  const old = active.filter((pod) => !isNew(pod));
  const strategy = deployment.spec.strategy;
  if (strategy?.type === 'Recreate' && pods.some((pod) => !isNew(pod))) return { create: [], remove: old };

  const surge = countOf(strategy?.rollingUpdate?.maxSurge ?? '25%', replicas, Math.ceil);
  const allowed = countOf(strategy?.rollingUpdate?.maxUnavailable ?? '25%', replicas, Math.floor);
  const minAvailable = replicas - (surge === 0 ? Math.max(1, allowed) : allowed);
  const room =
    old.length === 0 ? replicas - current.length : Math.min(replicas - current.length, replicas + surge - active.length);
  const taken = new Set(pods.map(({ metadata }) => metadata.name));
  const create: Pod[] = [];
  for (let ordinal = 0; create.length < room; ordinal++) {
    const pod = deploymentPod(deployment, ordinal);
    if (!taken.has(pod.metadata.name)) create.push(pod);
  }
  return {
    create,
    remove: [...victims(deployment, current, Math.max(0, current.length - replicas)), ...outdated(current, old, minAvailable)],
  };
}

/** Old pods that may go now: those that do not serve, and ready ones as long as enough others are ready. */
function outdated(current: readonly Pod[], old: readonly Pod[], minAvailable: number): readonly Pod[] {
  const spare = current.filter(isPodReady).length + old.filter(isPodReady).length - minAvailable;
  const idle = old.filter((pod) => !isPodReady(pod));
  return [...idle, ...old.filter(isPodReady).toSorted(replicaSetOrder).slice(0, Math.max(0, spare))];
}

/** StatefulSet controller: ordinals in order, one change at a time unless `podManagementPolicy` is Parallel. */
function statefulSetChanges(statefulSet: AppsWorkload, pods: readonly Pod[]): PodChanges {
  const replicas = statefulSet.spec.replicas ?? 1;
  const isParallel = statefulSet.spec.podManagementPolicy === 'Parallel';
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  const isSettled = pods.every((pod) => pod.metadata.deletionTimestamp === undefined);

  const create: Pod[] = [];
  for (let ordinal = 0; ordinal < replicas; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push(statefulSetPod(statefulSet, ordinal));
    if (!isParallel && (pod === undefined || !isPodReady(pod))) break;
  }
  const surplus = pods.filter((pod) => ordinalOf(pod) >= replicas);
  if (surplus.length > 0) {
    const leaving = victims(statefulSet, surplus, isParallel ? surplus.length : 1);
    return { create, remove: isParallel || isSettled ? leaving : [] };
  }
  if (create.length > 0 || !isSettled || statefulSet.spec.updateStrategy?.type === 'OnDelete') return { create, remove: [] };

  const revision = `${statefulSet.metadata.name}-${revisionOf(statefulSet)}`;
  const partition = statefulSet.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  const stale = pods.filter((pod) => ordinalOf(pod) >= partition && pod.metadata.labels?.[CONTROLLER_REVISION_HASH] !== revision);
  const healthy = pods.every((pod) => isPodReady(pod) || stale.includes(pod));
  return { create, remove: healthy ? victims(statefulSet, stale, 1) : [] };
}

function isActive(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && pod.status?.phase !== 'Failed' && pod.status?.phase !== 'Succeeded';
}
