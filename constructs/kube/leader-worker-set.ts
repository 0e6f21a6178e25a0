import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { PodTemplate } from '../workload/pod-template';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** Spec of a LeaderWorkerSet. Every default that its controller's webhook fills in is written, or Argo CD would see a difference. */
export interface LeaderWorkerSetSpec {
  readonly replicas?: number;
  readonly startupPolicy?: 'LeaderCreated' | 'LeaderReady';
  readonly networkConfig?: { readonly subdomainPolicy: 'Shared' | 'UniquePerReplica' };
  readonly rolloutStrategy?: {
    readonly type: 'RollingUpdate';
    readonly rollingUpdateConfiguration: {
      readonly maxSurge: number | string;
      readonly maxUnavailable: number | string;
      readonly partition: number;
    };
  };
  readonly leaderWorkerTemplate: {
    /** Pods of a group, its leader included. */
    readonly size: number;
    readonly restartPolicy?: 'RecreateGroupOnPodRestart' | 'RecreateGroupAfterStart' | 'None';
    readonly leaderTemplate?: PodTemplate;
    readonly workerTemplate: PodTemplate;
  };
}

/** L1: one LeaderWorkerSet, its pod templates passed through as they are. */
export class KubeLeaderWorkerSet extends KubeApiObject<LeaderWorkerSetSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<LeaderWorkerSetSpec>) {
    super(scope, id, KubeLeaderWorkerSet.GVK, props);
  }
}
