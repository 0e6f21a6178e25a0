import { contextTokensOf } from '../candidate';
import type { Scorer } from '../scorer';

/**
 * D: seconds that this request will decode for, and seconds that it adds to the decodes already running there: each of their steps is
 * longer by its sequence and its context, and those that carry its prompt by its prefill.
 */
export const decodeTime: Scorer = {
  name: 'decode-time',
  score(request, candidates, out) {
    const { promptTokens, expectedOutputTokens } = request;
    const ownContext = contextTokensOf(request);
    for (let i = 0; i < candidates.length; i++) {
      const { running, contextTokens, cachedTokens, prefillTokensPerSecond, decode } = candidates[i]!;
      const added = decode.perSequenceSeconds + decode.perContextTokenSeconds * ownContext;
      const step =
        decode.baseSeconds + decode.perSequenceSeconds * running + decode.perContextTokenSeconds * contextTokens + added;
      const prefillSeconds = Math.max(0, promptTokens - cachedTokens) / prefillTokensPerSecond;
      out[i] = expectedOutputTokens * (step + running * added) + running * prefillSeconds;
    }
  },
};
