import { conditionSchema } from './condition';
import { type KubeKind, type KubeManifest, objectSchema } from './kube-kind';
import { behaviorSchema } from './scaling-behavior';
import { scalingScheduleSchema } from './scaling-schedule';
import {
  disaggregatedTargetSchema,
  heterogeneousTargetSchema,
  homogeneousTargetSchema,
  policyMetricSchema,
} from './scaling-target';
import { type Decoded, defaulted, filledIn, flag, int32, int64, listOf, object, optional, text } from './schema';

export type { Behavior, PanicPolicy, ScaleDown, ScaleUp, StablePolicy } from './scaling-behavior';
export type {
  DisaggregatedTarget,
  HeterogeneousParam,
  HeterogeneousTarget,
  HomogeneousTarget,
  MetricSource,
  PodMetricSource,
  PolicyMetric,
  PrometheusMetricSource,
  RatioConstraint,
  RoleScaling,
  ScaleTargetRef,
  ScalingTarget,
} from './scaling-target';

export const sloSchema = object(
  {
    ttftMs: optional(int32('Longest time to the first token, in milliseconds.', { minimum: 1 })),
    itlMs: optional(int32('Longest time between tokens, in milliseconds.', { minimum: 1 })),
    percentile: defaulted(int32('Share of requests, in percent, that must be this fast.', { minimum: 1, maximum: 99 }), 95),
  },
  { description: 'Latency that the metric targets stand for. An extension of Kvasir.' },
);

export const autoscalingPolicySpecSchema = object(
  {
    tolerancePercent: defaulted(
      int32('Deviation from the target, in percent, that is left alone.', { minimum: 0, maximum: 100 }),
      10,
    ),
    metrics: optional(listOf(policyMetricSchema, { description: 'Metrics and their targets; the greatest demand counts.' })),
    behavior: filledIn(behaviorSchema),
    homogeneousTarget: optional(homogeneousTargetSchema),
    heterogeneousTarget: optional(heterogeneousTargetSchema),
    disaggregatedTarget: optional(disaggregatedTargetSchema),
    slo: optional(sloSchema),
    schedules: optional(
      listOf(scalingScheduleSchema, { description: 'Replicas for times of the week; they count beside the metrics.' }),
    ),
  },
  { description: 'What to scale, by which metrics, within which limits. One target at most; none when a binding names it.' },
);

export const learnedCapacitySchema = object(
  {
    revision: text('Which model, engine, flags and accelerator it was learned of.'),
    factorPercent: int32('Capacity of a replica, in percent of what the catalogue says.'),
    stepBaseMs: text('Part of an engine step that is always there, in milliseconds, as a decimal.'),
    stepPerSequenceMs: text('Part of an engine step for each sequence that decodes in it.'),
    stepPerPrefillTokenMs: text('Part of an engine step for each uncached prompt token in it.'),
    time: text('When this was written; at most every 5 minutes.', { format: 'date-time' }),
  },
  { description: 'What engine metrics taught of the speed of a replica.' },
);

export const targetScalingStatusSchema = object(
  {
    name: optional(text('Workload or role; absent when there is only one.')),
    currentReplicas: int32('Replicas that exist.'),
    desiredReplicas: int32('Replicas that the metrics ask for.'),
    mode: optional(text('`Stable` or `Panic`.')),
    lastScaleTime: optional(text('When replicas last changed.', { format: 'date-time' })),
    learnedCapacity: optional(learnedCapacitySchema),
  },
  { description: 'What was seen and decided for one workload or role.' },
);

export const ratioStatusSchema = object(
  {
    numeratorRole: text('Role above the line.'),
    denominatorRole: text('Role below the line.'),
    currentRatio: optional(text('Numerator ÷ denominator, as a decimal.')),
  },
  { description: 'The ratio that holds now.' },
);

export const autoscalingPolicyStatusSchema = object(
  {
    observedGeneration: optional(int64('Generation that the status speaks of.')),
    conditions: optional(
      listOf(conditionSchema, {
        description: '`Ready`, `TargetFound` and others.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
    homogeneousStatus: optional(targetScalingStatusSchema),
    heterogeneousStatus: optional(listOf(targetScalingStatusSchema, { description: 'One entry per workload.' })),
    disaggregatedStatus: optional(
      object(
        {
          roles: listOf(targetScalingStatusSchema, { description: 'One entry per role.' }),
          ratioStatus: optional(ratioStatusSchema),
          ratioAdjusted: optional(flag('Whether the ratio overrode what the metrics asked for.')),
        },
        { description: 'What was seen and decided for the roles.' },
      ),
    ),
  },
  { description: 'What the autoscaler saw and decided.' },
);

export const autoscalingPolicySchema = objectSchema(
  autoscalingPolicySpecSchema,
  autoscalingPolicyStatusSchema,
  'Scales a workload by metrics of its pods.',
);

export type Slo = Decoded<typeof sloSchema>;
export type AutoscalingPolicySpec = Decoded<typeof autoscalingPolicySpecSchema>;
export type LearnedCapacityStatus = Decoded<typeof learnedCapacitySchema>;
export type TargetScalingStatus = Decoded<typeof targetScalingStatusSchema>;
export type AutoscalingPolicyStatus = Decoded<typeof autoscalingPolicyStatusSchema>;
/** A decoded AutoscalingPolicy, with the defaults of Kthena's admission filled in. */
export type AutoscalingPolicy = KubeKind<
  'AutoscalingPolicy',
  typeof autoscalingPolicySpecSchema,
  typeof autoscalingPolicyStatusSchema
>;
/** An AutoscalingPolicy as a person writes it. */
export type AutoscalingPolicyManifest = KubeManifest<'AutoscalingPolicy', typeof autoscalingPolicySpecSchema>;
