import type { Pod } from '../../../src/api/pod';
import type { StartTrouble } from '../decide/back-off';
import { podState } from './target-pods';

const IMAGE_REASONS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'RegistryUnavailable',
]);
/** Reasons with which Kubernetes and clouds fail a pod whose node they take back. */
const RECLAIM_REASONS = new Set(['Preempting', 'Preempted', 'Evicted', 'Shutdown', 'NodeShutdown', 'NodeLost', 'Terminated']);
const DISRUPTION_REASONS = new Set([
  'PreemptionByScheduler',
  'DeletionByTaintManager',
  'TerminationByKubelet',
  'DeletionByPodGC',
]);

/** Why a pod does not start, or was taken away; undefined: it is ready, or on its way. */
export function startTrouble(pod: Pod): StartTrouble | undefined {
  const { name } = pod.metadata;
  const { conditions = [], containerStatuses = [], reason } = pod.status ?? {};
  const disrupted = conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  if (podState(pod) === 'failed' && reason !== undefined && RECLAIM_REASONS.has(reason)) {
    return { kind: 'reclaimed', message: `pod ${name} was taken away (${reason})` };
  }
  if (disrupted?.reason !== undefined && DISRUPTION_REASONS.has(disrupted.reason)) {
    return { kind: 'reclaimed', message: `pod ${name} was taken away (${disrupted.reason})` };
  }
  if (podState(pod) !== 'unready') return undefined;
  const unscheduled = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined) return { kind: 'unschedulable', message: `no node has room for pod ${name}` };
  for (const { name: container, state } of containerStatuses) {
    const waiting = state?.waiting?.reason;
    if (waiting === undefined) continue;
    if (IMAGE_REASONS.has(waiting))
      return { kind: 'image', message: `the image of container ${container} of pod ${name}: ${waiting}` };
    if (waiting === 'CrashLoopBackOff')
      return { kind: 'crash', message: `container ${container} of pod ${name} ends again and again` };
  }
  return undefined;
}

/** From being made to being ready, of a pod that never started again; undefined when it is not ready or does not tell. */
export function startDurationMs(pod: Pod): number | undefined {
  const ready = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True');
  const restarts = (pod.status?.containerStatuses ?? []).some(({ restartCount }) => restartCount > 0);
  if (ready?.lastTransitionTime === undefined || pod.metadata.creationTimestamp === undefined || restarts) return undefined;
  const tookMs = Date.parse(ready.lastTransitionTime) - Date.parse(pod.metadata.creationTimestamp);
  return tookMs >= 0 && tookMs <= LONGEST_START_MS ? tookMs : undefined;
}

/** A pod that was ready long after it was made lost its readiness in between. */
const LONGEST_START_MS = 3_600_000;
