import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { PodTemplate } from '../workload/pod-template';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** Spec of a Deployment whose pods may have fields that the typed classes drop. */
export interface RawDeploymentSpec {
  readonly replicas?: number;
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly strategy:
    | { readonly type: 'Recreate' }
    | { readonly type: 'RollingUpdate'; readonly rollingUpdate: { readonly maxSurge: number; readonly maxUnavailable: number } };
  readonly progressDeadlineSeconds: number;
  readonly revisionHistoryLimit: number;
  readonly template: PodTemplate;
}

/** L1: one Deployment, its pod template passed through as it is. */
export class RawDeployment extends KubeApiObject<RawDeploymentSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'apps/v1', kind: 'Deployment' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<RawDeploymentSpec>) {
    super(scope, id, RawDeployment.GVK, props);
  }
}
