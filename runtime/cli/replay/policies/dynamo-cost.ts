import type { Profile } from '../../../router/scheduling/profile';
import type { FleetFacts } from '../fixed-fleet';
import { rival } from './rival';
import { RIVAL_PARAMETERS } from './rival-parameters';

/** Dynamo's KV router: blocks to prefill (queued and of this prompt, less the overlap) + blocks in use and of this prompt. */
export function dynamoCost({ blockSize, kvTokens }: FleetFacts): Profile {
  const { overlapCredit, prefillLoadScale } = RIVAL_PARAMETERS.dynamoCost;
  return rival('dynamo-cost', ({ request, candidates }, out) => {
    candidates.forEach(({ queuedTokens, cachedTokens, kvUsage }, i) => {
      const prefillTokens = Math.max(0, queuedTokens + request.promptTokens - overlapCredit * cachedTokens);
      const decodeTokens = kvUsage * kvTokens + request.promptTokens;
      out[i] = (prefillLoadScale * prefillTokens + decodeTokens) / blockSize;
    });
  });
}
