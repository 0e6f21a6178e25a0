import type { AttemptOutcome } from '../scheduling/attempts';
import type { ExchangeOutcome } from './exchange-outcome';
import { retryAfterMs } from './retry-after';

/** How an attempt is settled whose exchange ended like this. */
export function settlement(outcome: ExchangeOutcome): AttemptOutcome {
  switch (outcome.kind) {
    case 'completed':
      return outcome.usage === undefined ? { kind: 'completed' } : { kind: 'completed', usage: outcome.usage };
    case 'refused':
      return { kind: 'refused', status: outcome.status, retryAfterMs: retryAfterMs(outcome.headers) };
    case 'failed':
    case 'lost':
      return { kind: 'failed', reason: outcome.reason };
    case 'client-left':
      return { kind: 'aborted' };
  }
}
