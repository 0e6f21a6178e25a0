/** Output tokens to expect before anything was seen: about the mean answer of public chat traces. */
const FIRST_ESTIMATE_TOKENS = 256;
/** Weight of the newest answer in the running average. */
const NEWEST_WEIGHT = 0.05;
/** Keys kept at most; those of the last half of them that were seen are always kept. */
const MAX_KEYS = 10_000;

/** How long answers have been, by key (a route's target and model). */
export class OutputEstimate {
  // Two generations instead of one map in order of use: a key would have to be removed and set again for each answer.
  private recent = new Map<string, number>();
  private older: ReadonlyMap<string, number> = new Map();

  /** Output tokens to expect, ≥ 1. @param maxTokens what the request allows at most. */
  expectedTokens(key: string, maxTokens: number | undefined): number {
    const average = this.averageOf(key) ?? FIRST_ESTIMATE_TOKENS;
    return Math.max(1, maxTokens !== undefined && Number.isFinite(maxTokens) ? Math.min(average, maxTokens) : average);
  }

  observe(key: string, tokens: number): void {
    if (!(tokens >= 0) || !Number.isFinite(tokens)) return;
    const before = this.averageOf(key);
    if (this.recent.size >= MAX_KEYS / 2 && !this.recent.has(key)) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, before === undefined ? tokens : before + NEWEST_WEIGHT * (tokens - before));
  }

  private averageOf(key: string): number | undefined {
    return this.recent.get(key) ?? this.older.get(key);
  }
}
