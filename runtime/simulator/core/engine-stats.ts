/** What an engine core says of itself at one moment. Counters only grow; they count from the core's start. */
export interface EngineStats {
  /** Requests that are computed now, prefill or decode. */
  readonly running: number;
  /** Requests that wait, preempted ones included. */
  readonly waiting: number;
  /** Of `waiting`, those that wait for an adapter slot. */
  readonly deferred: number;
  /** Share of the KV blocks that requests use, 0..1. */
  readonly kvUsage: number;
  readonly usedBlocks: number;
  /** Blocks that requests can use. */
  readonly totalBlocks: number;
  /** Adapters of running requests, sorted. */
  readonly runningAdapters: readonly string[];
  /** Adapters of waiting requests, sorted. */
  readonly waitingAdapters: readonly string[];
  readonly submitted: number;
  readonly finished: number;
  readonly aborted: number;
  readonly killed: number;
  readonly preemptions: number;
  readonly steps: number;
  /** Milliseconds that steps took together. */
  readonly busyMs: number;
  /** Prompt tokens of admitted requests. */
  readonly promptTokens: number;
  /** Of `promptTokens`, those found in the prefix cache. */
  readonly cachedTokens: number;
  /** Prompt tokens computed, with those computed again after a preemption. */
  readonly prefilledTokens: number;
  readonly generatedTokens: number;
  /** Tokens still computed for requests after they were aborted: the rest of the step that ran at that moment. */
  readonly wastedTokens: number;
  /** Tokens that had been generated for requests that were then aborted or killed. */
  readonly abandonedTokens: number;
}
