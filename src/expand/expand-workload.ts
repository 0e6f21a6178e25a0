import type { KubeObject } from '../api/meta';
import type { ModelServing } from '../api/model-serving';
import { WORKLOAD_GROUP } from '../labels';
import { expandDeployment } from './expand-deployment';
import { expandDisaggregatedSet } from './expand-disaggregated-set';
import { expandLeaderWorkerSet } from './expand-leader-worker-set';
import { expandModelServing } from './expand-model-serving';
import { expandStatefulSet } from './expand-stateful-set';
import { DISAGGREGATED_GROUP, type DisaggregatedSet, LEADER_WORKER_GROUP, type LeaderWorkerSet } from './leader-worker-workload';
import type { AppsWorkload, WorkloadKind, WorkloadPlan } from './workload-plan';

/** Group and kind of every workload that is expanded. */
export const WORKLOAD_KINDS = [
  { group: 'apps', kind: 'Deployment' },
  { group: 'apps', kind: 'StatefulSet' },
  { group: WORKLOAD_GROUP, kind: 'ModelServing' },
  { group: LEADER_WORKER_GROUP, kind: 'LeaderWorkerSet' },
  { group: DISAGGREGATED_GROUP, kind: 'DisaggregatedSet' },
] as const satisfies readonly { readonly group: string; readonly kind: WorkloadKind }[];

/** The workload kind of `object`; undefined for any other kind or group. */
export function workloadKindOf(object: KubeObject): WorkloadKind | undefined {
  const named = WORKLOAD_KINDS.find(({ kind }) => kind === object.kind);
  return named !== undefined && object.apiVersion.split('/')[0] === named.group ? named.kind : undefined;
}

/**
 * What the controller of a Deployment, StatefulSet, LeaderWorkerSet, DisaggregatedSet or ModelServing makes of it: pods with names, labels, annotations, environment and
 * owner, stable while it is scaled.
 *
 * @returns undefined for other kinds.
 */
export function expandWorkload(object: KubeObject): WorkloadPlan | undefined {
  switch (workloadKindOf(object)) {
    case 'Deployment':
      return expandDeployment(object as AppsWorkload);
    case 'StatefulSet':
      return expandStatefulSet(object as AppsWorkload);
    case 'ModelServing':
      return expandModelServing(object as ModelServing);
    case 'LeaderWorkerSet':
      return expandLeaderWorkerSet(object as LeaderWorkerSet);
    case 'DisaggregatedSet':
      return expandDisaggregatedSet(object as DisaggregatedSet);
    case undefined:
      return undefined;
  }
}
