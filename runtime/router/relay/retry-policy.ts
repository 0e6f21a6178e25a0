import type { ExchangeOutcome } from './exchange-outcome';

/** What a ModelServer and the configuration say about further attempts. */
export interface RetryRules {
  /** Further attempts after the first. */
  readonly attempts: number;
  readonly intervalMs: number;
  readonly statuses: ReadonlySet<number>;
}

/** What happened to one request so far. */
export interface RetryState {
  /** Further attempts already made. */
  readonly made: number;
  /** Endpoints that failed on the body after it was sent: reset or 5xx. */
  readonly failures: number;
  /** The client asked for an adapter, which may be loaded on some endpoints only. */
  readonly isAdapter: boolean;
}

export type RetryDecision = 'elsewhere' | 'stop';

/** An attempt that ended before anything reached the client. */
export type UnansweredOutcome = Extract<ExchangeOutcome, { kind: 'refused' | 'failed' }>;

/** Endpoints that one body may fail on after it was sent. */
const MAX_FAILURES = 2;

/** Decides whether an attempt is followed by another. Pure. */
export function decideRetry(outcome: UnansweredOutcome, rules: RetryRules, state: RetryState): RetryDecision {
  if (state.made >= rules.attempts) return 'stop';
  if (state.failures + (failsOnBody(outcome) ? 1 : 0) >= MAX_FAILURES) return 'stop';
  if (outcome.kind === 'failed') return 'elsewhere';
  const isWorthIt = outcome.isDraining || rules.statuses.has(outcome.status) || (outcome.status === 404 && state.isAdapter);
  return isWorthIt ? 'elsewhere' : 'stop';
}

/** Whether an endpoint failed after it had the body, so that the body itself may be the cause. */
export function failsOnBody(outcome: UnansweredOutcome): boolean {
  if (outcome.kind === 'failed') return outcome.phase === 'sent';
  return outcome.status >= 500 && !outcome.isDraining;
}

/** Whether an endpoint seems to have died of the body. */
export function losesEndpoint(outcome: UnansweredOutcome): boolean {
  return outcome.kind === 'failed' ? outcome.phase === 'sent' && outcome.isReset : outcome.isDead;
}
