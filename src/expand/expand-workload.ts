import type { KubeObject } from '../api/meta';
import type { ModelServing } from '../api/model-serving';
import { WORKLOAD_GROUP } from '../labels';
import { expandDeployment } from './expand-deployment';
import { expandModelServing } from './expand-model-serving';
import { expandStatefulSet } from './expand-stateful-set';
import type { AppsWorkload, WorkloadKind, WorkloadPlan } from './workload-plan';

/** The workload kind of `object`; undefined for any other kind or group. */
export function workloadKindOf(object: KubeObject): WorkloadKind | undefined {
  const [group] = object.apiVersion.split('/');
  if (group === 'apps' && (object.kind === 'Deployment' || object.kind === 'StatefulSet')) return object.kind;
  return group === WORKLOAD_GROUP && object.kind === 'ModelServing' ? object.kind : undefined;
}

/**
 * What the controller of a Deployment, StatefulSet or ModelServing makes of it: pods with names, labels, annotations, environment and
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
    case undefined:
      return undefined;
  }
}
