/** Output tokens to expect before anything was seen: about the mean answer of public chat traces. */
const FIRST_ESTIMATE_TOKENS = 256;
/** Weight of the newest answer in the running average. */
const NEWEST_WEIGHT = 0.05;
/** Keys kept; the least recently used goes first. */
const MAX_KEYS = 10_000;

/** How long answers have been, by key (a route's target and model). */
export class OutputEstimate {
  private readonly averages = new Map<string, number>();

  /** Output tokens to expect, ≥ 1. @param maxTokens what the request allows at most. */
  expectedTokens(key: string, maxTokens: number | undefined): number {
    const average = this.averages.get(key) ?? FIRST_ESTIMATE_TOKENS;
    return Math.max(1, maxTokens !== undefined && Number.isFinite(maxTokens) ? Math.min(average, maxTokens) : average);
  }

  observe(key: string, tokens: number): void {
    if (!(tokens >= 0) || !Number.isFinite(tokens)) return;
    const before = this.averages.get(key);
    this.averages.delete(key);
    this.averages.set(key, before === undefined ? tokens : before + NEWEST_WEIGHT * (tokens - before));
    if (this.averages.size > MAX_KEYS) this.averages.delete(this.averages.keys().next().value!);
  }
}
