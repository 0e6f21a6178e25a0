import type { Candidate } from '../../../router/scheduling/candidate';
import type { Profile } from '../../../router/scheduling/profile';
import { rival } from './rival';
import { RIVAL_PARAMETERS } from './rival-parameters';

/** llm-d's weighted sum of scores from 0 to 1: matched share of the prompt, scraped queue between its extremes, free KV cache. */
export function llmdWeights(): Profile {
  const { prefix, queue, kvUtilization } = RIVAL_PARAMETERS.llmdWeights;
  return rival('llmd-weights', ({ request, candidates }, out) => {
    const queues = candidates.map(waiting);
    const shortest = Math.min(...queues);
    const longest = Math.max(...queues);
    candidates.forEach(({ cachedTokens, scraped }, i) => {
      const matched = Math.min(1, cachedTokens / request.promptTokens);
      const queueScore = longest === shortest ? 1 : (longest - queues[i]!) / (longest - shortest);
      out[i] = -(prefix * matched + queue * queueScore + kvUtilization * (1 - (scraped.kvUsage ?? 0)));
    });
  });
}

function waiting({ scraped }: Candidate): number {
  return scraped.waiting ?? 0;
}
