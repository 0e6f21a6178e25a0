import type { Clock } from '../../lib/clock';
import type { OutlierEjection } from '../endpoints/outlier-ejection';
import type { Attempt, AttemptEndpoint, AttemptExplanation, AttemptOutcome } from '../scheduling/attempts';

/** Statuses of a provider that has too much to do, which is not to be broken. */
const BUSY: ReadonlySet<number> = new Set([503, 529]);

/** Hears how a provider answers. */
export interface ProviderAnswerListener {
  /** The client has something of the answer. @param tookMs since it was asked. */
  readonly answering: (tookMs: number) => void;
  readonly completed: (outputTokens: number) => void;
}

/** One request to a provider: nothing is known of its load or its cache, only whether it answers. */
export class ProviderAttempt implements Attempt<AttemptEndpoint> {
  readonly predictedCachedTokens = undefined;
  readonly expectedTtftMs = undefined;
  private isSettled = false;
  private isAnswering = false;
  private readonly startedMs: number;

  constructor(
    readonly endpoint: AttemptEndpoint,
    private readonly outlier: OutlierEjection,
    private readonly clock: Clock,
    private readonly told: ProviderAnswerListener,
  ) {
    this.startedMs = clock.monotonic();
    outlier.dispatched(this.startedMs);
  }

  explain(): AttemptExplanation {
    return { profile: 'external-provider', candidates: [], removed: {} };
  }

  firstToken(): void {
    this.answering();
  }

  settle(outcome: AttemptOutcome): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const nowMs = this.clock.monotonic();
    if (outcome.kind === 'completed') {
      this.answering();
      if (outcome.usage !== undefined) this.told.completed(outcome.usage.completionTokens);
      this.outlier.succeeded();
    } else if (outcome.kind === 'failed') this.outlier.failed(nowMs);
    else if (outcome.kind === 'refused' && outcome.status >= 500 && !BUSY.has(outcome.status)) this.outlier.failed(nowMs);
    else this.outlier.inconclusive(nowMs);
  }

  private answering(): void {
    if (this.isAnswering) return;
    this.isAnswering = true;
    this.told.answering(this.clock.monotonic() - this.startedMs);
  }
}
