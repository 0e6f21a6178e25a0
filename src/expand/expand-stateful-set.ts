import type { Pod } from '../api/pod';
import { type AppsWorkload, controllerReference, NO_CONTAINERS, revisionOf, type WorkloadPlan } from './workload-plan';

/** Label of a StatefulSet's pods that tells their revision. */
export const CONTROLLER_REVISION_HASH = 'controller-revision-hash';

/** Pods of a StatefulSet: `<name>-<ordinal>`, with the labels of its controller. */
export function expandStatefulSet(statefulSet: AppsWorkload): WorkloadPlan {
  const replicas = statefulSet.spec.replicas ?? 1;
  return {
    kind: 'StatefulSet',
    replicas,
    selector: statefulSet.spec.selector?.matchLabels ?? {},
    revision: revisionOf(statefulSet),
    pods: Array.from({ length: replicas }, (_, replica) => ({ replica, pod: statefulSetPod(statefulSet, replica) })),
    services: [],
  };
}

export function statefulSetPod(statefulSet: AppsWorkload, ordinal: number): Pod {
  const { metadata, spec } = statefulSet;
  const name = `${metadata.name}-${ordinal}`;
  // Such a pod is reached as `<name>.<serviceName>`.
  const identity = { hostname: name, ...(spec.serviceName === undefined ? {} : { subdomain: spec.serviceName }) };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: metadata.namespace ?? 'default',
      labels: {
        ...spec.template.metadata?.labels,
        'apps.kubernetes.io/pod-index': String(ordinal),
        [CONTROLLER_REVISION_HASH]: `${metadata.name}-${revisionOf(statefulSet)}`,
        'statefulset.kubernetes.io/pod-name': name,
      },
      annotations: { ...spec.template.metadata?.annotations },
      ownerReferences: [
        controllerReference({
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name: metadata.name,
          uid: metadata.uid ?? metadata.name,
        }),
      ],
    },
    spec: { ...(spec.template.spec ?? NO_CONTAINERS), ...identity },
  };
}

/** Ordinal in a pod's name; -1 for a name that ends in none. */
export function ordinalOf(pod: Pod): number {
  return Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);
}
