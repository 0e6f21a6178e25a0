import type { Endpoint } from '../endpoints/endpoint';

/** What scheduling needs to know of one request. */
export interface SchedulingRequest {
  /** `namespace/name` of the ModelServer. */
  readonly modelServer: string;
  /** Model name that is sent upstream. */
  readonly upstreamModel: string;
  /** Adapter name when the client asked for one. */
  readonly adapter?: string | undefined;
  /** Bytes of the request that make up its prompt, in order; spans of the received body where possible. */
  readonly promptSpans: readonly Uint8Array[];
  /** Estimated prompt tokens, ≥ 1. */
  readonly promptTokens: number;
  /** `max_tokens` or `max_completion_tokens` when given. */
  readonly maxOutputTokens?: number | undefined;
  /** Whether the answer streams, so that its first byte shows the end of prefill. */
  readonly streams: boolean;
}

export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** undefined when the engine does not say: unknown is not zero. */
  readonly cachedTokens?: number;
}

/** How one attempt at an upstream ended. */
export type AttemptOutcome =
  | { readonly kind: 'completed'; readonly usage?: TokenUsage }
  /** The upstream answered with an error status before anything reached the client. */
  | { readonly kind: 'refused'; readonly status: number }
  /** Connect error, reset, timeout or a cut stream. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** The client left. */
  | { readonly kind: 'aborted' };

export interface AttemptExplanation {
  readonly profile: string;
  readonly candidates: readonly {
    readonly endpoint: string;
    /** Term name → value, in the profile's unit (seconds for `expected-latency`). */
    readonly terms: Readonly<Record<string, number>>;
    readonly cost: number;
    readonly cachedTokens: number;
  }[];
  /** Filter name → endpoints that it removed. */
  readonly removed: Readonly<Record<string, readonly string[]>>;
  /** Age in ms of the picked endpoint's scrape; undefined when there was none. */
  readonly scrapeAgeMs?: number;
}

/**
 * One dispatch to one endpoint. It holds a ledger entry and pending index entries from its making on; `settle` gives everything back
 * and may be called from any path, the first call counts.
 */
export interface Attempt {
  readonly endpoint: Endpoint;
  readonly predictedCachedTokens: number;
  readonly expectedTtftMs: number;
  /** Why this endpoint: terms per candidate and what each filter removed. */
  explain(): AttemptExplanation;
  /** The first byte of a streamed answer arrived: prefill is over. */
  firstToken(): void;
  settle(outcome: AttemptOutcome): void;
}

export type NextAttempt =
  | { readonly kind: 'attempt'; readonly attempt: Attempt }
  /** Nobody can take it now. `no-endpoints`: the server has no ready pod; `filtered`: all were filtered out; `excluded`: all were tried. */
  | { readonly kind: 'none'; readonly reason: 'no-endpoints' | 'filtered' | 'excluded'; readonly message: string };

/** Scores the live snapshot for each attempt of one request. */
export interface Attempts {
  /** @param excluded ids of endpoints that this request must not use again. */
  next(request: SchedulingRequest, excluded: ReadonlySet<string>): NextAttempt;
}
