import type { Clock } from '../../lib/clock';
import type { OutlierEjection } from '../endpoints/outlier-ejection';
import type { Attempt, AttemptEndpoint, AttemptExplanation, AttemptOutcome } from '../scheduling/attempts';

/** Statuses of a provider that has too much to do, which is not to be broken. */
const BUSY: ReadonlySet<number> = new Set([503, 529]);

/** One request to a provider: nothing is known of its load or its cache, only whether it answers. */
export class ProviderAttempt implements Attempt<AttemptEndpoint> {
  readonly predictedCachedTokens = undefined;
  readonly expectedTtftMs = undefined;
  private isSettled = false;

  constructor(
    readonly endpoint: AttemptEndpoint,
    private readonly outlier: OutlierEjection,
    private readonly clock: Clock,
  ) {
    outlier.dispatched(clock.monotonic());
  }

  explain(): AttemptExplanation {
    return { profile: 'external-provider', candidates: [], removed: {} };
  }

  firstToken(): void {
    // Providers have no ledger from which a prompt would be taken.
  }

  settle(outcome: AttemptOutcome): void {
    if (this.isSettled) return;
    this.isSettled = true;
    const nowMs = this.clock.monotonic();
    if (outcome.kind === 'completed') this.outlier.succeeded();
    else if (outcome.kind === 'failed') this.outlier.failed(nowMs);
    else if (outcome.kind === 'refused' && outcome.status >= 500 && !BUSY.has(outcome.status)) this.outlier.failed(nowMs);
    else this.outlier.inconclusive(nowMs);
  }
}
