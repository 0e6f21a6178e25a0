import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** An expression that must hold, and what is said when it does not. */
export interface CelValidation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
}

export interface ValidatingAdmissionPolicySpec {
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly matchConstraints: {
    readonly resourceRules: readonly {
      readonly apiGroups: readonly string[];
      readonly apiVersions: readonly string[];
      readonly operations: readonly string[];
      readonly resources: readonly string[];
      readonly scope?: 'Namespaced' | 'Cluster' | '*';
    }[];
    readonly matchPolicy?: 'Exact' | 'Equivalent';
    readonly namespaceSelector?: object;
    readonly objectSelector?: object;
  };
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly CelValidation[];
}

/** L1: one ValidatingAdmissionPolicy object, fields as in the API. */
export class KubeValidatingAdmissionPolicy extends KubeApiObject<ValidatingAdmissionPolicySpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ValidatingAdmissionPolicySpec>) {
    super(scope, id, KubeValidatingAdmissionPolicy.GVK, props);
  }
}
