import fc from 'fast-check';
import { decide } from '../../../../runtime/autoscaler/decide/decide';
import type { Memory } from '../../../../runtime/autoscaler/decide/decision';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import type { MetricReading, Observation } from '../../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';
import type { PolicySpec } from '../../../../runtime/autoscaler/decide/spec';

const step = fc.record({
  instances: fc.nat(5),
  percent: fc.nat(300),
  periodMs: fc.constantFrom(0, 15_000, 60_000),
  selectPolicy: fc.constantFrom('Or', 'And'),
  stabilizationWindowMs: fc.constantFrom(0, 30_000, 300_000),
});
const panic = fc.record({
  percent: fc.nat(1000),
  periodMs: fc.constantFrom(0, 15_000),
  thresholdPercent: fc.integer({ min: 110, max: 1000 }),
  holdMs: fc.constantFrom(0, 30_000, 60_000),
});
const bounds = fc.record({ min: fc.nat(5), extra: fc.nat(20) }).map(({ min, extra }) => ({ min, max: Math.max(1, min + extra) }));
const spec: fc.Arbitrary<PolicySpec> = fc.record({
  algorithm: fc.constantFrom(defaultAlgorithm, kthenaAlgorithm),
  tolerance: fc.integer({ min: 0, max: 50 }).map((percent) => percent / 100),
  behavior: fc.record({ scaleUp: step, scaleDown: step, panic }),
  target: bounds.map((range) => ({ kind: 'homogeneous' as const, unit: { name: 'chat', ...range } })),
});
const reading: fc.Arbitrary<MetricReading> = fc.oneof(
  fc.array(fc.nat(100), { maxLength: 12 }).map((values) => ({ kind: 'samples' as const, values })),
  fc.nat(500).map((value) => ({ kind: 'external' as const, value })),
  fc.constant({ kind: 'missing' as const, reason: 'no page' }),
);
const load = fc.record({ readings: fc.array(reading, { maxLength: 3 }), isViewStale: fc.boolean(), unreadyPods: fc.nat(2) });

type Load = typeof load extends fc.Arbitrary<infer L> ? L : never;

function observationOf({ readings, isViewStale, unreadyPods }: Load, current: number, atMs: number): Observation {
  const metrics = readings.map((one, i) => ({ name: `m${i}`, targetValue: 10, reading: one }));
  return { atMs, isViewStale, units: [{ name: 'chat', current, metrics, unreadyPods }] };
}

const boundsOf = (policy: PolicySpec) => (policy.target.kind === 'homogeneous' ? policy.target.unit : { min: 0, max: 0 });

describe('decide', () => {
  it('keeps the bounds, whatever is seen and remembered', () => {
    fc.assert(
      fc.property(spec, fc.nat(30), fc.array(load, { minLength: 1, maxLength: 12 }), (policy, start, loads) => {
        let memory: Memory = {};
        let current = start;
        loads.forEach((seen, i) => {
          const decided = decide(policy, observationOf(seen, current, i * 15_000), memory);
          const desired = decided.decision.units[0]!.desired;
          const { min, max } = boundsOf(policy);
          const isHeld = seen.isViewStale && current > max;
          if (!isHeld && decided.decision.units[0]!.recommended !== undefined) {
            expect(desired).toBeGreaterThanOrEqual(min);
            expect(desired).toBeLessThanOrEqual(max);
          }
          if (seen.isViewStale) expect(desired).toBeGreaterThanOrEqual(current);
          memory = decided.memory;
          current = desired;
        });
      }),
    );
  });

  it('never scales down in panic, except to the maximum', () => {
    fc.assert(
      fc.property(spec, fc.nat(30), fc.array(load, { minLength: 1, maxLength: 12 }), (policy, start, loads) => {
        let memory: Memory = {};
        let current = start;
        loads.forEach((seen, i) => {
          const decided = decide(policy, observationOf(seen, current, i * 15_000), memory);
          const [unit] = decided.decision.units;
          if (unit!.mode === 'Panic') expect(unit!.desired).toBeGreaterThanOrEqual(Math.min(current, boundsOf(policy).max));
          memory = decided.memory;
          current = unit!.desired;
        });
      }),
    );
  });

  it('asks for no fewer replicas when a load grows', () => {
    const samples = fc.array(fc.nat(100), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(spec, fc.nat(20), samples, fc.nat(11), fc.nat(100), (policy, current, values, index, more) => {
        const wish = (loads: readonly number[]): number | undefined => {
          const seen = { readings: [{ kind: 'samples' as const, values: loads }], isViewStale: false, unreadyPods: 0 };
          const defaults = { ...policy, algorithm: defaultAlgorithm };
          return decide(defaults, observationOf(seen, current, 0), {}).decision.units[0]!.recommended;
        };
        const grown = values.map((value, i) => (i === index % values.length ? value + more : value));
        expect(wish(grown)).toBeGreaterThanOrEqual(wish(values)!);
      }),
    );
  });

  it('gives the same answer to the same question', () => {
    fc.assert(
      fc.property(spec, fc.nat(30), load, (policy, current, seen) => {
        const observation = observationOf(seen, current, 0);
        expect(decide(policy, observation, {})).toEqual(decide(policy, observation, {}));
      }),
    );
  });

  it('is safe to run twice: what was decided and carried out is decided again', () => {
    fc.assert(
      fc.property(spec, fc.nat(1000), fc.nat(500), (policy, place, value) => {
        const { min, max } = boundsOf(policy);
        const start = min + (place % (max - min + 1));
        const seen = { readings: [{ kind: 'external' as const, value }], isViewStale: false, unreadyPods: 0 };
        const defaults = { ...policy, algorithm: defaultAlgorithm };
        const first = decide(defaults, observationOf(seen, start, 0), {});
        const desired = first.decision.units[0]!.desired;
        const second = decide(defaults, observationOf(seen, desired, 0), first.memory);
        expect(second.decision.units[0]!.desired).toBe(desired);
      }),
    );
  });

  it('remembers plain data: memory that went through JSON decides the same', () => {
    fc.assert(
      fc.property(spec, fc.nat(30), fc.array(load, { minLength: 2, maxLength: 8 }), (policy, start, loads) => {
        let memory: Memory = {};
        loads.forEach((seen, i) => {
          const observation = observationOf(seen, start, i * 15_000);
          const copy = JSON.parse(JSON.stringify(memory)) as Memory;
          expect(decide(policy, observation, copy)).toEqual(decide(policy, observation, memory));
          memory = decide(policy, observation, memory).memory;
        });
      }),
    );
  });

  it('forgets what no window can see, so that memory stays small', () => {
    const behavior = {
      scaleUp: { instances: 4, percent: 100, periodMs: 60_000, selectPolicy: 'Or', stabilizationWindowMs: 0 },
      scaleDown: { instances: 0, percent: 100, periodMs: 60_000, selectPolicy: 'Or', stabilizationWindowMs: 300_000 },
      panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 },
    };
    const policy: PolicySpec = {
      algorithm: defaultAlgorithm,
      tolerance: 0.1,
      behavior,
      target: { kind: 'homogeneous', unit: { name: 'chat', min: 1, max: 8 } },
    };
    let memory: Memory = {};
    for (let i = 0; i < 500; i++) {
      const seen = { readings: [{ kind: 'samples' as const, values: [10] }], isViewStale: false, unreadyPods: 0 };
      memory = decide(policy, observationOf(seen, 1, i * 15_000), memory).memory;
    }
    expect(memory.chat!.recommendations.length).toBeLessThanOrEqual(23);
    expect(memory.chat!.corrections.length).toBeLessThanOrEqual(23);
  });
});

describe('missing metrics', () => {
  it.each([
    [3, 3],
    [0, 1],
    [12, 8],
  ])('leave %d replicas at %d within bounds 1 to 8', (current, expected) => {
    const policy: PolicySpec = {
      algorithm: defaultAlgorithm,
      tolerance: 0.1,
      behavior: {
        scaleUp: { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 },
        scaleDown: { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 300_000 },
        panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 },
      },
      target: { kind: 'homogeneous', unit: { name: 'chat', min: 1, max: 8 } },
    };
    const seen = { readings: [{ kind: 'missing' as const, reason: 'no page' }], isViewStale: false, unreadyPods: 0 };
    expect(decide(policy, observationOf(seen, current, 0), {}).decision.units[0]!.desired).toBe(expected);
  });
});
