import type { LiveEndpoint } from './live-endpoint';

/**
 * Steps of prefill that an endpoint may have before it: the one that runs, and one that is ready when it ends. More would only wait in its
 * engine, in order of arrival.
 */
const STEPS_AHEAD = 2;

/** Sequences that others have there, by the last scrape, with less weight the older it is. */
export function foreignSequences({ scraped }: LiveEndpoint, nowMs: number): number {
  const last = scraped.scrape;
  if (last?.observation.running === undefined) return 0;
  const { running, waiting = 0 } = last.observation;
  return scraped.weight(nowMs) * Math.max(0, running + waiting - last.ownRunning);
}

/**
 * Whether an endpoint may take one more request. One that has nothing of this router always may, so that a full one always has something
 * in flight whose end makes room: no wait is without an end.
 *
 * @param maxSequences bound below the engine's own.
 */
export function hasRoom(live: LiveEndpoint, nowMs: number, maxSequences = Number.POSITIVE_INFINITY): boolean {
  const { ledger, capacity } = live;
  if (ledger.running === 0) return true;
  const sequences = ledger.running + foreignSequences(live, nowMs);
  if (sequences >= Math.min(capacity.maxNumSeqs, maxSequences)) return false;
  return ledger.queuedTokens(nowMs, live.rates.prefillTokensPerSecond(nowMs)) < prefillRoomTokens(live);
}

/**
 * Milliseconds until an endpoint has room if nothing is heard of it: its modelled prefill goes on. Undefined where that makes none, as
 * when all sequences are taken: then only an answer's end does.
 */
export function msUntilRoom(live: LiveEndpoint, nowMs: number, maxSequences = Number.POSITIVE_INFINITY): number | undefined {
  const { ledger, capacity } = live;
  if (ledger.running === 0) return 0;
  const sequences = ledger.running + foreignSequences(live, nowMs);
  if (sequences >= Math.min(capacity.maxNumSeqs, maxSequences)) return undefined;
  return ledger.msUntilQueuedBelow(prefillRoomTokens(live), nowMs, live.rates.prefillTokensPerSecond(nowMs));
}

function prefillRoomTokens({ capacity }: LiveEndpoint): number {
  return STEPS_AHEAD * capacity.maxNumBatchedTokens;
}
