import type { KubeObject } from '../../../src/api/meta';
import type { ModelServing } from '../../../src/api/model-serving';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { POD_TEMPLATE_HASH } from '../../../src/expand/expand-deployment';
import { servingPosition, servingRevision } from '../../../src/expand/expand-model-serving';
import { CONTROLLER_REVISION_HASH } from '../../../src/expand/expand-stateful-set';
import { expandWorkload, workloadKindOf } from '../../../src/expand/expand-workload';
import type { DisaggregatedSet, LeaderWorkerSet } from '../../../src/expand/leader-worker-workload';
import { isUnitReady, type PodUnit, unitsBy } from '../../../src/expand/victims';
import { type AppsWorkload, countOf } from '../../../src/expand/workload-plan';
import { Labels } from '../../../src/labels';
import { timestamp } from '../object-source';
import { type ConditionFacts, disaggregatedStatus, leaderWorkerStatus } from './leader-worker-status';

/** Status of a workload as its controller writes it, complete. @param pods all that belong to it, those being deleted included. */
export function workloadStatus(workload: KubeObject, pods: readonly Pod[], nowMs: number): object {
  switch (workloadKindOf(workload)) {
    case 'Deployment':
      return deploymentStatus(workload as AppsWorkload, pods, nowMs);
    case 'StatefulSet':
      return statefulSetStatus(workload as AppsWorkload, pods);
    case 'ModelServing':
      return servingStatus(workload as ModelServing, pods, nowMs);
    case 'LeaderWorkerSet':
      return withConditions(workload, leaderWorkerStatus(workload as LeaderWorkerSet, pods), nowMs);
    case 'DisaggregatedSet':
      return withConditions(workload, disaggregatedStatus(workload as DisaggregatedSet, pods), nowMs);
    case undefined:
      return {};
  }
}

function withConditions(
  workload: KubeObject,
  { status, conditions }: { readonly status: object; readonly conditions: readonly ConditionFacts[] },
  nowMs: number,
): object {
  return { ...status, conditions: conditions.map((facts) => conditionOf(workload, facts, facts.message, nowMs)) };
}

function deploymentStatus(deployment: AppsWorkload, pods: readonly Pod[], nowMs: number): object {
  const wanted = deployment.spec.replicas ?? 1;
  const revision = expandWorkload(deployment)?.revision;
  const present = pods.filter((pod) => !isEnding(pod));
  const updated = present.filter((pod) => pod.metadata.labels?.[POD_TEMPLATE_HASH] === revision).length;
  const ready = present.filter(isPodReady).length;
  const mayLack = countOf(deployment.spec.strategy?.rollingUpdate?.maxUnavailable ?? '25%', wanted, Math.floor);
  const isAvailable = ready >= wanted - mayLack;
  const isDone = updated === wanted && present.length === wanted && ready === wanted;
  return {
    observedGeneration: deployment.metadata.generation,
    replicas: present.length,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, wanted - ready),
    conditions: [
      conditionOf(
        deployment,
        {
          type: 'Available',
          isTrue: isAvailable,
          reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
        },
        `${ready} of ${wanted} replicas are ready.`,
        nowMs,
      ),
      conditionOf(
        deployment,
        { type: 'Progressing', isTrue: true, reason: isDone ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated' },
        `${updated} of ${wanted} replicas are of the current template.`,
        nowMs,
      ),
    ],
  };
}

function statefulSetStatus(statefulSet: AppsWorkload, pods: readonly Pod[]): object {
  const updateRevision = `${statefulSet.metadata.name}-${expandWorkload(statefulSet)?.revision}`;
  const revisionOf = (pod: Pod): string | undefined => pod.metadata.labels?.[CONTROLLER_REVISION_HASH];
  const present = pods.filter((pod) => !isEnding(pod));
  const currentRevision = pods.map(revisionOf).find((revision) => revision !== updateRevision) ?? updateRevision;
  const ready = present.filter(isPodReady).length;
  return {
    observedGeneration: statefulSet.metadata.generation,
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    currentReplicas: present.filter((pod) => revisionOf(pod) === currentRevision).length,
    updatedReplicas: present.filter((pod) => revisionOf(pod) === updateRevision).length,
    currentRevision,
    updateRevision,
  };
}

/** As Kthena's controller counts: replicas are serving groups, those being deleted included. */
function servingStatus(serving: ModelServing, pods: readonly Pod[], nowMs: number): object {
  const wanted = serving.spec.replicas;
  const updateRevision = servingRevision(serving);
  const groups = unitsBy(pods, (pod) => servingPosition(serving, pod)?.group);
  const staying = groups.filter((group) => !group.pods.every(isEnding));
  const revisionOf = (group: PodUnit): string | undefined => group.pods[0]?.metadata.labels?.[Labels.modelServingRevision];
  const updated = staying.filter((group) => revisionOf(group) === updateRevision);
  const old = staying.filter((group) => revisionOf(group) !== updateRevision);
  const running = staying.filter((group) => isGroupRunning(serving, group));
  const isAvailable = running.length === staying.length && groups.length === wanted;
  const isUpdating = !isAvailable && old.length > 0;
  const selector = expandWorkload(serving)?.selector ?? {};
  const condition = (type: string, isTrue: boolean, reason: string, message: string) =>
    conditionOf(serving, { type, isTrue, reason }, message, nowMs);
  return {
    observedGeneration: serving.metadata.generation,
    replicas: groups.length,
    availableReplicas: running.length,
    updatedReplicas: updated.length,
    currentReplicas: old.length === 0 ? updated.length : old.length,
    updateRevision,
    currentRevision: (old[0] === undefined ? undefined : revisionOf(old[0])) ?? updateRevision,
    labelSelector: Object.entries(selector)
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(','),
    conditions: [
      condition('Available', isAvailable, 'AllGroupsReady', `${running.length} of ${wanted} serving groups are running`),
      condition('Progressing', !isAvailable && !isUpdating, 'GroupProgressing', 'Serving groups are being made or removed'),
      condition('UpdateInProgress', isUpdating, 'GroupsUpdating', `${old.length} serving groups are of an old revision`),
    ],
  };
}

/** Every role has all its instances, and every pod of them is ready. */
function isGroupRunning(serving: ModelServing, group: PodUnit): boolean {
  const wanted = serving.spec.template.roles.reduce((sum, role) => sum + role.replicas * (1 + role.workerReplicas), 0);
  return group.pods.length === wanted && (wanted === 0 || isUnitReady(group));
}

export function isEnding(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** A condition whose transition time moves only when its status does. */
function conditionOf(
  workload: KubeObject & {
    readonly status?: { readonly conditions?: readonly { type: string; status: string; lastTransitionTime?: string }[] };
  },
  { type, isTrue, reason }: { readonly type: string; readonly isTrue: boolean; readonly reason: string },
  message: string,
  nowMs: number,
): object {
  const status = isTrue ? 'True' : 'False';
  const before = workload.status?.conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : undefined;
  return { type, status, reason, message, lastTransitionTime: lastTransitionTime ?? timestamp(nowMs) };
}
