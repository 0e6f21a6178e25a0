import type { Random } from '../../../lib/random';

/** Tokens of the service's requests, on the mean. */
export interface RequestLengths {
  /** Prompt tokens, those of the shared beginning included. */
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** A longer prompt cannot have its first token in time on the slower pools. */
export const MOST_PROMPT_TOKENS = 8000;
/** A longer answer would fill a replica's KV cache alone. */
export const MOST_OUTPUT_TOKENS = 24_000;

/** A length with a long tail: log-normal with this mean, within 1 and `most`. @param sigma of the logarithm. */
export function drawTokens(
  random: Random,
  { mean, sigma, most }: { readonly mean: number; readonly sigma: number; readonly most: number },
): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const tokens = Math.round(mean * Math.exp(sigma * normal - (sigma * sigma) / 2));
  return Math.min(most, Math.max(1, tokens));
}
