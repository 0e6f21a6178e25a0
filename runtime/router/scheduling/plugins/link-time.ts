import type { Scorer } from '../scorer';

/** Seconds until the KV that prefill computed is there: cost of pairs only. */
export const linkTime: Scorer = {
  name: 'link-time',
  score(_request, candidates, out) {
    candidates.forEach(({ linkSeconds = 0 }, i) => {
      out[i] = linkSeconds;
    });
  },
};
