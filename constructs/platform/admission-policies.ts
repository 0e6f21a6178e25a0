import { Construct } from 'constructs';
import { type ApiKind, apiKinds } from '../../src/api/kinds';
import { Labels } from '../../src/labels';
import { addCheck } from '../check';
import { KubeValidatingAdmissionPolicy } from '../kube/validating-admission-policy';
import { KubeValidatingAdmissionPolicyBinding } from '../kube/validating-admission-policy-binding';
import { ownedLabels } from '../owned-labels';
import { stackContext } from '../stack-context';
import { type AdmissionRule, celText, toValidation } from './admission-rule';
import { externalModelProviderAdmission, modelRouteAdmission, modelServerAdmission } from './routing-admission';
import { autoscalingPolicyAdmission, autoscalingPolicyBindingAdmission } from './scaling-admission';

/** Cross-field rules of each kind that the API server can check beside the kind's own definition. */
export const ADMISSION_RULES = {
  ModelRoute: modelRouteAdmission,
  ModelServer: modelServerAdmission,
  ExternalModelProvider: externalModelProviderAdmission,
  AutoscalingPolicy: autoscalingPolicyAdmission,
  AutoscalingPolicyBinding: autoscalingPolicyBindingAdmission,
} as const satisfies Partial<Record<ApiKind, readonly AdmissionRule[]>>;

export interface AdmissionPoliciesProps {
  /** What happens to an object that breaks a rule: it is refused, or a warning is shown to who applies it. @default 'Deny' */
  readonly action?: 'Deny' | 'Warn';
}

/** ValidatingAdmissionPolicy is stable from this minor version on. */
const FIRST_MINOR = 30;

/**
 * L2: has the API server check what synth checks, so that objects which somebody applies by hand meet the same rules, in the same words.
 * Creates a ValidatingAdmissionPolicy and its binding per kind. Objects of another class (`kvasir.dev/class`) are left alone.
 *
 * @example
 * new AdmissionPolicies(system, 'admission', { action: 'Warn' });
 */
export class AdmissionPolicies extends Construct {
  readonly policies: readonly KubeValidatingAdmissionPolicy[];

  constructor(scope: Construct, id: string, { action = 'Deny' }: AdmissionPoliciesProps = {}) {
    super(scope, id);
    addCheck(this, () => (stackContext(this).cluster.isAtLeast(FIRST_MINOR) ? [] : [TOO_OLD]));
    this.policies = Object.entries(ADMISSION_RULES).map(([kind, rules]) => this.create(kind as ApiKind, rules, action));
  }

  private create(kind: ApiKind, rules: readonly AdmissionRule[], action: 'Deny' | 'Warn'): KubeValidatingAdmissionPolicy {
    const { apiVersion, plural } = apiKinds[kind];
    const [group = '', version = ''] = apiVersion.split('/');
    const name = `${plural}.kvasir.dev`;
    const policy = new KubeValidatingAdmissionPolicy(this, plural, {
      metadata: { name, labels: ownedLabels() },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          matchPolicy: 'Equivalent',
          namespaceSelector: {},
          objectSelector: {},
          resourceRules: [
            { apiGroups: [group], apiVersions: [version], operations: ['CREATE', 'UPDATE'], resources: [plural], scope: '*' },
          ],
        },
        matchConditions: [{ name: 'own-class', expression: OWN_CLASS }],
        validations: rules.map(toValidation),
      },
    });
    new KubeValidatingAdmissionPolicyBinding(this, `${plural}-binding`, {
      metadata: { name, labels: ownedLabels() },
      spec: { policyName: name, validationActions: [action] },
    });
    return policy;
  }
}

const OWN_CLASS = `!has(object.metadata.labels) || !(${celText(Labels.class)} in object.metadata.labels) || object.metadata.labels[${celText(Labels.class)}] == "kvasir"`;

const TOO_OLD = {
  code: 'admission/cluster-too-old',
  severity: 'error',
  message: 'the cluster is older than Kubernetes 1.30, which has no ValidatingAdmissionPolicy v1',
  remedy: "leave AdmissionPolicies out, or give Cluster.of({ kubernetes: '1.30' }) or newer",
} as const;
