import type { RouterMetrics } from '../observability/router-metrics';
import type { MatchedRequest, ReadRequest } from '../request';
import type { Held, Reservations } from '../reservations';
import type { Attempt, AttemptOutcome, Attempts, NextAttempt, SchedulingRequest } from '../scheduling/attempts';

/** An attempt, and the one way to end it. */
export interface HeldAttempt {
  readonly kind: 'attempt';
  readonly attempt: Attempt;
  readonly held: Held<AttemptOutcome>;
}

/** Draws the endpoints of one request, one attempt at a time, from the live view. */
export class AttemptSource {
  private readonly excluded = new Set<string>();

  constructor(
    private readonly attempts: Attempts,
    private readonly request: SchedulingRequest,
    private readonly matched: MatchedRequest,
    private readonly reservations: Reservations,
    private readonly metrics: RouterMetrics,
  ) {}

  next(): HeldAttempt | Extract<NextAttempt, { kind: 'none' }> {
    const next = this.attempts.next(this.request, this.excluded);
    if (next.kind === 'none') return next;
    const { attempt } = next;
    this.excluded.add(attempt.endpoint.id);
    const gauge = this.metrics.upstreamOf(this.matched.destination);
    gauge.add(1);
    const held = this.reservations.take<AttemptOutcome>(
      (outcome) => {
        gauge.add(-1);
        this.metrics.attempt(this.matched.destination, outcome.kind);
        attempt.settle(outcome);
      },
      { kind: 'failed', reason: 'unsettled' },
    );
    return { kind: 'attempt', attempt, held };
  }
}

/** What scheduling needs to know of a request. */
export function schedulingRequest({ parsed }: ReadRequest, matched: MatchedRequest): SchedulingRequest {
  return {
    modelServer: matched.modelServerKey,
    upstreamModel: matched.upstreamModel,
    adapter: matched.isAdapter ? parsed.model : undefined,
    promptSpans: parsed.promptSpans,
    promptTokens: parsed.promptTokens,
    maxOutputTokens: parsed.maxOutputTokens,
    streams: parsed.streams,
  };
}
