import type { KvBlockSettings } from '../cache/kv-block-settings';
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
  /** Scorers of the two legs where prefill hands over to decode; the sums of both are compared. @default `scorers` for each */
  readonly pair?: { readonly prefill: readonly WeightedScorer[]; readonly decode: readonly WeightedScorer[] };
  /** Decides on requests for a LoRA adapter, so that others do not pay for it. @default this one */
  readonly forAdapters?: Profile;
  /** What is asked of other servers before a decision. @default nothing */
  readonly kvBlocks?: KvBlockSettings;
  /**
   * Costs this close to the best are a tie, drawn at random.
   *
   * @param bestTerms weighted terms of the best candidate, in the order of `scorers`.
   */
  tieWidth(bestTerms: readonly number[]): number;
}
