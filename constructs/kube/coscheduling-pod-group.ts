import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

export interface CoschedulingPodGroupSpec {
  /** Pods that must fit before any of them starts, at least 1. */
  readonly minMember: number;
  readonly minResources?: Readonly<Record<string, string>>;
  readonly scheduleTimeoutSeconds?: number;
}

/** L1: one PodGroup of the coscheduling plugin of Kubernetes' scheduler-plugins. */
export class KubeCoschedulingPodGroup extends KubeApiObject<CoschedulingPodGroupSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'scheduling.x-k8s.io/v1alpha1', kind: 'PodGroup' };
  /** Label by which a pod says to which PodGroup it belongs. */
  static readonly LABEL = 'scheduling.x-k8s.io/pod-group';

  constructor(scope: Construct, id: string, props: KubeObjectProps<CoschedulingPodGroupSpec>) {
    super(scope, id, KubeCoschedulingPodGroup.GVK, props);
  }
}
