import fc from 'fast-check';
import { decide } from '../../../../runtime/autoscaler/decide/decide';
import type { Decided, Memory } from '../../../../runtime/autoscaler/decide/decision';
import type { MetricReading, Rest, UnitObservation } from '../../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';
import type { PolicySpec } from '../../../../runtime/autoscaler/decide/spec';

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };
const pools = [
  { name: 'h100', cost: 410, min: 0, max: 4 },
  { name: 'l40s', cost: 120, min: 0, max: 8 },
];
const spec: PolicySpec = {
  algorithm: defaultAlgorithm,
  tolerance: 0.1,
  behavior,
  target: { kind: 'heterogeneous', pools, costExpansionRatePercent: 200 },
};

interface Seen {
  readonly h100: readonly number[] | 'missing';
  readonly l40s: readonly number[] | 'missing';
  readonly current: readonly [number, number];
  readonly unready?: readonly [number, number];
  readonly metric?: string;
  readonly rest?: Rest;
  readonly isViewStale?: boolean;
  readonly backOff?: { readonly h100?: number; readonly l40s?: number };
}

function decideOn(seen: Seen, memory: Memory = {}, atMs = 0): Decided {
  const unit = (i: 0 | 1): UnitObservation => {
    const values = i === 0 ? seen.h100 : seen.l40s;
    const reading: MetricReading = values === 'missing' ? { kind: 'missing', reason: 'no page' } : { kind: 'samples', values };
    return {
      name: pools[i]!.name,
      current: seen.current[i],
      metrics: [{ name: seen.metric ?? 'running', targetValue: 10, reading }],
      unreadyPods: seen.unready?.[i] ?? 0,
      // An h100 carries three times what an l40s does.
      capacity: i === 0 ? 900 : 300,
      ...(seen.rest && { rest: seen.rest }),
      ...(seen.backOff?.[pools[i]!.name as 'h100' | 'l40s'] !== undefined && {
        backOff: { most: seen.backOff[pools[i]!.name as 'h100' | 'l40s']!, reason: 'no node has room' },
      }),
    };
  };
  return decide(spec, { atMs, isViewStale: seen.isViewStale ?? false, units: [unit(0), unit(1)] }, memory);
}

const desired = ({ decision }: Decided): number[] => decision.units.map((unit) => unit.desired);
const rules = ({ decision }: Decided): string[] => decision.units.flatMap(({ limits }) => limits.map(({ rule }) => rule));

describe('several pools, sized by their common load at least cost', () => {
  it.each<[string, Seen, readonly number[]]>([
    [
      'a call for what runs already grows no pool for another',
      { current: [5, 0], h100: 'missing', l40s: 'missing', rest: { wake: 'wanted' } },
      [4, 0],
    ],
    ['what runs stays while it is on target', { current: [1, 1], h100: [30], l40s: [10] }, [1, 1]],
    [
      'a pool that does not start leaves its share to the next cheapest',
      { current: [0, 4], h100: 'missing', l40s: [30, 30], unready: [0, 2], backOff: { l40s: 2 } },
      [2, 2],
    ],
    ['more load grows the pool that carries it for less', { current: [0, 2], h100: 'missing', l40s: [30, 30] }, [0, 6]],
    ['a pool at its maximum is helped by the dearer one', { current: [0, 8], h100: 'missing', l40s: Array(8).fill(15) }, [2, 8]],
    ['less load takes away what saves most', { current: [2, 2], h100: [10, 0], l40s: [5, 5] }, [0, 2]],
    [
      'a share of a strong replica weighs as much as it carries',
      { current: [1, 0], h100: [20], l40s: 'missing', metric: 'kv_usage' },
      [1, 3],
    ],
    ['a replica that does not answer takes nothing away', { current: [1, 2], h100: 'missing', l40s: [1, 1] }, [1, 1]],
    ['no metric changes nothing', { current: [1, 2], h100: 'missing', l40s: 'missing' }, [1, 2]],
    ['no metric, but bounds', { current: [5, 9], h100: 'missing', l40s: 'missing' }, [4, 8]],
    [
      'requests that wait wake the cheapest replica',
      { current: [0, 0], h100: 'missing', l40s: 'missing', rest: { wake: 'wanted' } },
      [0, 1],
    ],
    [
      'idle pools that a router can wake go to zero',
      { current: [0, 1], h100: 'missing', l40s: [0], rest: { wake: 'possible' } },
      [0, 0],
    ],
    ['idle pools that nobody can wake keep one', { current: [0, 1], h100: 'missing', l40s: [0] }, [0, 1]],
    [
      'a busy engine keeps one',
      { current: [0, 1], h100: 'missing', l40s: [0], rest: { wake: 'possible', busy: 'it is' } },
      [0, 1],
    ],
  ])('%s', (_what, seen, expected) => {
    expect(desired(decideOn(seen))).toEqual(expected);
  });

  it('says what the mix carries and costs', () => {
    expect(decideOn({ current: [0, 2], h100: 'missing', l40s: [30, 30] }).decision.mix).toEqual({
      load: 6,
      capacities: [3, 1],
      cost: 720,
    });
  });

  it('replaces dear replicas in two steps: the cheap ones are ready before the dear ones go', () => {
    const exchange = decideOn({ current: [4, 0], h100: [2, 2, 3, 3], l40s: 'missing' });
    expect(desired(exchange)).toEqual([4, 1]);
    expect(rules(exchange)).toContain('starting');
    const waiting = decideOn({ current: [4, 1], unready: [0, 1], h100: [2, 2, 3, 3], l40s: 'missing' });
    expect(desired(waiting)).toEqual([4, 1]);
    expect(rules(waiting)).toContain('starting');
    const done = decideOn({ current: [4, 1], h100: [2, 2, 2, 2], l40s: [2] });
    expect(desired(done)).toEqual([0, 1]);
  });

  it('scales nothing down on a stale view', () => {
    const seen = decideOn({ current: [2, 2], h100: [1, 0], l40s: [0, 0], isViewStale: true });
    expect(desired(seen)).toEqual([2, 2]);
  });

  it('keeps every bound, carries the load where it can, and comes to rest', () => {
    const values = fc.array(fc.nat(40), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.nat(4), fc.nat(8), values, (h100, l40s, loads) => {
        const total = loads.reduce((sum, value) => sum + value, 0);
        let current: [number, number] = [h100, l40s];
        let memory: Memory = {};
        for (let round = 0; round < 6; round++) {
          const seen = {
            current,
            h100:
              current[0] === 0 ? ('missing' as const) : Array<number>(current[0]).fill(current[1] === 0 ? total / current[0] : 0),
            l40s: current[1] === 0 ? ('missing' as const) : Array<number>(current[1]).fill(total / current[1]),
          };
          const decided = decideOn(seen, memory, round * 15_000);
          memory = decided.memory;
          current = desired(decided) as [number, number];
          expect(current[0]).toBeLessThanOrEqual(4);
          expect(current[1]).toBeLessThanOrEqual(8);
        }
        if (h100 + l40s === 0) return;
        // The tolerance lets a tenth be carried beyond the target.
        expect(current[0] * 3 + current[1]).toBeGreaterThanOrEqual(Math.min(20, total / 10 / 1.1) - 1e-6);
        const last = decideOn(
          {
            current,
            h100: current[0] === 0 ? 'missing' : Array<number>(current[0]).fill(current[1] === 0 ? total / current[0] : 0),
            l40s: current[1] === 0 ? 'missing' : Array<number>(current[1]).fill(total / current[1]),
          },
          memory,
          90_000,
        );
        expect(desired(last)).toEqual(current);
      }),
    );
  });
});
