import type { Pod } from '../api/pod';
import { nameSuffix } from './template-hash';
import { type AppsWorkload, controllerReference, NO_CONTAINERS, revisionOf, type WorkloadPlan } from './workload-plan';

/** Label of ReplicaSets and their pods. */
export const POD_TEMPLATE_HASH = 'pod-template-hash';
/** Longest generated name is 63 characters, of which the suffix takes five. */
const LONGEST_PREFIX = 58;

/** Pods of a Deployment, as its one current ReplicaSet makes them; suffixes are drawn by ordinal instead of at random. */
export function expandDeployment(deployment: AppsWorkload): WorkloadPlan {
  const replicas = deployment.spec.replicas ?? 1;
  return {
    kind: 'Deployment',
    replicas,
    selector: deployment.spec.selector?.matchLabels ?? {},
    revision: revisionOf(deployment),
    pods: Array.from({ length: replicas }, (_, replica) => ({ replica, pod: deploymentPod(deployment, replica) })),
    services: [],
  };
}

/**
 * The pod of one ordinal. Ordinals only number the names: a Deployment's pods have no order.
 *
 * @param hash of its template, for callers to whom names do not matter. @default computed
 */
export function deploymentPod(deployment: AppsWorkload, ordinal: number, hash = revisionOf(deployment)): Pod {
  const { metadata, spec } = deployment;
  const replicaSet = `${metadata.name}-${hash}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${`${replicaSet}-`.slice(0, LONGEST_PREFIX)}${nameSuffix(`${metadata.namespace ?? 'default'}/${replicaSet}`, ordinal)}`,
      namespace: metadata.namespace ?? 'default',
      labels: { ...spec.template.metadata?.labels, [POD_TEMPLATE_HASH]: hash },
      annotations: { ...spec.template.metadata?.annotations },
      ownerReferences: [
        controllerReference({
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: replicaSet,
          uid: `${metadata.uid ?? metadata.name}-${hash}`,
        }),
      ],
    },
    spec: spec.template.spec ?? NO_CONTAINERS,
  };
}
