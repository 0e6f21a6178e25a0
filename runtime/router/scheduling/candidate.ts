import type { OwnedBlocks } from '../cache/owned-blocks';
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
  /** Requests in flight there, of this router and of those that it hears from. */
  readonly onFlight: number;
  /** Requests believed to be there, those of others included. */
  readonly running: number;
  /** Tokens that the decodes of those requests attend to. */
  readonly contextTokens: number;
  /** Sequences that its engine runs at one time. */
  readonly maxNumSeqs: number;
  /** Share of its KV cache believed to be in use, 0..1, requests in flight included. */
  readonly kvUsage: number;
  /** Uncached prompt tokens per second, above 0. */
  readonly prefillTokensPerSecond: number;
  readonly decode: DecodeRate;
  /** What its engine said last; undefined where it said nothing. */
  readonly scraped: Said;
  /** Models and adapters that its engine lists; undefined where it was not asked, or did not say. */
  readonly models?: ReadonlySet<string> | undefined;
  /** Adapters that were used there, the last one first; those of other routers as far as the engine tells. @default none */
  readonly recentAdapters?: readonly string[];
  /** Prompt tokens whose KV another engine hands over; they count as cached. @default 0 */
  readonly remoteTokens?: number;
  /** How long that takes. @default 0 */
  readonly linkSeconds?: number;
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
  /** Id of the endpoint that its session is bound to. */
  readonly preferred?: string | undefined;
  /** What a store of KV blocks says of its prompt; undefined where nobody asked, or it did not answer in time. */
  readonly ownedBlocks?: OwnedBlocks | undefined;
}

/** Tokens that a request's decode attends to: its prompt, and half of its answer on average. */
export function contextTokensOf({ promptTokens, expectedOutputTokens }: ScheduledRequest): number {
  return promptTokens + expectedOutputTokens / 2;
}
