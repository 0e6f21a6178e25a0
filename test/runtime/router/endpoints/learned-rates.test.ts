import fc from 'fast-check';
import { LearnedRates } from '../../../../runtime/router/endpoints/learned-rates';

const seed = { prefillTokensPerSecond: 10_000, decodeBaseSeconds: 0.01, decodePerSequenceSeconds: 0.0001 };

describe('learned rates', () => {
  it('are the seeds before anything was seen', () => {
    const rates = new LearnedRates(seed);
    expect(rates.prefillTokensPerSecond(0)).toBeCloseTo(10_000);
    expect(rates.decode(0).baseSeconds).toBeCloseTo(0.01);
    expect(rates.decode(0).perSequenceSeconds).toBeCloseTo(0.0001);
  });

  it('approach what an endpoint shows', () => {
    const rates = new LearnedRates(seed);
    for (let i = 0; i < 50; i++) {
      rates.observePrefill(4000, 4000 / 3000, i * 100);
      const sequences = 1 + (i % 20);
      rates.observeDecode(sequences, 0.02 + 0.0005 * sequences, i * 100);
    }
    expect(rates.prefillTokensPerSecond(5000)).toBeGreaterThan(2900);
    expect(rates.prefillTokensPerSecond(5000)).toBeLessThan(3200);
    const { baseSeconds, perSequenceSeconds } = rates.decode(5000);
    expect(baseSeconds + 10 * perSequenceSeconds).toBeCloseTo(0.025, 2);
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
    rates.observeDecode(4, 1, 0);
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
      seconds: fc.double({ min: 1e-6, max: 100, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(decode, { maxLength: 30 }), (samples) => {
        const rates = new LearnedRates(seed);
        for (const { sequences, seconds } of samples) rates.observeDecode(sequences, seconds, 0);
        const { baseSeconds, perSequenceSeconds } = rates.decode(0);
        expect(Number.isFinite(baseSeconds) && baseSeconds >= 0).toBe(true);
        expect(Number.isFinite(perSequenceSeconds) && perSequenceSeconds >= 0).toBe(true);
      }),
    );
  });
});
