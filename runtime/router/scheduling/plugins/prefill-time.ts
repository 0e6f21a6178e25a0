import type { Scorer } from '../scorer';

/**
 * What an uncached token of this prompt weighs against one already queued. Above 1, since its KV also takes room that cached prefixes
 * lose; 2 gave the best mean time to first token in a replay of public traces over 8 pods (1, 2 and 4 were tried).
 */
export const UNCACHED_WEIGHT = 2;

/** T: seconds until the endpoint has prefilled what was sent before and this prompt. */
export const prefillTime: Scorer = {
  name: 'prefill-time',
  score(request, candidates, out) {
    candidates.forEach(({ queuedTokens, cachedTokens, prefillTokensPerSecond }, i) => {
      const uncached = Math.max(0, request.promptTokens - cachedTokens);
      out[i] = (queuedTokens + UNCACHED_WEIGHT * uncached) / prefillTokensPerSecond;
    });
  },
};
