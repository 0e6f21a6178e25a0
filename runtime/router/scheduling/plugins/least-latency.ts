import type { Candidate } from '../candidate';
import { costOfScore, type Scorer } from '../scorer';

/** Kthena's default for `TTFTTPOTWeightFactor`. */
export const DEFAULT_TTFT_WEIGHT = 0.5;
/** Score of an endpoint that has shown no latency yet. */
const UNMEASURED_SCORE = 50;

interface Measured {
  readonly ttft: number;
  readonly tpot: number;
}

/**
 * Kthena's `least-latency`: recent time to first token and time per output token, each scaled between the best (100) and the worst
 * (0) of the measured endpoints.
 *
 * @param ttftWeight share of the time to first token, 0..1.
 */
export function leastLatency(ttftWeight: number): Scorer {
  return {
    name: 'least-latency',
    score(_request, candidates, out) {
      const all = candidates.map(measured).filter((each) => each !== undefined);
      const ttft = rangeOf(all.map((each) => each.ttft));
      const tpot = rangeOf(all.map((each) => each.tpot));
      candidates.forEach((candidate, i) => {
        const own = measured(candidate);
        const score =
          own === undefined
            ? UNMEASURED_SCORE
            : Math.trunc(ttftWeight * scaled(own.ttft, ttft) + (1 - ttftWeight) * scaled(own.tpot, tpot));
        out[i] = costOfScore(score);
      });
    },
  };
}

function measured({
  scraped: { timeToFirstTokenSeconds: ttft, interTokenLatencySeconds: tpot },
}: Candidate): Measured | undefined {
  return ttft !== undefined && tpot !== undefined && ttft > 0 && tpot > 0 ? { ttft, tpot } : undefined;
}

function rangeOf(values: readonly number[]): { readonly min: number; readonly max: number } {
  return values.reduce((range, value) => ({ min: Math.min(range.min, value), max: Math.max(range.max, value) }), {
    min: Number.POSITIVE_INFINITY,
    max: Number.NEGATIVE_INFINITY,
  });
}

function scaled(value: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return max === min ? 100 : (100 * (max - value)) / (max - min);
}
