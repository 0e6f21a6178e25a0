import type { AttemptExplanation } from '../scheduling/attempts';

/** Why one attempt went where it went. */
export interface Decision {
  /** RFC 3339. */
  readonly at: string;
  readonly requestId: string;
  readonly model: string;
  readonly endpoint: string;
  readonly predictedCachedTokens: number;
  readonly expectedTtftMs: number;
  readonly explanation: AttemptExplanation;
}

const INTERVAL_MS = 20;

/** The last decisions, for the debug port. */
export class DecisionRing {
  private readonly entries: (Decision | undefined)[];
  private next = 0;
  private lastMs = Number.NEGATIVE_INFINITY;

  /** @param size 0 keeps none. */
  constructor(readonly size: number) {
    this.entries = new Array<Decision | undefined>(size).fill(undefined);
  }

  /**
   * Whether a decision made now is to be explained and added. Explaining costs time for each candidate, and an explanation kept for
   * later would keep the prompt alive, so a busy router keeps one decision in each 20 ms.
   */
  wants(nowMs: number): boolean {
    if (this.size === 0 || nowMs - this.lastMs < INTERVAL_MS) return false;
    this.lastMs = nowMs;
    return true;
  }

  add(decision: Decision): void {
    if (this.size === 0) return;
    this.entries[this.next] = decision;
    this.next = (this.next + 1) % this.size;
  }

  /** Newest first. */
  list(): readonly Decision[] {
    const ordered = [...this.entries.slice(this.next), ...this.entries.slice(0, this.next)];
    return ordered.filter((entry) => entry !== undefined).reverse();
  }
}
