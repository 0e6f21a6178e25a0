import type { ChatResult } from '../load/chat-client';
import { type LatencySummary, summarize } from '../replay/latency-summary';

/** Adds up the answers that the demo's clients got. */
export class DemoTally {
  private readonly ttftsMs: number[] = [];
  private readonly conversations = new Set<string>();
  private readonly messages = new Map<string, number>();
  private sent = 0;
  private failed = 0;
  private cachedTokens = 0;
  private promptTokens = 0;
  private outputTokens = 0;

  /** @param conversation a name that is its own over all rounds. */
  add(result: ChatResult, conversation: string): void {
    this.sent += 1;
    this.conversations.add(conversation);
    if (result.error !== undefined) {
      this.failed += 1;
      this.messages.set(result.error, (this.messages.get(result.error) ?? 0) + 1);
      return;
    }
    if (!Number.isNaN(result.ttftMs)) this.ttftsMs.push(result.ttftMs);
    this.outputTokens += result.completionTokens;
    if (result.cachedTokens !== undefined) {
      this.cachedTokens += result.cachedTokens;
      this.promptTokens += result.promptTokens;
    }
  }

  summary(): DemoSummary {
    return {
      requests: this.sent,
      conversations: this.conversations.size,
      errors: this.failed,
      errorMessages: Object.fromEntries(this.messages),
      ttftMs: summarize(this.ttftsMs),
      cacheHitRatio: this.promptTokens === 0 ? null : this.cachedTokens / this.promptTokens,
      outputTokens: this.outputTokens,
    };
  }
}

export interface DemoSummary {
  readonly requests: number;
  readonly conversations: number;
  readonly errors: number;
  /** Error message → how many requests ended with it. */
  readonly errorMessages: Readonly<Record<string, number>>;
  /** As clients saw it, in milliseconds of the demo's clock. */
  readonly ttftMs: LatencySummary;
  /** Prompt tokens found in an engine's cache ÷ prompt tokens; null when no engine told. */
  readonly cacheHitRatio: number | null;
  readonly outputTokens: number;
}
