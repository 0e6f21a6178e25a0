import type { LiveEndpoint } from '../endpoints/live-endpoint';
import { foreignSequences } from '../endpoints/room';
import type { Candidate } from './candidate';

/** Age at which what an engine said is no longer taken as its word. */
const STALE_MS = 30_000;
/** Context of a request that another router sent: not known, here that of a short chat. */
const FOREIGN_CONTEXT_TOKENS = 1024;

/** What this decision adds to what is known of an endpoint. */
export interface ViewInput {
  readonly cachedTokens: number;
  readonly nowMs: number;
  /** Seed rates instead of learned ones, so that an endpoint once found slow is tried again. */
  readonly usesSeeds: boolean;
}

/**
 * An endpoint's numbers at one moment. The router's own ledger says what it sent; a scrape only corrects it by what it did not send,
 * with less weight the older it is, so that a stale or missing scrape degrades nothing.
 */
export function candidateOf(live: LiveEndpoint, { cachedTokens, nowMs, usesSeeds }: ViewInput): Candidate {
  const { ledger, scraped, capacity } = live;
  const learnedTokensPerSecond = live.rates.prefillTokensPerSecond(nowMs);
  const prefillTokensPerSecond = usesSeeds ? capacity.prefillTokensPerSecond : learnedTokensPerSecond;
  const decode = usesSeeds
    ? {
        baseSeconds: capacity.decodeBaseSeconds,
        perSequenceSeconds: capacity.decodePerSequenceSeconds,
        perContextTokenSeconds: capacity.decodePerContextTokenSeconds,
      }
    : live.rates.decode(nowMs);
  const weight = scraped.weight(nowMs);
  const last = scraped.scrape;
  const kvCapacity = live.kvCapacityTokens;
  const foreign = foreignSequences(live, nowMs);
  let kvDrift = 0;
  if (last !== undefined) {
    const { kvUsage } = last.observation;
    if (kvUsage !== undefined) kvDrift = kvUsage - last.ownKvTokens / kvCapacity;
  }
  return {
    endpoint: live.endpoint,
    cachedTokens,
    queuedTokens: ledger.queuedTokens(nowMs, learnedTokensPerSecond),
    onFlight: ledger.running + live.elsewhere,
    running: ledger.running + foreign,
    contextTokens: ledger.contextTokens + foreign * FOREIGN_CONTEXT_TOKENS,
    maxNumSeqs: capacity.maxNumSeqs,
    kvUsage: Math.min(1, Math.max(0, ledger.kvTokens / kvCapacity + weight * kvDrift)),
    prefillTokensPerSecond,
    decode,
    scraped: saidBy(live, nowMs),
    models: live.models,
    recentAdapters: live.recentAdapters,
  };
}

const NOTHING_SAID: Candidate['scraped'] = {};

function saidBy({ scraped }: LiveEndpoint, nowMs: number): Candidate['scraped'] {
  const ageMs = scraped.ageMs(nowMs);
  return ageMs === undefined || ageMs > STALE_MS ? NOTHING_SAID : scraped.said;
}
