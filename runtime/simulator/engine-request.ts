import type { RemoteKv } from './remote-kv';
import type { RetainedBlocks } from './retained-blocks';

/**
 * One request to the engine core. Content is given as block keys, so that a trace with block hashes costs no token ids: two requests
 * share KV of block i exactly when their keys 0..i are equal.
 */
export interface EngineRequest {
  readonly id: string;
  /** Tokens of the prompt, ≥ 1. */
  readonly promptTokens: number;
  /** Tokens that will be generated unless the request is aborted, ≥ 1. */
  readonly outputTokens: number;
  /** Key of the i-th full block of prompt and output together, chained: equal keys mean equal content from the start. */
  blockKey(index: number): number;
  /** Adapter name; undefined for the base model. */
  readonly adapter?: string;
  /** For whom it is; only counts what one tenant found in the cache that another one had put there. */
  readonly tenant?: string;
  /** KV of the prompt that lies outside of this engine and is fetched before the first step. */
  readonly remoteKv?: RemoteKv;
  /** Whether its blocks outlive it: a finished one's outcome holds them until they are released. */
  readonly retainsBlocks?: boolean;
  /** Called in core time, once for each generated token, the first at the end of prefill. `atMs` is the core's clock. */
  onToken(index: number, atMs: number): void;
  /** Called once when the request ends; nothing is called after it. */
  onEnd(outcome: EngineOutcome): void;
}

/** How a request left the core. */
export interface EngineOutcome {
  /** `loadFailed`: its remote KV did not arrive. */
  readonly kind: 'finished' | 'aborted' | 'killed' | 'loadFailed';
  readonly atMs: number;
  /** Prompt tokens that were found in the prefix cache when the request was first scheduled. */
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  readonly preemptions: number;
  /** Of a finished request that retains its blocks. */
  readonly retained?: RetainedBlocks;
}
