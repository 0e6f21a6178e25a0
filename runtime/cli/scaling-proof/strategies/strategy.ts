import type { SimulatedFleet } from '../simulated-fleet';
import type { LoadPages } from './load-pages';

/** What a strategy sees in its turn. */
export interface StrategyView {
  readonly fleet: SimulatedFleet;
  readonly pages: LoadPages;
  /** Since the day began. */
  readonly nowMs: number;
}

/** Decides replicas, once in `ROUND_MS`. Made anew for each day. */
export interface Strategy {
  /** @returns replicas of each pool, in order. */
  round(view: StrategyView): readonly number[] | Promise<readonly number[]>;
}

/** Between two rounds: the autoscaler's own, Kthena's, and the sync period of HorizontalPodAutoscalers. */
export const ROUND_MS = 15_000;
