import type { Metrics } from '../../lib/metrics';

/** Attempts of requests with a session: the first of it, where it was before, or elsewhere. */
export type SessionOutcome = 'new' | 'kept' | 'moved';

/** What became of sticky sessions. */
export class SessionMetrics {
  private readonly attempts;

  constructor(metrics: Metrics) {
    this.attempts = metrics.counter(
      'kvasir_router_session_attempts_total',
      'Attempts of requests with a session, by whether they went where the last one went.',
      ['model_route', 'outcome'],
    );
  }

  bound(route: string, outcome: SessionOutcome): void {
    this.attempts.with(route, outcome).add(1);
  }
}
