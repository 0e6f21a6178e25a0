import fc from 'fast-check';
import { TokenBucket } from '../../../../../runtime/router/admission/limits/token-bucket';

const size = { capacity: 60, refillPerSecond: 1 };

describe('a token bucket', () => {
  it('is full at first and fills at its rate up to its capacity', () => {
    const bucket = new TokenBucket(size, 5_000);
    expect(bucket.take(60, 5_000)).toBe(0);
    expect(bucket.available(5_500)).toBe(0.5);
    expect(bucket.available(65_000)).toBe(60);
    expect(bucket.available(9_000_000)).toBe(60);
  });

  it('keeps what is taken beyond its level as debt, and pays it off at its rate', () => {
    const bucket = new TokenBucket(size, 0);
    expect(bucket.take(90, 0)).toBe(-30);
    expect(bucket.available(29_000)).toBe(-1);
    expect(bucket.available(31_000)).toBe(1);
  });

  it('takes back no more than it holds', () => {
    const bucket = new TokenBucket(size, 0);
    bucket.take(10, 0);
    expect(bucket.take(-25, 0)).toBe(60);
  });

  it('keeps its level when its size changes, as far as it fits', () => {
    const bucket = new TokenBucket(size, 0);
    bucket.take(50, 0);
    bucket.resize({ capacity: 600, refillPerSecond: 10 }, 0);
    expect(bucket.available(0)).toBe(10);
    expect(bucket.available(1_000)).toBe(20);
    bucket.resize({ capacity: 5, refillPerSecond: 1 }, 1_000);
    expect(bucket.available(1_000)).toBe(5);
  });

  it('never loses or makes tokens, whatever is taken and given back, and when', () => {
    const step = fc.record({ afterMs: fc.nat(20_000), amount: fc.integer({ min: -40, max: 90 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const bucket = new TokenBucket(size, 0);
        // In thousandths of a token, which whole milliseconds at 1 token a second make whole numbers.
        let exact = 60_000;
        let nowMs = 0;
        for (const { afterMs, amount } of steps) {
          nowMs += afterMs;
          exact = Math.min(60_000, Math.min(60_000, exact + afterMs) - amount * 1000);
          expect(bucket.take(amount, nowMs)).toBeCloseTo(exact / 1000, 6);
        }
      }),
    );
  });
});
