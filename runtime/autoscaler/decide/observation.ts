import type { MetricTarget } from './rules';

/** What one round saw of one metric of one target. */
export type MetricReading =
  /** One number for the whole target, as a Prometheus query gives it. */
  | { readonly kind: 'external'; readonly value: number }
  /** One number per replica that answered; under `algorithm: kthena` one number for the whole target, pods already added. */
  | { readonly kind: 'samples'; readonly values: readonly number[] }
  | { readonly kind: 'missing'; readonly reason: string };

export type MetricObservation = MetricTarget & { readonly reading: MetricReading };

/** What one round saw of one thing that has a replica count: a target, or a role of it. */
export interface UnitObservation {
  /** Target or role, as status lists name it. */
  readonly name: string;
  /** Replicas asked for at the time of reading. */
  readonly current: number;
  readonly metrics: readonly MetricObservation[];
  /** Pods that exist and are not ready. */
  readonly unreadyPods: number;
}

/** What one round saw of one policy. */
export interface Observation {
  /** Monotonic time of the round. */
  readonly atMs: number;
  /** The view of the cluster is older than two rounds, so that pods may exist that it does not show. */
  readonly isViewStale: boolean;
  /** In the order of the specification's units. */
  readonly units: readonly UnitObservation[];
}
