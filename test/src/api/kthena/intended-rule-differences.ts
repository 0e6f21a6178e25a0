import { autoscalingPolicy, modelServer, withField } from '../../../helpers/api-objects';

/** An object that Kthena's admission and ours judge differently, on purpose. */
export interface IntendedRuleDifference {
  readonly what: string;
  readonly object: object;
  /** Whether Kthena's schema and webhook let it in. */
  readonly kthena: 'accepts' | 'refuses';
  /** Code of our finding; absent when we accept it. */
  readonly code?: string;
  readonly reason: string;
}

const targetRef = 'spec.homogeneousTarget.target.targetRef';
const workloads = 'a scaler that only knows one controller ties its users to it; /scale is the same for all';
const scales = (kind: string): IntendedRuleDifference => ({
  what: `a targetRef of kind ${kind}`,
  object: withField(autoscalingPolicy, `${targetRef}.kind`, kind),
  kthena: 'refuses',
  reason: workloads,
});

export const intendedRuleDifferences: readonly IntendedRuleDifference[] = [
  scales('Deployment'),
  scales('StatefulSet'),
  scales('LeaderWorkerSet'),
  {
    what: 'a policy without target',
    object: withField(autoscalingPolicy, 'spec.homogeneousTarget', undefined),
    kthena: 'refuses',
    reason: 'an AutoscalingPolicyBinding may name it; checkReferences warns when none does',
  },
  {
    what: 'a duration that Go cannot read',
    object: withField(modelServer, 'spec.trafficPolicy', { timeout: 'soon' }),
    kthena: 'accepts',
    code: 'value/duration',
    reason: 'the schema lets it in and then the controller cannot read the object at all',
  },
  {
    what: 'an unknown field',
    object: withField(modelServer, 'spec.trafficPolicy', { timout: '5s' }),
    kthena: 'accepts',
    code: 'schema/unknown-field',
    reason: 'the API server drops it silently, and the user learns from an incident',
  },
  {
    what: 'a label selector with an unknown operator',
    object: withField(autoscalingPolicy, 'spec.homogeneousTarget.target.metricSources', {
      running: { pod: { labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } } },
    }),
    kthena: 'accepts',
    code: 'autoscaling/selector-operator',
    reason: 'it selects nothing, ever',
  },
  {
    what: 'a groupKey that is no label key',
    object: withField(modelServer, 'spec.workloadSelector.pdGroup', {
      groupKey: 'not a key',
      prefillLabels: { a: 'b' },
      decodeLabels: { a: 'c' },
    }),
    kthena: 'accepts',
    code: 'model-server/group-key',
    reason: 'no pod can have such a label, so no pair is ever found',
  },
  {
    what: 'a targetRef in a group that has no such kind',
    object: withField(autoscalingPolicy, `${targetRef}.apiVersion`, 'apps/v1'),
    kthena: 'accepts',
    code: 'autoscaling/target-version',
    reason: 'with four kinds of target the group has a meaning',
  },
];
