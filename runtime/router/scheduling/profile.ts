import type { Filter } from './filter';
import type { Scorer } from './scorer';

export interface WeightedScorer {
  readonly scorer: Scorer;
  /** Finite, ≥ 0. */
  readonly weight: number;
}

/** Which filters and scorers decide, and what counts as a tie. */
export interface Profile {
  readonly name: string;
  readonly filters: readonly Filter[];
  readonly scorers: readonly WeightedScorer[];
  /**
   * Costs this close to the best are a tie, drawn at random.
   *
   * @param bestTerms weighted terms of the best candidate, in the order of `scorers`.
   */
  tieWidth(bestTerms: readonly number[]): number;
}
