import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { AutoscalingPolicyManifest } from '../../src/api/autoscaling-policy';
import { WORKLOAD_API_VERSION } from '../../src/labels';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** L1: one AutoscalingPolicy object, fields as in the API. */
export class KubeAutoscalingPolicy extends KubeApiObject<AutoscalingPolicyManifest['spec']> {
  static readonly GVK: GroupVersionKind = { apiVersion: WORKLOAD_API_VERSION, kind: 'AutoscalingPolicy' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<AutoscalingPolicyManifest['spec']>) {
    super(scope, id, KubeAutoscalingPolicy.GVK, props);
  }
}
