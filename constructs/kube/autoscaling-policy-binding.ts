import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { AutoscalingPolicyBindingManifest } from '../../src/api/autoscaling-policy-binding';
import { WORKLOAD_API_VERSION } from '../../src/labels';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** L1: one AutoscalingPolicyBinding object, fields as in the API. */
export class KubeAutoscalingPolicyBinding extends KubeApiObject<AutoscalingPolicyBindingManifest['spec']> {
  static readonly GVK: GroupVersionKind = { apiVersion: WORKLOAD_API_VERSION, kind: 'AutoscalingPolicyBinding' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<AutoscalingPolicyBindingManifest['spec']>) {
    super(scope, id, KubeAutoscalingPolicyBinding.GVK, props);
  }
}
