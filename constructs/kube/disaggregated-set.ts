import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';
import type { LeaderWorkerSetSpec } from './leader-worker-set';

/** One role of a DisaggregatedSet, for which its controller makes a LeaderWorkerSet in each slice and revision. */
export interface DisaggregatedRole {
  readonly name: string;
  /** Metadata of its LeaderWorkerSets. */
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** `External`: replicas come from the DisaggregatedSetRoleScaler `<set>-<role>`, which the controller makes. */
  readonly scaling?: { readonly mode: 'Static' | 'External' };
  readonly spec: LeaderWorkerSetSpec;
}

export interface DisaggregatedSetSpec {
  /** Independent copies of all roles. */
  readonly slices?: number;
  readonly roles: readonly DisaggregatedRole[];
}

/** L1: one DisaggregatedSet, its pod templates passed through as they are. */
export class KubeDisaggregatedSet extends KubeApiObject<DisaggregatedSetSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'disaggregatedset.x-k8s.io/v1', kind: 'DisaggregatedSet' };
  /** What scales one role. */
  static readonly SCALER: GroupVersionKind = {
    apiVersion: 'disaggregatedset.x-k8s.io/v1',
    kind: 'DisaggregatedSetRoleScaler',
  };

  constructor(scope: Construct, id: string, props: KubeObjectProps<DisaggregatedSetSpec>) {
    super(scope, id, KubeDisaggregatedSet.GVK, props);
  }
}
