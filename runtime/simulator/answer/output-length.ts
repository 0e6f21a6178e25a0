import type { Random } from '../../lib/random';

/** Lengths are log-normal, as chat answers are; the figures are chosen, not measured: half of the answers are between 100 and 260 tokens. */
const MEDIAN_TOKENS = 160;
const SIGMA = 0.7;
/** Shortest answer that is drawn, so that small `max_tokens` are always reached. */
const LEAST_TOKENS = 32;

/** Draws how many tokens an answer has when nothing bounds it. */
export function drawOutputTokens(random: Random): number {
  // Box-Muller; 1 - next() is never 0.
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.max(LEAST_TOKENS, Math.round(MEDIAN_TOKENS * Math.exp(SIGMA * normal)));
}
