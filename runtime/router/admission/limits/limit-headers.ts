import { formatDuration } from '../../../../src/duration';
import { type Limit, msUntil, type Quantity } from './limit';

const NAMES: Readonly<Record<Quantity, string>> = { requests: 'requests', input: 'input-tokens', output: 'output-tokens' };

/** A limit and what its bucket holds. */
export interface LimitLevel {
  readonly limit: Limit;
  readonly level: number;
}

/**
 * `x-ratelimit-{limit,remaining,reset}-{requests,input-tokens,output-tokens}`: of several limits on one thing the one with the least left.
 * `-tokens` without a word before it, which clients of OpenAI look for, is the token limit of which the least share is left. Resets are
 * durations until the bucket is full, as OpenAI writes them.
 *
 * @returns name, value, name, value.
 */
export function limitHeaders(levels: readonly LimitLevel[]): string[] {
  const nearest: Partial<Record<Quantity, LimitLevel>> = {};
  for (const each of levels) {
    const before = nearest[each.limit.quantity];
    if (before === undefined || each.level < before.level) nearest[each.limit.quantity] = each;
  }
  const headers: string[] = [];
  for (const quantity of ['requests', 'input', 'output'] as const) {
    const level = nearest[quantity];
    if (level !== undefined) add(headers, NAMES[quantity], level);
  }
  const { input, output } = nearest;
  const tokens = input === undefined || (output !== undefined && share(output) < share(input)) ? output : input;
  if (tokens !== undefined) add(headers, 'tokens', tokens);
  return headers;
}

const share = ({ limit, level }: LimitLevel): number => level / limit.size.capacity;

function add(headers: string[], name: string, { limit, level }: LimitLevel): void {
  const { capacity } = limit.size;
  headers.push(`x-ratelimit-limit-${name}`, String(capacity));
  headers.push(`x-ratelimit-remaining-${name}`, String(Math.max(0, Math.floor(level))));
  headers.push(`x-ratelimit-reset-${name}`, formatDuration(Math.ceil(msUntil(limit, level, capacity))));
}
