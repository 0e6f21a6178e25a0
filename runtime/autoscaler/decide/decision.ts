import type { MetricVerdict } from './algorithm';
import type { Limit, Mode } from './behavior';
import type { History } from './history';

/** What was decided for one target or role, and why. */
export interface UnitDecision {
  readonly name: string;
  readonly current: number;
  /** What the metrics ask for before any rule; undefined when none could be read. */
  readonly recommended?: number;
  /** Replicas it should have now. */
  readonly desired: number;
  readonly mode: Mode;
  readonly verdicts: readonly MetricVerdict[];
  /** Rules that changed the recommendation, in the order in which they did. */
  readonly limits: readonly Limit[];
}

export interface Decision {
  readonly units: readonly UnitDecision[];
  /** Whether the ratio of two roles overrode what the metrics asked for. */
  readonly isRatioAdjusted: boolean;
  /** Whether the bounds leave no way to keep the ratio. */
  readonly isRatioViolated: boolean;
  /** Of several pools: the load, in replicas of the weakest one, what a replica of each carries of it, and the cost of the mix. */
  readonly mix?: { readonly load: number; readonly capacities: readonly number[]; readonly cost: number };
}

/** What a policy remembers between rounds: plain data by scaler (the whole target, or each role). */
export type Memory = Readonly<Record<string, History>>;

export interface Decided {
  readonly decision: Decision;
  readonly memory: Memory;
}
