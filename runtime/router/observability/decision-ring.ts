import type { AttemptExplanation, AttemptOutcome } from '../scheduling/attempts';

/** Why one attempt went where it went. No prompt text. */
export interface Decision {
  /** RFC 3339. */
  readonly at: string;
  readonly requestId: string;
  /** As the client named it. */
  readonly model: string;
  /** `namespace/name` of the ModelRoute. */
  readonly modelRoute: string | undefined;
  /** 1 for the first attempt of a request. */
  readonly attempt: number;
  readonly endpoint: string;
  readonly promptTokens: number;
  /** How long it waited for room before; undefined when it did not. */
  readonly queuedMs: number | undefined;
  readonly predictedCachedTokens: number | undefined;
  readonly expectedTtftMs: number | undefined;
  readonly explanation: AttemptExplanation;
  /** What became of it; absent while it is under way. */
  result?: DecisionResult;
}

/** How an attempt went, beside what was expected of it. */
export interface DecisionResult {
  readonly outcome: AttemptOutcome['kind'];
  /** From the attempt's start; undefined for an answer that did not stream. */
  readonly ttftMs: number | undefined;
  readonly promptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
}

const INTERVAL_MS = 20;

/** The last decisions, for the debug port. */
export class DecisionRing {
  private entries: (Decision | undefined)[];
  private next = 0;
  private lastMs = Number.NEGATIVE_INFINITY;

  /** @param size 0 keeps none. */
  constructor(size: number) {
    this.entries = new Array<Decision | undefined>(size).fill(undefined);
  }

  /**
   * Whether a decision made now is to be explained and added. Explaining costs time for each candidate, and an explanation kept for
   * later would keep the prompt alive, so a busy router keeps one decision in each 20 ms.
   */
  wants(nowMs: number): boolean {
    if (this.entries.length === 0 || nowMs - this.lastMs < INTERVAL_MS) return false;
    this.lastMs = nowMs;
    return true;
  }

  add(decision: Decision): void {
    if (this.entries.length === 0) return;
    this.entries[this.next] = decision;
    this.next = (this.next + 1) % this.entries.length;
  }

  /** Newest first. */
  list(): readonly Decision[] {
    const ordered = [...this.entries.slice(this.next), ...this.entries.slice(0, this.next)];
    return ordered.filter((entry) => entry !== undefined).reverse();
  }

  /** Keeps the newest that fit. */
  resize(size: number): void {
    const kept = this.list().slice(0, size).reverse();
    this.entries = [...kept, ...new Array<undefined>(size - kept.length).fill(undefined)];
    this.next = size === 0 ? 0 : kept.length % size;
  }
}
