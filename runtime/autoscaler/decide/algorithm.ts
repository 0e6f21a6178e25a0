import type { History } from './history';
import type { MetricObservation, Rest } from './observation';
import type { Bounds } from './rules';

/** What replicas are recommended for. */
export interface Demand {
  readonly current: number;
  readonly bounds: Bounds;
  /** Deviation that is left alone, 0..1. */
  readonly tolerance: number;
  /** Readings of every metric, over all targets of the policy. */
  readonly metrics: readonly MetricObservation[];
  /** Pods that exist and are not ready. */
  readonly unreadyPods: number;
  /** Number of targets that each metric was looked for in. */
  readonly targets: number;
  /** Absent where the policy does not let the target rest at zero. */
  readonly rest?: Rest;
}

/** What one metric alone asks for. */
export interface MetricVerdict {
  readonly name: string;
  /** Undefined: it could not be read. */
  readonly replicas?: number;
  /** The load that `replicas` is for, in replicas' worth, where chance was averaged out of what was read. */
  readonly steadyLoad?: number;
  /** Why it could not be read. */
  readonly missing?: string;
}

export type Recommendation =
  /** Replicas are outside the bounds; metrics were not asked. */
  | { readonly kind: 'bounds'; readonly replicas: number; readonly verdicts: readonly MetricVerdict[] }
  | {
      readonly kind: 'metrics';
      readonly replicas: number;
      readonly verdicts: readonly MetricVerdict[];
      /** Why it is the last replica, though metrics ask for none. */
      readonly keptBy?: 'wake' | 'busy' | 'no-wake-signal';
    }
  /** No metric could be read, and requests wait. */
  | { readonly kind: 'wake'; readonly replicas: number; readonly verdicts: readonly MetricVerdict[] }
  /** No metric could be read. */
  | { readonly kind: 'unknown'; readonly verdicts: readonly MetricVerdict[] };

/** How load becomes a replica count. All functions are pure. */
export interface Algorithm {
  readonly name: 'default' | 'kthena';
  recommend(demand: Demand): Recommendation;
  /** Whether a recommendation is so far above the present replicas that it is answered with panic. */
  isSurge(recommended: number, current: number, thresholdPercent: number): boolean;
  /** What a scaler that has just started takes as its past. */
  firstHistory(current: number, nowMs: number): History;
}
