import { costOfScore, type Scorer } from '../scorer';

/**
 * Kthena's `kvcache-aware`: trunc(blocks held from the first one on ÷ blocks of the prompt · 100), by what engines' sidecars tell Redis.
 * Where nothing is known, all are equal.
 */
export const kvcacheAware: Scorer = {
  name: 'kvcache-aware',
  score({ ownedBlocks }, candidates, out) {
    candidates.forEach(({ endpoint }, i) => {
      const run = ownedBlocks?.runs.get(endpoint.id) ?? 0;
      out[i] = costOfScore(run === 0 ? 0 : Math.min(100, Math.trunc((run / ownedBlocks!.total) * 100)));
    });
  },
};
