import fc from 'fast-check';
import { decide } from '../../../../runtime/autoscaler/decide/decide';
import type { MetricReading, Observation } from '../../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';
import type { PolicySpec, TargetSpec } from '../../../../runtime/autoscaler/decide/spec';
import type { Limit } from '../../../../runtime/autoscaler/limits/limit';
import { type Restrainable, restrain, unitSpecs } from '../../../../runtime/autoscaler/limits/restrain';
import type { Policy } from '../../../../runtime/autoscaler/policy';
import { policyOf } from '../../../helpers/autoscaler-rig';

const GPUS = 2;
const template = {
  metadata: { name: 'x' },
  spec: { containers: [{ name: 'e', resources: { limits: { 'nvidia.com/gpu': GPUS } } }] },
};

const bounds = fc
  .record({ min: fc.nat(4), extra: fc.integer({ min: 1, max: 8 }) })
  .map(({ min, extra }) => ({ min, max: min + extra }));
const target: fc.Arbitrary<TargetSpec> = fc.oneof(
  bounds.map((range) => ({ kind: 'homogeneous' as const, unit: { name: 'chat', ...range } })),
  fc.tuple(bounds, bounds, fc.nat(9)).map(([a, b, cost]) => ({
    kind: 'heterogeneous' as const,
    pools: [
      { name: 'a', cost: 1 + cost, ...a },
      { name: 'b', cost: 5, ...b },
    ],
    costExpansionRatePercent: 200,
  })),
  fc.tuple(bounds, bounds, fc.integer({ min: 1, max: 4 }), fc.nat(4)).map(([a, b, least, more]) => ({
    kind: 'disaggregated' as const,
    roles: [
      { name: 'decode', ...a },
      { name: 'prefill', ...b },
    ],
    ratio: { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: least / 4, maxRatio: (least + more) / 4 + 1 },
  })),
);
const reading: fc.Arbitrary<MetricReading> = fc.oneof(
  fc.nat(150).map((value) => ({ kind: 'external' as const, value })),
  fc.array(fc.nat(40), { maxLength: 8 }).map((values) => ({ kind: 'samples' as const, values })),
  fc.constant({ kind: 'missing' as const, reason: 'no page' }),
);
const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const panic = { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 };

interface Case {
  readonly item: Restrainable;
  readonly isBlind: boolean;
}

const oneCase: fc.Arbitrary<Case> = fc
  .record({
    target,
    currents: fc.tuple(fc.nat(14), fc.nat(14)),
    readings: fc.tuple(reading, reading),
    step: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    isRollingOut: fc.boolean(),
    priority: fc.nat(2),
  })
  .map(({ target: chosen, currents, readings, step, isRollingOut, priority }) => {
    const spec: PolicySpec = {
      algorithm: defaultAlgorithm,
      tolerance: 0.1,
      behavior: { scaleUp: free, scaleDown: free, panic },
      target: chosen,
    };
    const names =
      chosen.kind === 'homogeneous'
        ? ['chat']
        : (chosen.kind === 'heterogeneous' ? chosen.pools : chosen.roles).map(({ name }) => name);
    const policy: Policy = {
      id: 'p',
      object: policyOf('p', { spec: {} }),
      name: 'p',
      spec,
      units: names.map((name) => ({
        name,
        target: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name },
        queries: [],
      })),
      isChosen: false,
      isPaused: false,
      isRecommendOnly: false,
      schedules: [],
      priority,
      mayRest: false,
      revision: '1',
      ...(step !== undefined && { largestStep: step }),
    };
    const observation: Observation = {
      atMs: 0,
      isViewStale: false,
      units: names.map((name, i) => ({
        name,
        current: currents[i]!,
        unreadyPods: 0,
        metrics: [{ name: 'running', targetValue: 10, reading: readings[i]! }],
      })),
    };
    const handles = names.map((name) => ({ uid: name, version: '1', pods: [], isRollingOut }));
    const isBlind = names.every((_, i) => {
      const seen = readings[i]!;
      return seen.kind === 'missing' || (seen.kind === 'samples' && seen.values.length === 0);
    });
    return { item: { policy, decision: decide(spec, observation, {}).decision, handles }, isBlind };
  });

const limitOf = (most: number | undefined): Limit => ({ name: 'budget all', of: 'gpus', most });

describe('what all policies are left with', () => {
  const run = (cases: readonly Case[], most: number | undefined) =>
    restrain(
      cases.map(({ item }) => item),
      { limits: [limitOf(most)], taken: [], workloadPods: { podsOf: () => [template] }, isDryRun: false },
    );

  it('is within the bounds, and below a minimum only where something says so; above a maximum is nobody', () => {
    fc.assert(
      fc.property(
        fc.array(oneCase, { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat(120), { nil: undefined }),
        (cases, most) => {
          run(cases, most).forEach((decision, k) => {
            const { policy } = cases[k]!.item;
            decision.units.forEach((unit, i) => {
              const { min, max } = unitSpecs(policy)[i]!;
              // A pool waits until what replaces it is ready; it grows beyond its maximum never.
              expect(unit.desired).toBeLessThanOrEqual(Math.max(max, unit.current));
              if (unit.desired > max) expect(unit.limits.map(({ rule }) => rule)).toContain('starting');
              if (unit.desired < min) {
                expect(unit.limits.some(({ rule }) => rule === 'budget' || rule === 'ratio')).toBe(true);
                expect(unit.desired).toBeGreaterThanOrEqual(Math.min(unit.current, min));
              }
            });
          });
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never adds up to more than the budget, where what runs already did not', () => {
    fc.assert(
      fc.property(fc.array(oneCase, { minLength: 2, maxLength: 4 }), fc.nat(120), (cases, most) => {
        const decisions = run(cases, most);
        const total = (count: 'current' | 'both') =>
          decisions
            .flatMap(({ units }) => units)
            .reduce((sum, { current, desired }) => sum + (count === 'both' ? Math.max(current, desired) : current), 0);
        expect(total('both') * GPUS).toBeLessThanOrEqual(Math.max(most, total('current') * GPUS));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the ratio of roles, or says that it does not', () => {
    fc.assert(
      fc.property(fc.array(oneCase, { minLength: 1, maxLength: 3 }), fc.nat(120), (cases, most) => {
        run(cases, most).forEach((decision, k) => {
          const { target: chosen } = cases[k]!.item.policy.spec;
          if (chosen.kind !== 'disaggregated' || chosen.ratio === undefined || decision.isRatioViolated) return;
          const [decode, prefill] = decision.units.map(({ desired }) => desired);
          if (decode === 0 && prefill === 0) return;
          expect(prefill!).toBeGreaterThanOrEqual(chosen.ratio.minRatio * decode! - 1e-9);
          expect(prefill!).toBeLessThanOrEqual(chosen.ratio.maxRatio * decode! + 1e-9);
        });
      }),
      { numRuns: 500 },
    );
  });

  it('without any metric is what there is, brought within the bounds and the ratio', () => {
    fc.assert(
      fc.property(oneCase, (one) => {
        fc.pre(one.isBlind && one.item.policy.spec.target.kind !== 'disaggregated' && one.item.policy.largestStep === undefined);
        fc.pre(one.item.handles.every(({ isRollingOut }) => !isRollingOut));
        const [decision] = run([one], 1000);
        decision!.units.forEach(({ current, desired }, i) => {
          const { min, max } = unitSpecs(one.item.policy)[i]!;
          const clamped = Math.min(max, Math.max(min, current));
          // A pool that is beyond its maximum may wait for another to reach its minimum.
          expect([clamped, Math.min(max, current)]).toContain(desired);
        });
      }),
    );
  });
});
