import type { AutoscalingPolicy, PodMetricSource, PrometheusMetricSource } from '../../src/api/autoscaling-policy';
import type { AutoscalingPolicyBinding } from '../../src/api/autoscaling-policy-binding';
import type { ScalingSchedule } from '../../src/api/scaling-schedule';
import type { TargetRef } from '../cluster/scaling';
import type { LatencyGoal } from './decide/capacity/rate-at-slo';
import type { MetricTarget } from './decide/rules';
import type { PolicySpec } from './decide/spec';
import type { RouterSignal } from './observe/router-signal';

/** Where one metric of one unit is read. */
export type MetricQuery = MetricTarget & {
  readonly source:
    | { readonly kind: 'pod'; readonly pod: PodMetricSource; readonly family: string }
    | { readonly kind: 'prometheus'; readonly prometheus: PrometheusMetricSource }
    | { readonly kind: 'router'; readonly signal: RouterSignal }
    /** The policy names the metric and says nowhere where it is read. */
    | { readonly kind: 'none' };
};

/** A thing with a replica count, as a policy names it. */
export interface PolicyUnit {
  readonly name: string;
  readonly target: TargetRef;
  /** Role of the target that this unit is; undefined: the whole target. */
  readonly role?: string;
  readonly queries: readonly MetricQuery[];
  /** Serving groups that each have the role's replicas, and share the loads that are one number for all of them. @default 1 */
  readonly groups?: number;
}

/** A policy, or a binding with the policy that it refers to, in the form that a round works on. Units are in the order of `spec`'s. */
export interface Policy {
  /** Unique among policies and bindings; changes when one is deleted and made again. */
  readonly id: string;
  /** What status and Events are written on. */
  readonly object: AutoscalingPolicy | AutoscalingPolicyBinding;
  /** `Kind namespace/name`. */
  readonly name: string;
  readonly spec: PolicySpec;
  readonly units: readonly PolicyUnit[];
  /** It says that this autoscaler is the one that acts on it, whoever else might. */
  readonly isChosen: boolean;
  readonly isPaused: boolean;
  readonly isRecommendOnly: boolean;
  /** Replicas for times of the week. */
  readonly schedules: readonly ScalingSchedule[];
  /** Most replicas that one write adds or takes away. */
  readonly largestStep?: number;
  /** Which of several policies grows first where a quota or budget is short: the greater. */
  readonly priority: number;
  /** Every minimum is 0, and the algorithm knows how to come back from there. */
  readonly mayRest: boolean;
  /** Bounds of its roles are those of all serving groups together. */
  readonly hasTotals?: boolean;
  /** `spec.slo`: replicas are also sized so that requests are this fast. */
  readonly goal?: LatencyGoal;
  /** Changes with every edit of the specification. */
  readonly revision: string;
}

/** A policy or binding that cannot be acted on as it is written. */
export interface UnusablePolicy {
  readonly id: string;
  readonly object: Policy['object'];
  readonly name: string;
  readonly reason: 'PolicyMissing' | 'TargetInvalid';
  readonly message: string;
}
