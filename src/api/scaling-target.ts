import type { TUnsafe } from '@sinclair/typebox';
import type { LabelSelectorRequirement } from './meta';
import { type Decoded, defaulted, int32, listOf, mapOf, object, oneOf, optional, quantity, text } from './schema';

const MAX_REPLICAS = 1_000_000;
const minReplicas = int32('Fewest replicas.', { minimum: 0, maximum: MAX_REPLICAS });
const maxReplicas = int32('Most replicas.', { minimum: 1, maximum: MAX_REPLICAS });

export const targetRefSchema = object(
  {
    apiVersion: optional(text('Group and version of the workload. Absent: that of its kind.')),
    kind: optional(text('ModelServing (also when absent), Deployment, StatefulSet or LeaderWorkerSet.')),
    name: optional(text('Name of the workload.')),
    namespace: optional(text('Namespace of the workload. Absent: that of the policy.')),
    fieldPath: optional(text('Carried; no meaning here.')),
    resourceVersion: optional(text('Carried; no meaning here.')),
    uid: optional(text('Carried; no meaning here.')),
  },
  { description: 'The workload to scale.', 'x-kubernetes-map-type': 'atomic' },
);

const labelSelectorSchema = object(
  {
    matchLabels: optional(mapOf(text('Label value.'), { description: 'Labels that must be there.' })),
    matchExpressions: optional(
      listOf(
        object({
          key: text('Label key.'),
          operator: text('In, NotIn, Exists or DoesNotExist.') as unknown as TUnsafe<LabelSelectorRequirement['operator']>,
          values: optional(
            listOf(text('Label value.'), { description: 'Values of In and NotIn.', 'x-kubernetes-list-type': 'atomic' }),
          ),
        }),
        { description: 'Requirements on labels; all must hold.', 'x-kubernetes-list-type': 'atomic' },
      ),
    ),
  },
  { description: "Narrows the workload's pods to those that expose the metric.", 'x-kubernetes-map-type': 'atomic' },
);

export const podMetricSourceSchema = object(
  {
    name: optional(text('Metric family that the pod exposes. Absent: the key of this source.')),
    uri: defaulted(text('Path of the metrics page.', { pattern: '^/' }), '/metrics'),
    port: defaulted(int32('Port of the metrics page.', { minimum: 1, maximum: 65535 }), 8100),
    labelSelector: optional(labelSelectorSchema),
  },
  { description: 'Read from every pod.' },
);

export const prometheusMetricSourceSchema = object(
  {
    serverURL: text('URL of the Prometheus server, http or https.', { minLength: 1, format: 'uri' }),
    query: text('Instant query that yields one number.', { minLength: 1 }),
    auth: optional(object({}, { description: 'Reserved.' })),
  },
  { description: 'Read from a Prometheus server.' },
);

export const metricSourceSchema = object(
  { pod: optional(podMetricSourceSchema), prometheus: optional(prometheusMetricSourceSchema) },
  {
    description: 'Where a metric is read: from the pods, or from Prometheus.',
    'x-kubernetes-validations': [
      { rule: 'has(self.pod) || has(self.prometheus)', message: 'one metric source backend config is required' },
      { rule: '!(has(self.pod) && has(self.prometheus))', message: 'pod and prometheus configs are mutually exclusive' },
    ],
  },
);

export const metricSourcesSchema = mapOf(metricSourceSchema, { description: 'Metric name → where it is read.' });

export const policyMetricSchema = object(
  {
    name: text('Name of the metric.', { minLength: 1 }),
    targetValue: quantity('Value that one replica should have.'),
  },
  { description: 'A metric and the value that scaling aims at.' },
);

export const targetSchema = object(
  { targetRef: targetRefSchema, metricSources: optional(metricSourcesSchema) },
  { description: 'A workload and where its metrics are read.' },
);

export const homogeneousTargetSchema = object(
  { target: optional(targetSchema), minReplicas, maxReplicas },
  { description: 'One workload.' },
);

export const heterogeneousParamSchema = object(
  {
    target: optional(targetSchema),
    cost: optional(int32('Cost of one replica, in any unit that all params share.', { minimum: 0 })),
    minReplicas,
    maxReplicas,
  },
  { description: 'One of several workloads that serve the same model.' },
);

export const heterogeneousTargetSchema = object(
  {
    params: optional(listOf(heterogeneousParamSchema, { minItems: 1, description: 'The workloads.' })),
    costExpansionRatePercent: defaulted(
      int32('By how much, in percent, each further batch of replicas of one workload grows.', { minimum: 0 }),
      200,
    ),
  },
  { description: 'Several workloads of different cost that serve the same model.' },
);

export const roleScalingSchema = object(
  {
    minReplicas,
    maxReplicas,
    metrics: optional(listOf(policyMetricSchema, { minItems: 1, description: "Metrics of the role. Absent: the policy's." })),
    metricSources: optional(metricSourcesSchema),
  },
  { description: 'How one role scales.' },
);

export const ratioConstraintSchema = object(
  {
    numeratorRole: text('Role above the line.'),
    denominatorRole: text('Role below the line.'),
    minRatio: quantity('Least value of numerator ÷ denominator.'),
    maxRatio: quantity('Greatest value of numerator ÷ denominator.'),
  },
  {
    description: 'Keeps the replicas of two roles in proportion.',
    'x-kubernetes-validations': [
      { rule: 'self.numeratorRole != self.denominatorRole', message: 'numeratorRole and denominatorRole must differ' },
    ],
  },
);

export const disaggregatedTargetSchema = object(
  {
    targetRef: targetRefSchema,
    roles: mapOf(roleScalingSchema, { minProperties: 1, maxProperties: 2, description: 'Role name → how it scales.' }),
    ratioConstraint: optional(ratioConstraintSchema),
    per: optional(
      oneOf(
        ['total', 'group'],
        'Whether bounds of roles, and loads that are one number for the whole target, are those of all serving groups together, or of each. Absent: total. An extension of Kvasir.',
      ),
    ),
  },
  {
    description: 'The roles of one ModelServing, such as prefill and decode.',
    'x-kubernetes-validations': [
      {
        rule: '!has(self.ratioConstraint) || size(self.roles) >= 2',
        message: 'roles must contain at least two entries when ratioConstraint is configured',
      },
    ],
  },
);

export type ScaleTargetRef = Decoded<typeof targetRefSchema>;
export type PodMetricSource = Decoded<typeof podMetricSourceSchema>;
export type PrometheusMetricSource = Decoded<typeof prometheusMetricSourceSchema>;
export type MetricSource = Decoded<typeof metricSourceSchema>;
export type PolicyMetric = Decoded<typeof policyMetricSchema>;
export type ScalingTarget = Decoded<typeof targetSchema>;
export type HomogeneousTarget = Decoded<typeof homogeneousTargetSchema>;
export type HeterogeneousParam = Decoded<typeof heterogeneousParamSchema>;
export type HeterogeneousTarget = Decoded<typeof heterogeneousTargetSchema>;
export type RoleScaling = Decoded<typeof roleScalingSchema>;
export type RatioConstraint = Decoded<typeof ratioConstraintSchema>;
export type DisaggregatedTarget = Decoded<typeof disaggregatedTargetSchema>;
