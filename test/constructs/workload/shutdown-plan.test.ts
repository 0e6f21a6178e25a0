import * as fc from 'fast-check';
import { planShutdown } from '../../../constructs/workload/shutdown-plan';

describe('planShutdown', () => {
  it.each([
    [
      'an engine that finishes its streams drains after SIGTERM',
      4096,
      50,
      true,
      { preStopSeconds: 10, drainSeconds: 205, terminationGracePeriodSeconds: 235 },
    ],
    [
      'another one waits before it',
      4096,
      50,
      false,
      { preStopSeconds: 215, drainSeconds: 0, terminationGracePeriodSeconds: 235 },
    ],
    [
      'a node drain ends after half an hour',
      1e6,
      100,
      true,
      { preStopSeconds: 10, drainSeconds: 1800, terminationGracePeriodSeconds: 1830 },
    ],
  ])('%s', (_, tokens, itlMs, finishesStreams, expected) => {
    expect(planShutdown(tokens, itlMs, finishesStreams)).toEqual(expected);
  });

  it('never kills a pod before its wait and its drain are over', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.double({ min: 0.1, max: 500, noNaN: true }),
        fc.boolean(),
        (tokens, itlMs, finishes) => {
          const plan = planShutdown(tokens, itlMs, finishes);
          expect(plan.terminationGracePeriodSeconds).toBeGreaterThan(plan.preStopSeconds + plan.drainSeconds);
          for (const seconds of Object.values(plan)) expect(Number.isInteger(seconds)).toBe(true);
        },
      ),
    );
  });
});
