import type { Candidate, ScheduledRequest } from '../../../router/scheduling/candidate';
import type { Profile } from '../../../router/scheduling/profile';

/** What a rival's rule sees. */
export interface RivalView {
  readonly request: ScheduledRequest;
  readonly candidates: readonly Candidate[];
}

/**
 * A profile that decides by one rule alone; equal costs are drawn.
 *
 * @param cost writes a cost per candidate into `out`, lower is better.
 */
export function rival(name: string, cost: (view: RivalView, out: Float64Array) => void): Profile {
  const scorer = {
    name,
    score: (request: ScheduledRequest, candidates: readonly Candidate[], out: Float64Array) => cost({ request, candidates }, out),
  };
  return { name, filters: [], scorers: [{ scorer, weight: 1 }], tieWidth: () => 0 };
}
