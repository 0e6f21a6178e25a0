import type { KubeObject } from '../api/meta';
import type { PodTemplateSpec } from './workload-plan';

export const LEADER_WORKER_GROUP = 'leaderworkerset.x-k8s.io';
export const DISAGGREGATED_GROUP = 'disaggregatedset.x-k8s.io';

/** Labels and annotations that the LeaderWorkerSet controller sets on pods. */
export const LeaderWorkerLabels = {
  name: 'leaderworkerset.sigs.k8s.io/name',
  groupIndex: 'leaderworkerset.sigs.k8s.io/group-index',
  /** Hash of namespace and leader, unique to a group. */
  groupKey: 'leaderworkerset.sigs.k8s.io/group-key',
  workerIndex: 'leaderworkerset.sigs.k8s.io/worker-index',
  revision: 'leaderworkerset.sigs.k8s.io/template-revision-hash',
  /** Annotation: pods of the group. */
  size: 'leaderworkerset.sigs.k8s.io/size',
  /** Annotation of workers. */
  leaderName: 'leaderworkerset.sigs.k8s.io/leader-name',
  /** Annotation: present when each group has a Service of its own. */
  subdomainPolicy: 'leaderworkerset.sigs.k8s.io/subdomainPolicy',
} as const;

/** Environment variables that the LeaderWorkerSet controller sets in every container. */
export const LeaderWorkerVariables = {
  leaderAddress: 'LWS_LEADER_ADDRESS',
  size: 'LWS_GROUP_SIZE',
  index: 'LWS_WORKER_INDEX',
} as const;

/** Labels that the DisaggregatedSet controller sets on pods, over any of the template. It sets `app` too. */
export const DisaggregatedLabels = {
  name: 'disaggregatedset.x-k8s.io/name',
  role: 'disaggregatedset.x-k8s.io/role',
  slice: 'disaggregatedset.x-k8s.io/slice',
  revision: 'disaggregatedset.x-k8s.io/revision',
} as const;

/** Spec of a LeaderWorkerSet, as far as it is read. */
export interface LeaderWorkerSpec {
  readonly replicas?: number;
  readonly startupPolicy?: 'LeaderCreated' | 'LeaderReady';
  readonly networkConfig?: { readonly subdomainPolicy?: 'Shared' | 'UniquePerReplica' };
  readonly rolloutStrategy?: {
    readonly rollingUpdateConfiguration?: {
      readonly maxSurge?: number | string;
      readonly maxUnavailable?: number | string;
      readonly partition?: number;
    };
  };
  readonly leaderWorkerTemplate: {
    readonly size?: number;
    readonly restartPolicy?: string;
    /** Absent: leaders are as workers. */
    readonly leaderTemplate?: PodTemplateSpec;
    readonly workerTemplate: PodTemplateSpec;
  };
}

export interface LeaderWorkerSet extends KubeObject {
  readonly spec: LeaderWorkerSpec;
}

/** One role of a DisaggregatedSet. */
export interface DisaggregatedRole {
  readonly name: string;
  readonly scaling?: { readonly mode?: 'Static' | 'External' };
  readonly spec: LeaderWorkerSpec;
}

export interface DisaggregatedSet extends KubeObject {
  readonly spec: { readonly slices?: number; readonly roles: readonly DisaggregatedRole[] };
}
