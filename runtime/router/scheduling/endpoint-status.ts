import type { PrefixIndex } from '../cache/prefix-index';
import type { Endpoint } from '../endpoints/endpoint';
import type { LiveEndpoint } from '../endpoints/live-endpoint';

/** One endpoint's numbers for people and gauges. */
export interface EndpointStatus {
  readonly endpoint: Endpoint;
  readonly isAvailable: boolean;
  readonly isEjected: boolean;
  /** Requests in flight there, of this router and of siblings that it hears from. */
  readonly inFlight: number;
  readonly queuedTokens: number;
  readonly kvUsage: number | undefined;
  readonly running: number | undefined;
  readonly waiting: number | undefined;
  /** Averages between the last two scrapes in which there was one. */
  readonly timeToFirstTokenSeconds: number | undefined;
  readonly interTokenLatencySeconds: number | undefined;
  /** Models and adapters that its engine lists; undefined where nobody asked. */
  readonly models: readonly string[] | undefined;
  readonly scrapeAgeMs: number | undefined;
  readonly prefillTokensPerSecond: number;
  /** Bytes of prompt that its cache is believed to hold. */
  readonly indexedBytes: number;
}

export function statusOf(live: LiveEndpoint, index: PrefixIndex, nowMs: number): EndpointStatus {
  const prefillTokensPerSecond = live.rates.prefillTokensPerSecond(nowMs);
  const observation = live.scraped.scrape?.observation;
  return {
    endpoint: live.endpoint,
    isAvailable: live.isAvailable,
    isEjected: live.outlier.ejectedSinceMs(nowMs) !== undefined,
    inFlight: live.ledger.running,
    queuedTokens: live.ledger.queuedTokens(nowMs, prefillTokensPerSecond),
    kvUsage: observation?.kvUsage,
    running: observation?.running,
    waiting: observation?.waiting,
    timeToFirstTokenSeconds: live.scraped.timeToFirstTokenSeconds,
    interTokenLatencySeconds: live.scraped.interTokenLatencySeconds,
    models: live.models === undefined ? undefined : [...live.models].sort(),
    scrapeAgeMs: live.scraped.ageMs(nowMs),
    prefillTokensPerSecond,
    indexedBytes: index.heldBytes(live.endpoint.slot),
  };
}
