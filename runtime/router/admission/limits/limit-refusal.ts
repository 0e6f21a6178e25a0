import { RouterError, type RouterErrorCode } from '../../errors';
import { msUntil, type Quantity } from './limit';
import type { Demand } from './limit-store';

const CODES: Readonly<Record<Quantity, RouterErrorCode>> = {
  input: 'input_rate_limit',
  output: 'output_rate_limit',
  requests: 'request_rate_limit',
};
const NOUNS: Readonly<Record<Quantity, string>> = {
  input: 'input token rate limit exceeded',
  output: 'output token rate limit exceeded',
  requests: 'request rate limit exceeded',
};

/** A request that is over a limit. */
export interface LimitRefusal {
  readonly quantity: Quantity;
  readonly error: RouterError;
  /** It would be over it at any time. */
  readonly isFinal: boolean;
}

/** Why demands were refused: of all limits that were in the way, the one that is so for longest. @param levels what each bucket held. */
export function limitRefusal(demands: readonly Demand[], levels: readonly number[]): LimitRefusal {
  const over = demands
    .map((demand, i) => ({ ...demand, level: levels[i]! }))
    .filter(({ need, level }) => level < need)
    .map((each) => ({ ...each, waitMs: msUntil(each.limit, each.level, each.need) }))
    .sort((a, b) => b.waitMs - a.waitMs);
  const { limit, need, level, waitMs } = over[0]!;
  const { quantity, owner, unit, size } = limit;
  const allowed = `${owner} may use ${size.capacity} per ${unit}`;
  if (waitMs === Number.POSITIVE_INFINITY) {
    const error = new RouterError('prompt_over_limit', `${NOUNS[quantity]}: ${allowed}, and this request needs about ${need}`);
    return { quantity, error, isFinal: true };
  }
  const left = `${Math.max(0, Math.floor(level))} are left`;
  const what = `${NOUNS[quantity]}: ${allowed}, ${left}${quantity === 'input' ? ` and this request needs about ${need}` : ''}`;
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return { quantity, error: new RouterError(CODES[quantity], what, null, retryAfterSeconds), isFinal: false };
}
