import { parseFailIf } from '../../../../runtime/cli/replay/fail-if';
import type { PolicyResult } from '../../../../runtime/cli/replay/policy-result';

const summary = { mean: 10, p50: 8, p90: 20, p99: 40 };
const result = (name: string, changes: Partial<PolicyResult> = {}): PolicyResult => ({
  name,
  requests: 100,
  errors: 0,
  ttftMs: summary,
  itlMs: summary,
  e2eMs: summary,
  hitRatio: 0.5,
  tokensPerSecond: 1000,
  requestsPerSecond: 10,
  balance: 1.1,
  load: 0.8,
  sloMissRatio: 0.05,
  cost: null,
  ...changes,
});
const results = new Map([
  ['expected-latency', result('expected-latency', { hitRatio: 0.8 })],
  ['random', result('random', { ttftMs: { ...summary, p90: 30 }, errors: 2 })],
]);

describe('--fail-if', () => {
  it.each([
    ['expected-latency.ttftMs.p90 > 1.01 * random.ttftMs.p90', false],
    ['random.ttftMs.p90 > 1.01 * expected-latency.ttftMs.p90', true],
    ['random.errors > 0', true],
    ['random.errors >= 2', true],
    ['random.errors < 2', false],
    ['expected-latency.hitRatio - random.hitRatio <= 0.2', false],
    ['expected-latency.hitRatio<0.9', true],
    ['2 * (random.itlMs.mean + 5) / 3 >= random.e2eMs.mean', true],
    ['1 - random.hitRatio - 0.5 > 1e-9', false],
    ['random.requests > 10 - 5 - 4', true],
    ['.5 > random.sloMissRatio', true],
  ])('%s holds: %s', (text, holds) => {
    expect(parseFailIf(text).holds(results)).toBe(holds);
  });

  it('holds where a figure is not there, so that nothing measured is no success', () => {
    expect(parseFailIf('random.cost > 1').holds(results)).toBe(true);
    expect(parseFailIf('nobody.errors > 1').holds(results)).toBe(true);
  });

  it('says what it reads', () => {
    const { figures } = parseFailIf('expected-latency.ttftMs.p90 > random.errors');
    expect(figures).toEqual([
      { policy: 'expected-latency', path: ['ttftMs', 'p90'] },
      { policy: 'random', path: ['errors'] },
    ]);
  });

  it.each([
    ['random.ttftMs.p90', 'there is no comparison'],
    ['random.ttftMs.p95 > 1', '"random.ttftMs.p95" names no figure'],
    ['random.ttft > 1', '"random.ttft" names no figure'],
    ['random.ttftMs > 1', '"random.ttftMs" names no figure'],
    ['errors > 1', '"errors" names no figure'],
    ['random.errors > ', 'a figure or a number is missing before the end'],
    ['random.errors > * 2', 'a figure or a number is missing before *'],
    ['(random.errors > 2', 'a closing parenthesis is missing'],
    ['random.errors > 2 3', 'there is something left over: 3'],
    ['random.errors == 2', '"== 2" cannot be read'],
  ])('answers %s with what is wrong', (text, message) => {
    expect(() => parseFailIf(text)).toThrow(message);
  });
});
