import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { refused } from '../../../../runtime/router/relay/exchange-outcome';
import { Quarantine } from '../../../../runtime/router/relay/quarantine';
import { RetryBudget } from '../../../../runtime/router/relay/retry-budget';
import { decideRetry, losesEndpoint, type UnansweredOutcome } from '../../../../runtime/router/relay/retry-policy';
import { StreamPace } from '../../../../runtime/router/relay/stream-pace';

const rules = { attempts: 2, intervalMs: 100, statuses: new Set([408, 429, 500, 502, 503, 504]) };
const state = { made: 0, failures: 0, isAdapter: false };
const engineSays = (status: number, message = 'x'): UnansweredOutcome =>
  refused(status, [], Buffer.from(JSON.stringify({ error: { message } })));
const failed = (phase: 'connect' | 'sent', isReset: boolean): UnansweredOutcome => ({
  kind: 'failed',
  phase,
  reason: 'r',
  isTimeout: !isReset,
  isReset,
  isIdleClose: false,
});

describe('after an attempt without an answer', () => {
  it.each([
    ['a refused connection', failed('connect', true), {}, 'elsewhere'],
    ['a refused connection on the last attempt', failed('connect', true), { made: 2 }, 'stop'],
    ['a reset', failed('sent', true), {}, 'elsewhere'],
    ['a second reset', failed('sent', true), { failures: 1 }, 'stop'],
    ['a timeout', failed('sent', false), {}, 'elsewhere'],
    ['400', engineSays(400), {}, 'stop'],
    ['404', engineSays(404), {}, 'stop'],
    ['404 for an adapter', engineSays(404), { isAdapter: true }, 'elsewhere'],
    ['429', engineSays(429), {}, 'elsewhere'],
    ['429 after a failure', engineSays(429), { failures: 1 }, 'elsewhere'],
    ['500', engineSays(500), {}, 'elsewhere'],
    ['500 after a failure', engineSays(500), { failures: 1 }, 'stop'],
    ['501', engineSays(501), {}, 'stop'],
    [
      'a draining engine after a failure',
      engineSays(500, 'cannot schedule new futures after shutdown'),
      { failures: 1 },
      'elsewhere',
    ],
  ] as const)('%s with %o: %s', (_name, outcome, changes, expected) => {
    expect(decideRetry(outcome, rules, { ...state, ...changes })).toBe(expected);
  });

  it('only a broken connection and a dead engine count as a lost endpoint', () => {
    expect([failed('sent', true), engineSays(500, 'EngineCore encountered an issue.')].map(losesEndpoint)).toEqual([true, true]);
    expect([failed('connect', true), failed('sent', false), engineSays(500), engineSays(503)].map(losesEndpoint)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('the retry budget', () => {
  it('allows a share of requests over time, and a few at once', () => {
    const budget = new RetryBudget(0.2);
    let further = 0;
    for (let count = 0; count < 10_000; count++) {
      budget.onRequest();
      if (budget.take()) further += 1;
    }
    expect(further).toBeGreaterThanOrEqual(2_000);
    expect(further).toBeLessThanOrEqual(2_010);
  });

  it('of 0 allows none', () => {
    const budget = new RetryBudget(0);
    budget.onRequest();
    expect(budget.take()).toBe(false);
  });
});

it('the quarantine holds the same bytes for its time, and no others', () => {
  const clock = new VirtualClock();
  const quarantine = new Quarantine(clock, 600_000);
  quarantine.add(Buffer.from('a'));
  expect([quarantine.holds(Buffer.from('a')), quarantine.holds(Buffer.from('b'))]).toEqual([true, false]);
  clock.advance(600_000);
  expect(quarantine.holds(Buffer.from('a'))).toBe(false);
});

describe('the pace of a stream', () => {
  it('shortens the silence it allows to 50 of its gaps, never under the floor', () => {
    const slow = new StreamPace(15_000, 60_000);
    const fast = new StreamPace(15_000, 60_000);
    expect(fast.idleMsAfterChunk(0)).toBe(60_000);
    let last = [0, 0];
    for (let count = 1; count < 40; count++) last = [slow.idleMsAfterChunk(count * 500), fast.idleMsAfterChunk(count * 20)];
    expect(last).toEqual([25_000, 15_000]);
  });
});
