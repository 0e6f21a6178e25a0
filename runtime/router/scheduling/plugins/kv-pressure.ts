import type { Scorer } from '../scorer';

/** λ in seconds: cost of a half-full KV cache. The value that the `least_load` policy of the sgl router uses. */
const PRESSURE_SECONDS = 0.15;
/** A full cache costs much and not infinitely much. */
const MOST_USAGE = 0.98;

/** M: λ·k/(1−k), the risk that a nearly full KV cache makes the request wait or preempts others. */
export const kvPressure: Scorer = {
  name: 'kv-pressure',
  score(_request, candidates, out) {
    candidates.forEach(({ kvUsage }, i) => {
      const usage = Math.min(MOST_USAGE, Math.max(0, kvUsage));
      out[i] = (PRESSURE_SECONDS * usage) / (1 - usage);
    });
  },
};
