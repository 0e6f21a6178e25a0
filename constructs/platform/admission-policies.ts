import { Construct } from 'constructs';
import { type ApiKind, apiKinds } from '../../src/api/kinds';
import { Labels, NETWORKING_GROUP } from '../../src/labels';
import { addCheck } from '../check';
import { KubeValidatingAdmissionPolicy } from '../kube/validating-admission-policy';
import { KubeValidatingAdmissionPolicyBinding } from '../kube/validating-admission-policy-binding';
import { ownedLabels } from '../owned-labels';
import { stackContext } from '../stack-context';
import { type AdmissionRule, celText, toValidation } from './admission-rule';
import { modelBoosterAdmission } from './booster-admission';
import { externalModelProviderAdmission, modelRouteAdmission, modelServerAdmission } from './routing-admission';
import { autoscalingPolicyAdmission, autoscalingPolicyBindingAdmission } from './scaling-admission';
import { modelServingAdmission } from './serving-admission';

/** Cross-field rules of each kind that the API server can check beside the kind's own definition. */
export const ADMISSION_RULES = {
  ModelRoute: modelRouteAdmission,
  ModelServer: modelServerAdmission,
  ExternalModelProvider: externalModelProviderAdmission,
  AutoscalingPolicy: autoscalingPolicyAdmission,
  AutoscalingPolicyBinding: autoscalingPolicyBindingAdmission,
  ModelServing: modelServingAdmission,
  ModelBooster: modelBoosterAdmission,
} as const satisfies Record<ApiKind, readonly AdmissionRule[]>;

/** Kinds that only Kthena's controllers bring into a cluster. */
const KTHENA_KINDS: ReadonlySet<ApiKind> = new Set(['ModelServing', 'ModelBooster']);

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
    const { kthenaServesRoutes, kthenaServesWorkloads } = stackContext(this).cluster;
    this.policies = (Object.keys(ADMISSION_RULES) as ApiKind[])
      .filter((kind) => kthenaServesWorkloads || !KTHENA_KINDS.has(kind))
      .map((kind) => {
        const isKthenas = apiKinds[kind].apiVersion.startsWith(NETWORKING_GROUP) ? kthenaServesRoutes : kthenaServesWorkloads;
        const rules: readonly AdmissionRule[] = ADMISSION_RULES[kind];
        return this.create(kind, isKthenas ? rules.filter(({ isExtension }) => isExtension !== true) : rules, action);
      });
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
        matchConditions: [
          { name: 'own-class', expression: ownClass('object') },
          // What is there already and breaks a rule must still lose its finalizers, or get labels.
          {
            name: 'changed',
            expression: `request.operation == "CREATE" || object.spec != oldObject.spec || !(${ownClass('oldObject')})`,
          },
        ],
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

/** CEL: whether `object` is of no class or ours. */
function ownClass(object: 'object' | 'oldObject'): string {
  const labels = `${object}.metadata.labels`;
  return `!has(${labels}) || !(${celText(Labels.class)} in ${labels}) || ${labels}[${celText(Labels.class)}] == "kvasir"`;
}

const TOO_OLD = {
  code: 'admission/cluster-too-old',
  severity: 'error',
  message: 'the cluster is older than Kubernetes 1.30, which has no ValidatingAdmissionPolicy v1',
  remedy: "leave AdmissionPolicies out, or give Cluster.of({ kubernetes: '1.30' }) or newer",
} as const;
