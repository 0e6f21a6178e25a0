import { selects } from '../../../src/api/meta';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { Labels } from '../../../src/labels';
import type { Objects } from '../../cluster/objects';
import type { PolicyUnit } from '../policy';

/** Whether a pod can be asked, or why not. */
export type PodState = 'ready' | 'unready' | 'terminating' | 'failed';

export function podState(pod: Pod): PodState {
  if (pod.metadata.deletionTimestamp !== undefined) return 'terminating';
  if (pod.status?.phase === 'Failed') return 'failed';
  return isPodReady(pod) ? 'ready' : 'unready';
}

export function hasRestarted(pod: Pod): boolean {
  return (pod.status?.containerStatuses ?? []).some(({ restartCount }) => restartCount > 0);
}

/**
 * Pods of a target that serve requests: of a group of several pods only the one that clients talk to. An empty selector selects nothing,
 * since it would select the whole namespace.
 */
export function targetPods(
  objects: Objects,
  { target, role }: Pick<PolicyUnit, 'target' | 'role'>,
  selector: Readonly<Record<string, string>>,
): readonly Pod[] {
  const labels = role === undefined ? selector : { ...selector, [Labels.modelServingRole]: role };
  if (Object.keys(labels).length === 0) return [];
  const pods = objects.list('Pod', { namespace: target.namespace, labels });
  const heads = pods.filter((pod) => (pod.metadata.labels?.[LeaderWorkerLabels.workerIndex] ?? '0') === '0');
  const entries = heads.filter((pod) => selects({ matchLabels: { [Labels.modelServingEntry]: 'true' } }, pod.metadata.labels));
  return entries.length > 0 ? entries : heads;
}

/**
 * Which replica of its target a pod belongs to. Pods of other workloads than a ModelServing may have a group's name too, by which a router
 * pairs them; there each is a replica of its own.
 */
export function replicaOf(pod: Pod, role: string | undefined): string {
  const labels = pod.metadata.labels ?? {};
  const isOfServing = labels[Labels.modelServingName] !== undefined;
  const ofServing = isOfServing ? labels[Labels.modelServingGroup] : undefined;
  const group = role === undefined ? ofServing : labels[Labels.modelServingRoleId];
  return group ?? pod.metadata.uid ?? pod.metadata.name;
}

/** Labels by which controllers tell revisions of a template apart: of Deployments, StatefulSets, LeaderWorkerSets and ModelServings. */
const REVISION_LABELS = [
  'pod-template-hash',
  'controller-revision-hash',
  LeaderWorkerLabels.revision,
  Labels.modelServingRevision,
];

/** Whether pods of two revisions are there, so that their controller replaces one by the other. */
export function isRollingOut(pods: readonly Pod[]): boolean {
  const staying = pods.filter((pod) => podState(pod) !== 'terminating');
  return REVISION_LABELS.some((label) => new Set(staying.flatMap(({ metadata }) => metadata.labels?.[label] ?? [])).size > 1);
}
