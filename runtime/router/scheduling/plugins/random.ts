import type { Endpoint } from '../../endpoints/endpoint';
import { costOfScore, type Scorer } from '../scorer';

/** Kthena's `random`: a uniform whole score 0..100 for each endpoint, from the decision's draw. */
export const random: Scorer = {
  name: 'random',
  score(request, candidates, out) {
    candidates.forEach(({ endpoint }, i) => {
      out[i] = costOfScore(Math.floor(uniform(request.draw, endpoint) * 101));
    });
  },
};

/** One number per draw and endpoint, independent between endpoints (finalizer of MurmurHash3 by Austin Appleby, public domain). */
function uniform(draw: number, { slot }: Endpoint): number {
  let h = Math.floor(draw * 4_294_967_296) ^ Math.imul(slot + 1, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) / 4_294_967_296;
}
