import type { Endpoint } from '../endpoints/endpoint';
import type { DecodeRate } from '../endpoints/learned-rates';
import type { Said } from '../endpoints/scraped-state';

/** An endpoint as one decision sees it: numbers taken at one moment, that nothing changes afterwards. */
export interface Candidate {
  readonly endpoint: Endpoint;
  /** Prompt tokens of this request that its KV cache is believed to hold. */
  readonly cachedTokens: number;
  /** Uncached tokens that were sent to it and are not yet prefilled. */
  readonly queuedTokens: number;
  /** Requests of this router in flight there. */
  readonly onFlight: number;
  /** Requests believed to be there, those of others included. */
  readonly running: number;
  /** Sequences that its engine runs at one time. */
  readonly maxNumSeqs: number;
  /** Share of its KV cache believed to be in use, 0..1, requests in flight included. */
  readonly kvUsage: number;
  /** Uncached prompt tokens per second, above 0. */
  readonly prefillTokensPerSecond: number;
  readonly decode: DecodeRate;
  /** What its engine said last; undefined where it said nothing. */
  readonly scraped: Said;
}

/** A request as plugins see it. */
export interface ScheduledRequest {
  readonly promptTokens: number;
  /** Output tokens to expect, ≥ 1. */
  readonly expectedOutputTokens: number;
  readonly upstreamModel: string;
  readonly adapter?: string | undefined;
  /** Uniform in [0, 1), drawn once for this decision: the only randomness that a plugin may use. */
  readonly draw: number;
}
