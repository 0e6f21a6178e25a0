import fc from 'fast-check';
import { type Allocated, allocate, type Recommended } from '../../../runtime/autoscaler/allocate';
import { decide } from '../../../runtime/autoscaler/decide/decide';
import type { Memory } from '../../../runtime/autoscaler/decide/decision';
import { kthenaAlgorithm } from '../../../runtime/autoscaler/decide/kthena/recommend';
import type { MetricReading, Observation, UnitObservation } from '../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../runtime/autoscaler/decide/recommend';
import type { PolicySpec, TargetSpec } from '../../../runtime/autoscaler/decide/spec';
import type { Footprint } from '../../../runtime/autoscaler/limits/footprint';
import type { Limit } from '../../../runtime/autoscaler/limits/limit';
import { unitSpecs } from '../../../runtime/autoscaler/limits/restrain';
import type { Policy } from '../../../runtime/autoscaler/policy';
import { conditionsOf } from '../../../runtime/autoscaler/report/conditions';
import { Labels } from '../../../src/labels';
import { policyOf } from '../../helpers/autoscaler-rig';

const GPUS = 2;
const PERIOD_MS = 15_000;
const template = {
  metadata: { name: 'x' },
  spec: { containers: [{ name: 'e', resources: { limits: { 'nvidia.com/gpu': GPUS } } }] },
};

const step = fc.record({
  instances: fc.nat(5),
  percent: fc.nat(300),
  periodMs: fc.constantFrom(0, 15_000, 60_000),
  selectPolicy: fc.constantFrom('Or', 'And'),
  stabilizationWindowMs: fc.constantFrom(0, 0, 30_000),
});
const panic = fc.record({
  percent: fc.nat(1000),
  periodMs: fc.constantFrom(0, 15_000),
  thresholdPercent: fc.integer({ min: 110, max: 300 }),
  holdMs: fc.constantFrom(0, 30_000, 60_000),
});
const bounds = fc
  .record({ min: fc.constantFrom(0, 0, 1, 2, 4), extra: fc.nat(8) })
  .map(({ min, extra }) => ({ min, max: Math.max(1, min + extra) }));
const target: fc.Arbitrary<TargetSpec> = fc.oneof(
  bounds.map((range) => ({ kind: 'homogeneous' as const, unit: { name: 'chat', ...range } })),
  fc
    .tuple(bounds, bounds, fc.integer({ min: 1, max: 9 }), fc.boolean(), fc.constantFrom(100, 200))
    .map(([a, b, cost, isBlocks, rate]) => ({
      kind: 'heterogeneous' as const,
      pools: [
        { name: 'a', cost, ...a },
        { name: 'b', cost: 5, ...b },
      ],
      costExpansionRatePercent: rate,
      ...(isBlocks && { strategy: 'blocks' as const }),
    })),
  fc.tuple(bounds, bounds, fc.integer({ min: 1, max: 8 }), fc.nat(8)).map(([a, b, least, more]) => ({
    kind: 'disaggregated' as const,
    roles: [
      { name: 'decode', ...a },
      { name: 'prefill', ...b },
    ],
    ratio: { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: least / 4, maxRatio: (least + more) / 4 },
  })),
);

const reading: fc.Arbitrary<MetricReading> = fc.oneof(
  { weight: 2, arbitrary: fc.nat(150).map((value) => ({ kind: 'external' as const, value })) },
  { weight: 3, arbitrary: fc.array(fc.nat(40), { maxLength: 8 }).map((values) => ({ kind: 'samples' as const, values })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'missing' as const, reason: 'no page' }) },
);
/** What `spec.slo` becomes: arrivals of each replica. */
const arrivals: fc.Arbitrary<MetricReading> = fc
  .array(fc.double({ min: 0, max: 12, noNaN: true }), { maxLength: 8 })
  .map((values) => ({ kind: 'samples', values, over: 'window' }));

const seenUnit = fc.record({
  readings: fc.array(reading, { maxLength: 2 }),
  arrivals,
  unreadyPods: fc.nat(2),
  capacity: fc.integer({ min: 1, max: 4 }),
  backOff: fc.option(fc.nat(4), { nil: undefined, freq: 8 }),
  isWithoutPods: fc.boolean(),
});
const seen = fc.record({
  units: fc.tuple(seenUnit, seenUnit),
  isViewStale: fc.nat(7).map((n) => n === 0),
  isBlind: fc.nat(4).map((n) => n === 0),
  isRollingOut: fc.nat(7).map((n) => n === 0),
  wake: fc.constantFrom('wanted' as const, 'possible' as const, 'impossible' as const),
});

type Seen = typeof seen extends fc.Arbitrary<infer S> ? S : never;

const tenant = fc.record({
  target,
  algorithm: fc.constantFrom(defaultAlgorithm, defaultAlgorithm, kthenaAlgorithm),
  tolerance: fc.integer({ min: 0, max: 50 }).map((percent) => percent / 100),
  behavior: fc.record({ scaleUp: step, scaleDown: step, panic }),
  metricWindowMs: fc.constantFrom(0, 30_000),
  hasGoal: fc.boolean(),
  starts: fc.tuple(fc.nat(14), fc.nat(14)),
  largestStep: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined, freq: 2 }),
  priority: fc.nat(2),
  isPaused: fc.nat(9).map((n) => n === 0),
  isSecond: fc.nat(5).map((n) => n === 0),
  rounds: fc.array(seen, { minLength: 4, maxLength: 4 }),
});

type Tenant = typeof tenant extends fc.Arbitrary<infer T> ? T : never;

const namespaceOf = (place: number): string => (place % 2 === 0 ? 'default' : 'llm');

/** @param place among the policies; one that is second on a target names that of the first policy. */
function policyFor(tenant: Tenant, place: number): Policy {
  const {
    target: chosen,
    algorithm,
    tolerance,
    behavior,
    metricWindowMs,
    largestStep,
    priority,
    isPaused,
    isSecond,
    hasGoal,
  } = tenant;
  const owner = isSecond ? 0 : place;
  const spec: PolicySpec = { algorithm, tolerance, behavior, metricWindowMs, target: chosen };
  const units = chosen.kind === 'homogeneous' ? [chosen.unit] : chosen.kind === 'heterogeneous' ? chosen.pools : chosen.roles;
  return {
    id: `p${place}`,
    object: policyOf(`p${place}`, { spec: {} }),
    name: `p${place}`,
    spec,
    units: units.map(({ name }, i) => {
      const isRole = chosen.kind === 'disaggregated';
      const object = isRole || i === 0 ? `t${owner}` : `t${owner}-${i}`;
      const kind = isRole ? 'ModelServing' : 'Deployment';
      return {
        name,
        target: { apiVersion: 'apps/v1', kind, namespace: namespaceOf(owner), name: object },
        ...(isRole && { role: name }),
        queries: [],
      };
    }),
    isChosen: false,
    isPaused,
    isRecommendOnly: false,
    schedules: [],
    priority,
    mayRest: algorithm.name === 'default' && units.every(({ min }) => min === 0),
    revision: '1',
    ...(largestStep !== undefined && { largestStep }),
    ...(hasGoal && { goal: { itlMs: 60, percentile: 95 } }),
  };
}

/** Targets as they are, by name and role. */
type World = Map<string, number>;

const keyOf = ({ target: { kind, name }, role }: Policy['units'][number]): string => `${kind}/${name}/${role ?? ''}`;

interface Outcome {
  readonly allocated: Extract<Allocated, { kind: 'decided' }>;
  readonly observation: Observation;
  /** As asked for when the round began. */
  readonly before: readonly number[];
}

/** Runs every policy for four rounds, and carries out what was decided. */
function play(
  tenants: readonly Tenant[],
  limits: readonly Limit[],
  check: (outcomes: readonly Outcome[], world: { readonly before: World; readonly after: World }) => void,
): void {
  const policies = tenants.map(policyFor);
  const world: World = new Map();
  policies.forEach((policy, k) => {
    policy.units.forEach((unit, i) => {
      if (!world.has(keyOf(unit))) world.set(keyOf(unit), tenants[k]!.starts[i]!);
    });
  });
  const memories = new Map<Policy, Memory>();
  for (let at = 0; at < 4; at++) {
    const before = new Map(world);
    // Pods that do not exist yet are known of targets that somebody scales.
    const hasNone = new Map<string, boolean>();
    policies.forEach((policy, k) => {
      policy.units.forEach((unit, i) => {
        if (!tenants[k]!.isSecond) hasNone.set(keyOf(unit), tenants[k]!.rounds[at]!.units[i]!.isWithoutPods);
      });
    });
    const observations = policies.map((policy, k) => observationOf(policy, tenants[k]!.rounds[at]!, world, at * PERIOD_MS));
    const recommended = policies.map((policy, k): Extract<Recommended, { kind: 'decided' }> => {
      const { decision, memory } = decide(policy.spec, observations[k]!, memories.get(policy) ?? {});
      memories.set(policy, memory);
      const now = tenants[k]!.rounds[at]!;
      const handles = policy.units.map((unit) => ({
        uid: unit.target.name,
        version: '1',
        pods: hasNone.get(keyOf(unit)) ? [] : podsOf(unit, world.get(keyOf(unit))!),
        isRollingOut: now.isRollingOut,
      }));
      return { kind: 'decided', policy, decision, handles, rests: observations[k]!.units.map(({ rest }) => rest) };
    });
    const pods = new Map(
      recommended.flatMap(({ policy, handles }) =>
        policy.units.map((unit, i): [string, Footprint[]] => [
          keyOf(unit),
          handles[i]!.pods.map(
            (): Footprint => ({
              namespace: unit.target.namespace,
              accelerator: undefined,
              gpus: GPUS,
              costPerHour: undefined,
            }),
          ),
        ]),
      ),
    );
    const taken = [...pods.values()].flat();
    const allocated = allocate(recommended, policies, [], {
      limits,
      taken,
      workloadPods: { podsOf: ({ kind }) => templatesOf(kind) },
      isDryRun: false,
    });
    for (const { writes } of allocated.flatMap((each) => (each.kind === 'decided' ? [each] : []))) {
      for (const write of writes) {
        const of = (role?: string) => `${write.target.kind}/${write.target.name}/${role ?? ''}`;
        if (write.kind === 'scale') world.set(of(), write.to);
        else for (const [role, to] of Object.entries(write.to)) world.set(of(role), to);
      }
    }
    const outcomes = allocated.map((each, k): Outcome => {
      if (each.kind !== 'decided') throw new Error('every target was seen');
      return {
        allocated: each,
        observation: observations[k]!,
        before: policies[k]!.units.map((unit) => before.get(keyOf(unit))!),
      };
    });
    check(outcomes, { before, after: world });
  }
}

function templatesOf(kind: string) {
  if (kind !== 'ModelServing') return [template];
  return ['decode', 'prefill'].map((role) => ({
    ...template,
    metadata: { name: role, labels: { [Labels.modelServingRole]: role } },
  }));
}

function podsOf({ target: { name, namespace }, role }: Policy['units'][number], count: number) {
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1' as const,
    kind: 'Pod' as const,
    metadata: { name: `${name}-${role ?? ''}-${i}`, namespace },
    spec: template.spec,
    status: { phase: 'Running' as const, conditions: [{ type: 'Ready', status: 'True' as const }] },
  }));
}

function observationOf(policy: Policy, now: Seen, world: World, atMs: number): Observation {
  const units = policy.units.map((unit, i): UnitObservation => {
    const { readings, arrivals: arrived, unreadyPods, capacity, backOff } = now.units[i]!;
    const all = [...readings, ...(policy.goal !== undefined && policy.spec.algorithm.name === 'default' ? [arrived] : [])];
    const metrics = all.map((one, m) => ({
      name: `m${m}`,
      targetValue: 10 - m,
      reading: now.isBlind ? ({ kind: 'missing', reason: 'no page' } as const) : one,
    }));
    return {
      name: unit.name,
      current: world.get(keyOf(unit))!,
      metrics,
      unreadyPods,
      ...(policy.spec.target.kind === 'heterogeneous' && { capacity }),
      ...(backOff !== undefined && { backOff: { most: backOff, reason: 'no node' } }),
      ...(policy.mayRest && { rest: { wake: now.wake } }),
    };
  });
  return { atMs, isViewStale: now.isViewStale, units };
}

/** Kthena does nothing at all for roles of which one has no metric. */
function isSkippedByKthena({ allocated: { policy, decision } }: Outcome): boolean {
  const { target: chosen, algorithm } = policy.spec;
  return (
    algorithm.name === 'kthena' &&
    chosen.kind === 'disaggregated' &&
    decision.units.some(({ recommended }) => recommended === undefined)
  );
}

const isActing = ({ allocated: { hold } }: Outcome): boolean => hold === undefined;

const limitsOf = (most: number | undefined, quota: number): readonly Limit[] => [
  { name: 'budget all', of: 'gpus', most },
  { name: 'ResourceQuota llm/gpus', of: 'gpus', namespace: 'llm', most: quota },
];
const tenants = fc.array(tenant, { minLength: 1, maxLength: 4 });
const most = fc.oneof(fc.nat(60), fc.constant(1000), fc.constant(undefined));
const quota = fc.oneof(fc.nat(30), fc.constant(1000));

describe('rounds over several policies', () => {
  const always = (check: Parameters<typeof play>[2], numRuns = 400) =>
    fc.assert(
      fc.property(tenants, most, quota, (all, budget, quotaOf) => play(all, limitsOf(budget, quotaOf), check)),
      { numRuns },
    );

  it('never leave the bounds, and stay below a minimum only where Limited says so', () => {
    always((outcomes) => {
      for (const outcome of outcomes.filter(isActing)) {
        if (isSkippedByKthena(outcome)) continue;
        const { allocated } = outcome;
        const limited = conditionsOf(allocated, { written: [] }).find(({ type }) => type === 'Limited')!;
        allocated.decision.units.forEach(({ desired, current, limits }, i) => {
          const { min, max } = unitSpecs(allocated.policy)[i]!;
          // What is to be replaced, or may exist unseen, is not taken away yet; nothing grows beyond its maximum.
          expect(desired).toBeLessThanOrEqual(Math.max(max, current));
          if (desired > max) expect(limits.some(({ rule }) => rule === 'stale-view' || rule === 'starting')).toBe(true);
          if (desired < min) {
            expect(limits.some(({ rule }) => rule === 'budget' || rule === 'ratio')).toBe(true);
            expect(limited.status).toBe('True');
            expect(desired).toBeGreaterThanOrEqual(Math.min(current, min));
          }
        });
      }
    });
  });

  it('never scale down in panic, except to the maximum', () => {
    always((outcomes) => {
      for (const { allocated, observation } of outcomes.filter(isActing)) {
        const { decision, policy } = allocated;
        const specs = unitSpecs(policy);
        const floorOf = (i: number): number => {
          const { backOff, current } = observation.units[i]!;
          const isStuck = policy.spec.target.kind !== 'homogeneous' && backOff !== undefined;
          return Math.min(current, specs[i]!.max, isStuck ? Math.max(specs[i]!.min, backOff.most) : current);
        };
        if (policy.spec.target.kind === 'heterogeneous') {
          // One pool may take over from another.
          const capacities = decision.mix?.capacities ?? decision.units.map(() => 1);
          const sum = (countOf: (i: number) => number) =>
            decision.units.reduce((total, _, i) => total + countOf(i) * capacities[i]!, 0);
          if (decision.units[0]!.mode === 'Panic') {
            expect(sum((i) => decision.units[i]!.desired)).toBeGreaterThanOrEqual(sum(floorOf) - 1e-9);
          }
        } else {
          decision.units.forEach(({ mode, desired, limits }, i) => {
            // Exactly as in Kthena, the ratio of roles comes after panic there.
            const isRepaired = policy.spec.algorithm.name === 'kthena' && limits.some(({ rule }) => rule === 'ratio');
            if (mode === 'Panic' && !isRepaired) expect(desired).toBeGreaterThanOrEqual(floorOf(i));
          });
        }
      }
    });
  });

  it('keep the ratio of prefill and decode, or report it', () => {
    always((outcomes) => {
      for (const outcome of outcomes.filter(isActing)) {
        const { decision, policy } = outcome.allocated;
        const { target: chosen } = policy.spec;
        if (chosen.kind !== 'disaggregated' || chosen.ratio === undefined || isSkippedByKthena(outcome)) continue;
        const { minRatio, maxRatio } = chosen.ratio;
        // Of a role whose pods do not start those count that did.
        if (outcome.observation.units.some(({ backOff }) => backOff !== undefined)) continue;
        const [decode, prefill] = decision.units.map(({ desired }) => desired) as [number, number];
        const isKept =
          (decode === 0 && prefill === 0) ||
          (decode > 0 && prefill > 0 && prefill >= minRatio * decode - 1e-9 && prefill <= maxRatio * decode + 1e-9);
        if (isKept) continue;
        // Nothing but its bounds keeps the short side from growing.
        const { roles } = chosen;
        const isBent = decision.units.some(({ limits }) =>
          limits.some(({ rule }) => rule === 'budget' || rule === 'largest-step' || rule === 'rollout'),
        );
        // A narrow range may have no whole numbers.
        const isWide = maxRatio >= 2 * minRatio && Math.floor(maxRatio * decode) >= Math.ceil(minRatio * decode);
        if (!isBent && isWide && decode > 0 && prefill > 0) {
          if (prefill < minRatio * decode) expect(prefill).toBe(roles[1]!.max);
          else expect(decode).toBe(roles[0]!.max);
        }
        const violated = conditionsOf(outcome.allocated, { written: [] }).find(({ type }) => type === 'RatioConstraintViolated')!;
        expect({ decode, prefill, status: violated.status }).toEqual({ decode, prefill, status: 'True' });
      }
    }, 1500);
  });

  it('change nothing without a metric, except to clamp, to repair the ratio and to wake', () => {
    fc.assert(
      fc.property(tenants, (all) => {
        const blind = all.map((each) => ({ ...each, rounds: each.rounds.map((now) => ({ ...now, isBlind: true })) }));
        play(blind, [], (outcomes) => {
          for (const outcome of outcomes.filter(isActing)) {
            const { allocated, observation } = outcome;
            const isAwake = observation.units.some(({ rest }) => rest?.wake === 'wanted');
            const { target: chosen } = allocated.policy.spec;
            const specs = unitSpecs(allocated.policy);
            const clamped = observation.units.map(({ current }, i) => Math.min(specs[i]!.max, Math.max(specs[i]!.min, current)));
            allocated.decision.units.forEach(({ current, desired, limits }, i) => {
              if (desired === current || desired === clamped[i]) return;
              if (limits.some(({ rule }) => rule === 'ratio') && chosen.kind === 'disaggregated') return;
              const isAsleep = chosen.kind === 'disaggregated' ? clamped[i] === 0 : clamped.every((count) => count === 0);
              if (isAwake && isAsleep && desired === 1) return;
              // Kthena lays the sum on its blocks when it leaves the bounds.
              const isByBlocks = chosen.kind === 'heterogeneous' && allocated.policy.spec.algorithm.name === 'kthena';
              const total = observation.units.reduce((sum, unit) => sum + unit.current, 0);
              const [least, greatest] = [
                specs.reduce((sum, { min }) => sum + min, 0),
                specs.reduce((sum, { max }) => sum + max, 0),
              ];
              if (isByBlocks && (total < least || total > greatest)) return;
              // On the way to it.
              if (
                limits.some(({ rule }) => rule === 'largest-step') &&
                desired > Math.min(current, clamped[i]!) &&
                desired < Math.max(current, clamped[i]!)
              )
                return;
              expect({ current, desired, limits }).toBe(clamped[i]);
            });
          }
        });
      }),
      { numRuns: 400 },
    );
  });

  it('never add up to more than a budget and a quota, where what runs already did not', () => {
    const gpusIn = (worlds: readonly World[], policies: readonly Policy[], namespace?: string): number => {
      const units = new Map(policies.flatMap(({ units: all }) => all).map((unit) => [keyOf(unit), unit]));
      return [...units]
        .filter(
          ([
            ,
            {
              target: { namespace: own },
            },
          ]) => namespace === undefined || own === namespace,
        )
        .reduce((sum, [key]) => sum + GPUS * Math.max(...worlds.map((world) => world.get(key)!)), 0);
    };
    fc.assert(
      fc.property(fc.array(tenant, { minLength: 2, maxLength: 4 }), most, quota, (all, budget, quotaOf) =>
        play(all, limitsOf(budget, quotaOf), (outcomes, { before, after }) => {
          const policies = outcomes.map(({ allocated }) => allocated.policy);
          expect(gpusIn([before, after], policies)).toBeLessThanOrEqual(Math.max(budget ?? 0, gpusIn([before], policies)));
          expect(gpusIn([before, after], policies, 'llm')).toBeLessThanOrEqual(
            Math.max(quotaOf, gpusIn([before], policies, 'llm')),
          );
        }),
      ),
      { numRuns: 400 },
    );
  });

  it('write no target by two policies', () => {
    always((outcomes) => {
      const written = outcomes.flatMap(({ allocated }) =>
        allocated.writes.map(({ target: { kind, namespace, name } }) => `${kind}/${namespace}/${name}`),
      );
      expect(new Set(written).size).toBe(written.length);
      for (const { allocated } of outcomes) if (allocated.policy.isPaused) expect(allocated.writes).toEqual([]);
    });
  });
});
