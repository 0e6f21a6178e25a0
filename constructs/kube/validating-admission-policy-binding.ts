import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

export interface ValidatingAdmissionPolicyBindingSpec {
  readonly policyName: string;
  readonly validationActions: readonly ('Deny' | 'Warn' | 'Audit')[];
  readonly matchResources?: { readonly namespaceSelector?: object; readonly matchPolicy?: 'Exact' | 'Equivalent' };
}

/** L1: one ValidatingAdmissionPolicyBinding object, fields as in the API. */
export class KubeValidatingAdmissionPolicyBinding extends KubeApiObject<ValidatingAdmissionPolicyBindingSpec> {
  static readonly GVK: GroupVersionKind = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
  };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ValidatingAdmissionPolicyBindingSpec>) {
    super(scope, id, KubeValidatingAdmissionPolicyBinding.GVK, props);
  }
}
