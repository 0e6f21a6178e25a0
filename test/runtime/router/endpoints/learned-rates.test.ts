import fc from 'fast-check';
import { decodeStepSeconds, LearnedRates } from '../../../../runtime/router/endpoints/learned-rates';

const seed = {
  prefillTokensPerSecond: 10_000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 1e-6,
};

describe('learned rates', () => {
  it('are the seeds before anything was seen', () => {
    const rates = new LearnedRates(seed);
    expect(rates.prefillTokensPerSecond(0)).toBeCloseTo(10_000);
    expect(rates.decode(0).baseSeconds).toBeCloseTo(0.01);
    expect(rates.decode(0).perSequenceSeconds).toBeCloseTo(0.0001);
    expect(rates.decode(0).perContextTokenSeconds).toBeCloseTo(1e-6);
  });

  it('approach what an endpoint shows', () => {
    const rates = new LearnedRates(seed);
    for (let i = 0; i < 50; i++) {
      rates.observePrefill(4000, 4000 / 3000, i * 100);
      const sequences = 1 + (i % 20);
      rates.observeDecode({ sequences, contextTokens: 1000 * sequences }, 0.02 + 0.0022 * sequences, i * 100);
    }
    expect(rates.prefillTokensPerSecond(5000)).toBeGreaterThan(2900);
    expect(rates.prefillTokensPerSecond(5000)).toBeLessThan(3200);
    // Twice the seed in base and slope.
    const rate = rates.decode(5000);
    expect(decodeStepSeconds(rate, { sequences: 10, contextTokens: 10_000 })).toBeGreaterThan(0.038);
    expect(decodeStepSeconds(rate, { sequences: 10, contextTokens: 10_000 })).toBeLessThan(0.043);
    expect(rate.perContextTokenSeconds / rate.perSequenceSeconds).toBeCloseTo(0.01);
  });

  it('return to the seeds with time, so that a slow spell is not for ever', () => {
    const rates = new LearnedRates(seed);
    for (let i = 0; i < 10; i++) rates.observePrefill(1000, 1, 0);
    const slow = rates.prefillTokensPerSecond(0);
    expect(slow).toBeLessThan(2500);
    expect(rates.prefillTokensPerSecond(120_000)).toBeGreaterThan(slow);
    expect(rates.prefillTokensPerSecond(1_200_000)).toBeGreaterThan(9_900);
  });

  it('forget everything on reset', () => {
    const rates = new LearnedRates(seed);
    rates.observePrefill(1000, 10, 0);
    rates.observeDecode({ sequences: 4, contextTokens: 4000 }, 1, 0);
    rates.reset();
    expect(rates.prefillTokensPerSecond(0)).toBeCloseTo(10_000);
    expect(rates.decode(0).baseSeconds).toBeCloseTo(0.01);
  });

  it('are finite, positive and near the seed for every sample', () => {
    const sample = fc.record({ a: fc.double({ noDefaultInfinity: false }), b: fc.double(), afterMs: fc.nat(100_000) });
    fc.assert(
      fc.property(fc.array(sample), (samples) => {
        const rates = new LearnedRates(seed);
        let nowMs = 0;
        for (const { a, b, afterMs } of samples) {
          nowMs += afterMs;
          rates.observePrefill(a, b, nowMs);
          const rate = rates.prefillTokensPerSecond(nowMs);
          expect(rate).toBeGreaterThan(300);
          expect(rate).toBeLessThan(330_000);
        }
      }),
    );
    const decode = fc.record({
      sequences: fc.double({ min: 1, max: 4096, noNaN: true }),
      contextTokens: fc.double({ min: 0, max: 1e8, noNaN: true }),
      seconds: fc.double({ min: 1e-6, max: 100, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(decode, { maxLength: 30 }), (samples) => {
        const rates = new LearnedRates(seed);
        for (const { sequences, contextTokens, seconds } of samples)
          rates.observeDecode({ sequences, contextTokens }, seconds, 0);
        const { baseSeconds, perSequenceSeconds, perContextTokenSeconds } = rates.decode(0);
        expect(Number.isFinite(baseSeconds) && baseSeconds >= 0).toBe(true);
        expect(Number.isFinite(perSequenceSeconds) && perSequenceSeconds >= 0).toBe(true);
        expect(Number.isFinite(perContextTokenSeconds) && perContextTokenSeconds >= 0).toBe(true);
      }),
    );
  });
});
