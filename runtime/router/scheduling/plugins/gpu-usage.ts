import { costOfScore, type Scorer } from '../scorer';

/** Kthena's `gpu-usage`: trunc((1 − share of KV cache in use) · 100), as the engine reports it. One that reports none counts as empty. */
export const gpuUsage: Scorer = {
  name: 'gpu-usage',
  score(_request, candidates, out) {
    candidates.forEach(({ scraped }, i) => {
      const usage = Math.min(1, Math.max(0, scraped.kvUsage ?? 0));
      out[i] = costOfScore(Math.trunc((1 - usage) * 100));
    });
  },
};
