import type { MetricTarget } from './rules';

/** Whether a number was so at the moment of reading, or over the window of rates and percentiles. */
export type ReadOver = 'moment' | 'window';

/** What one round saw of one metric of one target. What does not say `over` is taken as it is read. */
export type MetricReading =
  /** One number for the whole target, as a Prometheus query gives it. */
  | { readonly kind: 'external'; readonly value: number }
  /** One number per replica that answered; under `algorithm: kthena` one number for the whole target, pods already added. */
  | { readonly kind: 'samples'; readonly values: readonly number[]; readonly over?: ReadOver }
  /** Of several pools together, in replicas of the weakest one: what they carry, and what those replicas are that answered. */
  | { readonly kind: 'load'; readonly load: number; readonly answered: number; readonly over?: ReadOver }
  | { readonly kind: 'missing'; readonly reason: string };

export type MetricObservation = MetricTarget & { readonly reading: MetricReading };

/** What brings a target back from zero replicas, and what keeps it from going there. */
export interface Rest {
  /** `wanted`: requests wait for it now; `possible`: a router would say so; `impossible`: nobody would. */
  readonly wake: 'wanted' | 'possible' | 'impossible';
  /** Why its engines may not all be taken away, though metrics ask for none; absent: they are idle. */
  readonly busy?: string;
}

/** What one round saw of one thing that has a replica count: a target, or a role of it. */
export interface UnitObservation {
  /** Target or role, as status lists name it. */
  readonly name: string;
  /** Replicas asked for at the time of reading. */
  readonly current: number;
  readonly metrics: readonly MetricObservation[];
  /** Pods that exist and are not ready. */
  readonly unreadyPods: number;
  /** What one replica carries, in a unit that the pools of a policy share; absent where it is not known. */
  readonly capacity?: number;
  /** Its pods do not start: how many replicas it may have for now, and why. Pools and roles are kept from growing by it. */
  readonly backOff?: { readonly most: number; readonly reason: string };
  /** How long a replica takes from being asked for to being ready; absent where it is not known. */
  readonly startMs?: number;
  /** Absent where the policy does not let it rest at zero. */
  readonly rest?: Rest;
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
