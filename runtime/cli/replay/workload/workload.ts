/** One request as router and engine see it: bytes for the one, keys of KV blocks for the other. */
export interface ReplayedRequest {
  /** From the end of the answer before in its session (from the session's start for the first) to sending, in milliseconds. */
  readonly thinkMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** What the request itself says about its answer's length; absent where clients leave that to the model. */
  readonly maxOutputTokens?: number;
  /** What of the body the router takes for the prompt. Made when asked for: a trace's prompts together fill the memory. */
  promptSpan(): Buffer;
  /**
   * Keys of the full KV blocks of prompt and output together: equal keys mean equal content from the start.
   *
   * @param blockSize tokens per block.
   */
  blockKeys(blockSize: number): (index: number) => number;
}

/** Requests of one client, each sent after the answer to the one before. */
export interface ReplayedSession {
  /** From the start of the workload, in milliseconds. */
  readonly startMs: number;
  readonly requests: readonly ReplayedRequest[];
}

/** What is sent in a replay. Policies are compared by sending them the same one. */
export interface Workload {
  readonly sessions: readonly ReplayedSession[];
  /** Requests in flight at one time; further ones wait at the client, in order, and their time counts from sending. @default no bound */
  readonly concurrency?: number;
}
