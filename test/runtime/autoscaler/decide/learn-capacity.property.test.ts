import fc from 'fast-check';
import type { EngineWindow } from '../../../../runtime/autoscaler/decide/capacity/engine-window';
import {
  type CapacityPrior,
  type LearnedCapacity,
  learnCapacity,
  learnedRate,
  NOTHING_LEARNED,
} from '../../../../runtime/autoscaler/decide/capacity/learn-capacity';
import type { LatencyGoal } from '../../../../runtime/autoscaler/decide/capacity/rate-at-slo';
import type { TrafficMix } from '../../../../runtime/autoscaler/decide/capacity/step-model';

const upTo = (max: number, min = 0) => fc.double({ min, max, noNaN: true });
const ends = fc.tuple(fc.nat(200), fc.nat(200));
const engineWindow: fc.Arbitrary<EngineWindow> = fc.record(
  {
    spanMs: fc.integer({ min: 1, max: 60_000 }),
    ranks: fc.integer({ min: 1, max: 4 }),
    steps: fc.nat(5000),
    decodeTokens: fc.nat(1_000_000),
    decodeMs: upTo(10_000_000),
    prefillTokens: fc.nat(1_000_000),
    promptTokens: fc.nat(1_000_000),
    outputTokens: fc.nat(1_000_000),
    finished: fc.nat(5000),
    running: ends,
    waiting: ends,
  },
  {
    requiredKeys: [
      'spanMs',
      'ranks',
      'decodeTokens',
      'decodeMs',
      'prefillTokens',
      'promptTokens',
      'outputTokens',
      'finished',
      'running',
      'waiting',
    ],
  },
);
const prior: fc.Arbitrary<CapacityPrior> = fc
  .record({
    step: fc.record({ baseMs: upTo(50, 1), perSequenceMs: upTo(2, 0.01), perPrefillTokenMs: upTo(0.5, 0.001) }),
    room: fc.record({ maxSequences: fc.integer({ min: 1, max: 512 }), kvTokens: fc.integer({ min: 1000, max: 1_000_000 }) }),
    ranks: fc.integer({ min: 1, max: 4 }),
    part: fc.constantFrom(undefined, 'prefill' as const, 'decode' as const),
  })
  .map(({ part, ...rest }) => ({ ...rest, ...(part !== undefined && { part }) }));
const mix: fc.Arbitrary<TrafficMix> = fc
  .record({ promptTokens: fc.integer({ min: 1, max: 8000 }), cached: upTo(1), outputTokens: fc.integer({ min: 1, max: 2000 }) })
  .map(({ promptTokens, cached, outputTokens }) => ({
    promptTokens,
    prefillTokens: promptTokens * (1 - cached),
    outputTokens,
  }));
const goal: fc.Arbitrary<LatencyGoal | undefined> = fc.constantFrom(
  undefined,
  { itlMs: 60, percentile: 95 },
  { ttftMs: 2000, percentile: 99 },
  { ttftMs: 500, itlMs: 30, percentile: 50 },
);
const lesson = fc.record({ windows: fc.array(engineWindow, { maxLength: 4 }), mix: fc.option(mix, { nil: undefined, freq: 8 }) });
/** Some that differ, or one over and over. */
const lessons = fc.oneof(
  fc.array(lesson, { minLength: 1, maxLength: 12 }),
  lesson.map((one) => Array.from({ length: 12 }, () => one)),
);

describe('capacity that is learned from any windows', () => {
  it('moves at most 10 % a round, and stays within 0.5 to 2 times the prior', () => {
    const factors: number[] = [];
    fc.assert(
      fc.property(prior, goal, lessons, (before, asked, rounds) => {
        let known: LearnedCapacity = NOTHING_LEARNED;
        for (const { windows, mix: seen } of rounds) {
          const next = learnCapacity(known, windows, before, seen, asked);
          expect(next.factor).toBeGreaterThanOrEqual(Math.max(0.5, known.factor * 0.9) - 1e-9);
          expect(next.factor).toBeLessThanOrEqual(Math.min(2, known.factor * 1.1) + 1e-9);
          if (seen !== undefined) expect(learnedRate(next, before, seen, asked)).not.toBeNaN();
          factors.push(next.factor);
          known = next;
        }
      }),
      { numRuns: 200 },
    );
    expect(Math.min(...factors)).toBe(0.5);
    expect(Math.max(...factors)).toBe(2);
  });
});
