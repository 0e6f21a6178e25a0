import type { OwnedBlocks } from '../cache/owned-blocks';
import type { Endpoint } from '../endpoints/endpoint';

/** Where an attempt goes; a provider has no pod. */
export interface AttemptEndpoint extends Pick<Endpoint, 'id' | 'host' | 'port'> {
  readonly pod?: Endpoint['pod'];
}

/** What scheduling needs to know of one request. */
export interface SchedulingRequest {
  /** `namespace/name` of the ModelServer. */
  readonly modelServer: string;
  /** Model name that is sent upstream. */
  readonly upstreamModel: string;
  /** As the client named it; metrics do. @default as it is sent upstream */
  readonly model?: string | undefined;
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
  /** Id of the only endpoint that can serve it; undefined for any. */
  readonly only?: string | undefined;
  /** Id of the endpoint that its session is bound to; another one serves it when that one cannot. */
  readonly preferred?: string | undefined;
  /** `namespace/name` of the ModelRoute. */
  readonly route?: string | undefined;
  /** What a store of KV blocks says of its prompt. */
  readonly ownedBlocks?: OwnedBlocks | undefined;
  /** First release of an engine that may serve it. @default any */
  readonly sinceRelease?: string | undefined;
  /** The `cache_salt` that is sent. */
  readonly cacheSalt?: string | undefined;
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
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** How long the upstream asked to be left alone. */
      readonly retryAfterMs?: number | undefined;
    }
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
  /** Where prefill and decode are apart: the cheapest pair of each group, and decode alone where that was possible. */
  readonly pairs?: readonly PairExplanation[];
  /** Candidates of the picked pair's prefill leg; `candidates` are those of its decode leg. */
  readonly prefill?: Omit<AttemptExplanation, 'profile' | 'pairs' | 'prefill'>;
  /** Where the session was before, for a request that has one. */
  readonly session?: { readonly endpoint: string; readonly outcome: 'kept' | 'moved' };
}

export interface PairExplanation {
  /** Absent: decode computes the prompt itself. */
  readonly prefill?: string;
  readonly decode: string;
  readonly group?: string;
  readonly cost: number;
}

/** Why an endpoint was picked: it was the only one left; the session was there; it was the cheapest; the draw among equals; as a pair. */
export type ChosenBy = 'sole' | 'session' | 'cost' | 'tie' | 'pair';

/**
 * One dispatch to one endpoint. It holds a ledger entry and pending index entries from its making on; `settle` gives everything back
 * and may be called from any path, the first call counts.
 */
export interface Attempt<Where extends AttemptEndpoint = Endpoint> {
  readonly endpoint: Where;
  /** undefined where nothing is known of the upstream's cache. */
  readonly predictedCachedTokens: number | undefined;
  readonly expectedTtftMs: number | undefined;
  /** In a word, why this endpoint; undefined where nothing was weighed. */
  readonly chosenBy?: ChosenBy;
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
