import { prefillRate } from '../../../../runtime/autoscaler/decide/capacity/prefill-rate';
import { goalOfPart, tokenDemand } from '../../../../runtime/autoscaler/decide/capacity/request-part';

const model = { baseMs: 0, perSequenceMs: 0, perPrefillTokenMs: 0.1 };
const mix = { prefillTokens: 1000, promptTokens: 1200, outputTokens: 1 };

describe('what an engine prefills while others decode', () => {
  it('is all that it can where no first token is awaited, and nothing where a lone prompt is too slow', () => {
    expect(prefillRate(model, mix, undefined)).toBeCloseTo(10);
    expect(prefillRate(model, mix, { ttftMs: 100, percentile: 95 })).toBe(0);
  });

  it('falls with a tighter goal, longer prompts and a higher percentile', () => {
    const rate = prefillRate(model, mix, { ttftMs: 1000, percentile: 95 });
    expect(prefillRate(model, mix, { ttftMs: 700, percentile: 95 })).toBeLessThan(rate);
    expect(prefillRate(model, mix, { ttftMs: 1000, percentile: 99 })).toBeLessThan(rate);
    expect(prefillRate(model, { ...mix, prefillTokens: 1500 }, { ttftMs: 1000, percentile: 95 }) * 1.5).toBeLessThan(rate);
  });
});

describe('the part of a role in a latency goal', () => {
  it('is the first token for prefill and those after it for decode', () => {
    const goal = { ttftMs: 2000, itlMs: 60, percentile: 95 };
    expect(goalOfPart('prefill', goal)).toEqual({ ttftMs: 2000, percentile: 95 });
    expect(goalOfPart('decode', goal)).toEqual({ itlMs: 60, percentile: 95 });
    expect(goalOfPart('decode', { ttftMs: 2000, percentile: 95 })).toBeUndefined();
  });

  it('is needed for the tokens that arrive, and those that wait within a minute', () => {
    const window = {
      spanMs: 60_000,
      ranks: 1,
      decodeTokens: 0,
      decodeMs: 0,
      prefillTokens: 60_000,
      promptTokens: 72_000,
      outputTokens: 30_000,
      finished: 60,
      running: [2, 2],
      waiting: [0, 6],
    } as const;
    expect(tokenDemand('prefill', window, mix)).toBeCloseTo(1000 + 100 + 100);
    expect(tokenDemand('decode', window, { ...mix, outputTokens: 500 })).toBeCloseTo(500 * (66 / 60 + 6 / 60));
  });
});
