import { SLOT_MS } from '../hindsight/slot-demand';
import { ROUND_MS, type Strategy, type StrategyView } from './strategy';

/** Follows a schedule: replicas of a slot are made so early that they serve when it begins, and go when it is over. */
export class BySchedule implements Strategy {
  /** @param mixes for each slot the replicas of each pool; @param startMs of each pool. */
  constructor(
    private readonly mixes: readonly (readonly number[])[],
    private readonly startMs: readonly number[],
  ) {}

  round({ nowMs }: StrategyView): readonly number[] {
    const mixAt = (atMs: number): readonly number[] => this.mixes[Math.min(this.mixes.length - 1, Math.floor(atMs / SLOT_MS))]!;
    return this.startMs.map((startMs, pool) => {
      let most = 0;
      // The last round before a start is due is the one to make it in.
      const until = nowMs + startMs + ROUND_MS - 1;
      for (let atMs = nowMs; atMs <= until; atMs += SLOT_MS) most = Math.max(most, mixAt(atMs)[pool]!);
      return Math.max(most, mixAt(until)[pool]!);
    });
  }
}
