import type { Day } from '../traffic/day';

/** Length of a slot of hindsight. */
export const SLOT_MS = 60_000;

/**
 * Output tokens per second that are asked for in each slot of a day, known in hindsight: the tokens of an answer are spread over the time
 * that it may take.
 *
 * @param itlMs time between tokens that is allowed.
 */
export function slotDemand({ requests, durationMs }: Day, itlMs: number): Float64Array {
  const demand = new Float64Array(Math.ceil(durationMs / SLOT_MS));
  for (const { atMs, request } of requests) {
    const endMs = Math.min(durationMs, atMs + request.outputTokens * itlMs);
    for (let slot = Math.floor(atMs / SLOT_MS); slot * SLOT_MS < endMs && slot < demand.length; slot++) {
      const insideMs = Math.min(endMs, (slot + 1) * SLOT_MS) - Math.max(atMs, slot * SLOT_MS);
      demand[slot]! += insideMs / itlMs / (SLOT_MS / 1000);
    }
  }
  return demand;
}
