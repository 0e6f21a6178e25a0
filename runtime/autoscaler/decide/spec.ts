import type { Algorithm } from './algorithm';
import type { Behavior, Bounds } from './rules';

/** A scalable thing with its bounds: a target, or a role of one. */
export interface UnitSpec extends Bounds {
  readonly name: string;
}

/** One of several targets that serve the same model. */
export interface PoolSpec extends UnitSpec {
  /** Cost of one replica, in any unit that all pools share. */
  readonly cost: number;
}

/** Bounds of numerator ÷ denominator. */
export interface RatioSpec {
  readonly numeratorRole: string;
  readonly denominatorRole: string;
  readonly minRatio: number;
  readonly maxRatio: number;
}

export type TargetSpec =
  | { readonly kind: 'homogeneous'; readonly unit: UnitSpec }
  | {
      readonly kind: 'heterogeneous';
      readonly pools: readonly PoolSpec[];
      readonly costExpansionRatePercent: number;
      /** `blocks`: replicas are laid on the pools in the order of Kthena's cost blocks. @default the mix of least cost */
      readonly strategy?: 'blocks';
    }
  | { readonly kind: 'disaggregated'; readonly roles: readonly UnitSpec[]; readonly ratio?: RatioSpec };

/** Everything that a decision depends on besides what was observed and remembered. */
export interface PolicySpec {
  readonly algorithm: Algorithm;
  /** Deviation that is left alone, 0..1. */
  readonly tolerance: number;
  readonly behavior: Behavior;
  /** Span of rates and percentiles, over which loads are compared to see whether they change or only swing. @default 0: they are taken as read */
  readonly metricWindowMs?: number;
  readonly target: TargetSpec;
}
