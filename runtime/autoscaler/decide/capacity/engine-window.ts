/** What one engine did between two readings of its metrics. Counts are increases. */
export interface EngineWindow {
  readonly spanMs: number;
  /** Data-parallel ranks, each of which does steps of its own. */
  readonly ranks: number;
  /** Steps; absent where the engine does not count them. */
  readonly steps?: number;
  /** Decoding sequences, summed over steps: tokens that followed another one. */
  readonly decodeTokens: number;
  /** Time from token to token, summed over tokens: the integral of the decoding batch over the time. */
  readonly decodeMs: number;
  /** Prompt tokens that no cache had. */
  readonly prefillTokens: number;
  /** Prompt tokens, cached ones included. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Requests that ended. */
  readonly finished: number;
  /** Requests in the batch, before and after. */
  readonly running: readonly [number, number];
  /** Requests that wait, before and after. */
  readonly waiting: readonly [number, number];
}
