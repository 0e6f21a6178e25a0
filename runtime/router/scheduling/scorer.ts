import type { Candidate, ScheduledRequest } from './candidate';

/** Adds to an endpoint's cost for one request. Pure: same inputs, same numbers, whatever the order of candidates. */
export interface Scorer {
  readonly name: string;
  /**
   * Cost per candidate in the profile's unit (seconds for `expected-latency`, 0..100 for Kthena's plugins), finite, lower is better.
   * Writes into `out`, which the caller reuses.
   */
  score(request: ScheduledRequest, candidates: readonly Candidate[], out: Float64Array): void;
}

/** Cost of a Kthena score, which is 0..100 and higher for the better endpoint. */
export function costOfScore(score: number): number {
  return 100 - score;
}
