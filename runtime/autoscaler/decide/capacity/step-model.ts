/** How long one engine step takes, as far as an engine's metrics tell: base + decoding sequences + uncached prompt tokens. Milliseconds. */
export interface StepModel {
  /** α: of any step. */
  readonly baseMs: number;
  /** β: per sequence that decodes in it; the KV that a sequence of the present mix reads is in here. */
  readonly perSequenceMs: number;
  /** γ: per uncached prompt token in it. */
  readonly perPrefillTokenMs: number;
}

/** What requests are like on the mean. */
export interface TrafficMix {
  /** Prompt tokens that no cache had. */
  readonly prefillTokens: number;
  /** Tokens generated, ≥ 1. */
  readonly outputTokens: number;
  /** Prompt tokens, cached ones included. */
  readonly promptTokens: number;
}
