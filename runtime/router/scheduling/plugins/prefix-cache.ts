import { costOfScore, type Scorer } from '../scorer';

/** Kthena's `prefix-cache`: trunc(matched ÷ whole prompt · 100), over the router's own prefix index, for every endpoint that matches. */
export const prefixCache: Scorer = {
  name: 'prefix-cache',
  score({ promptTokens }, candidates, out) {
    candidates.forEach(({ cachedTokens }, i) => {
      const ratio = promptTokens > 0 ? Math.min(1, Math.max(0, cachedTokens / promptTokens)) : 0;
      out[i] = costOfScore(Math.trunc(ratio * 100));
    });
  },
};
