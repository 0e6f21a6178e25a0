import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';
import { RIVAL_PARAMETERS } from './rival-parameters';

/** Kthena's `least-request` before it counted its own dispatches: what engines reported last, so that all go to one pod until the next scrape. */
export function scrapedLeastRequest(): Profile {
  const { waitingWeight } = RIVAL_PARAMETERS.kthenaScrapedLeastRequest;
  return rival('scraped-least-request', ({ candidates }, out) => {
    candidates.forEach(({ scraped: { running = 0, waiting = 0 } }, i) => {
      out[i] = running + waitingWeight * waiting;
    });
  });
}
