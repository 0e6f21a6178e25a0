import type { Candidate } from '../candidate';
import type { Filter } from '../filter';
import { costOfScore, type Scorer } from '../scorer';

/** Kthena's default for `maxWaitingRequests`. */
export const DEFAULT_MAX_WAITING_REQUESTS = 10;

/** Kthena's filter: keeps endpoints whose engine reports fewer waiting requests than this. One that reports none is kept. */
export function leastRequestFilter(maxWaitingRequests: number): Filter {
  return {
    name: 'least-request',
    keeps: (_request, { scraped }) => (scraped.waiting ?? 0) < maxWaitingRequests,
  };
}

/**
 * Kthena's score: base = F + 100 · max(F − R, 0) with F requests in flight and R running in the engine; 100 for the endpoint with
 * none, 0 for the largest base.
 */
export const leastRequest: Scorer = {
  name: 'least-request',
  score(_request, candidates, out) {
    const largest = candidates.reduce((most, candidate) => Math.max(most, baseOf(candidate)), 0);
    candidates.forEach((candidate, i) => {
      const score = largest === 0 ? 100 : Math.trunc(((largest - baseOf(candidate)) / largest) * 100);
      out[i] = costOfScore(score);
    });
  },
};

function baseOf({ onFlight, scraped }: Candidate): number {
  return onFlight + 100 * Math.max(onFlight - (scraped.running ?? 0), 0);
}
