import fc from 'fast-check';
import { decide } from '../../../../runtime/autoscaler/decide/decide';
import { blockOrder, placeOnPools } from '../../../../runtime/autoscaler/decide/kthena/block-order';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import { repairRatio } from '../../../../runtime/autoscaler/decide/ratio';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';

const h100 = { name: 'h100', cost: 100, min: 0, max: 4 };
const a100 = { name: 'a100', cost: 60, min: 1, max: 8 };

describe("Kthena's cost blocks (kthena-workload.md, B.3)", () => {
  it('cuts free replicas into geometric blocks and takes the cheapest first', () => {
    const order = blockOrder([h100, a100], 200).map(({ pool, size, cost }) => [['h100', 'a100'][pool], size, cost]);
    expect(order).toEqual([
      ['a100', 1, 60],
      ['h100', 1, 100],
      ['h100', 1, 100],
      ['a100', 2, 120],
      ['h100', 2, 200],
      ['a100', 4, 240],
    ]);
  });

  it.each([
    [1, [0, 1]],
    [2, [0, 2]],
    [3, [1, 2]],
    [4, [2, 2]],
    [5, [2, 3]],
    [6, [2, 4]],
    [7, [3, 4]],
    [8, [4, 4]],
    [9, [4, 5]],
    [12, [4, 8]],
  ])('lays a total of %d on h100 and a100 as %j', (total, expected) => {
    const pools = [h100, a100];
    expect(placeOnPools(pools, blockOrder(pools, 200), total)).toEqual(expected);
  });

  it('takes a pool as one block at a rate of 100 %', () => {
    const pools = [
      { name: 'h100', cost: 10, min: 1, max: 4 },
      { name: 'a100', cost: 5, min: 1, max: 3 },
    ];
    expect(placeOnPools(pools, blockOrder(pools, 100), 5)).toEqual([2, 3]);
  });

  it('hands out every total within the bounds, exactly', () => {
    const pool = fc
      .record({ name: fc.constant('p'), cost: fc.nat(500), min: fc.nat(5), extra: fc.nat(20) })
      .map(({ extra, ...rest }) => ({ ...rest, max: rest.min + extra }));
    fc.assert(
      fc.property(fc.array(pool, { minLength: 1, maxLength: 4 }), fc.nat(400), fc.nat(100), (pools, rate, wanted) => {
        const min = pools.reduce((sum, { min }) => sum + min, 0);
        const max = pools.reduce((sum, { max }) => sum + max, 0);
        const total = Math.min(max, min + wanted);
        const placed = placeOnPools(pools, blockOrder(pools, rate), total);
        expect(placed.reduce((sum, count) => sum + count, 0)).toBe(total);
        placed.forEach((count, i) => {
          expect(count).toBeGreaterThanOrEqual(pools[i]!.min);
          expect(count).toBeLessThanOrEqual(pools[i]!.max);
        });
      }),
    );
  });
});

describe('what several pools remember', () => {
  const slow = { instances: 1, percent: 0, periodMs: 60_000, selectPolicy: 'Or', stabilizationWindowMs: 0 };
  const behavior = { scaleUp: slow, scaleDown: slow, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };

  it.each([
    [defaultAlgorithm, 7],
    [kthenaAlgorithm, 3],
  ])('is the raw recommendation; under Kthena the corrected total stands in its place', (algorithm, remembered) => {
    const reading = { kind: 'external', value: 35 } as const;
    const metrics = [{ name: 'running', targetValue: 10, reading }];
    const { decision, memory } = decide(
      {
        algorithm,
        tolerance: 0.1,
        behavior,
        target: { kind: 'heterogeneous', pools: [h100, a100], costExpansionRatePercent: 200 },
      },
      {
        atMs: 0,
        isViewStale: false,
        units: [
          { name: 'h100', current: 1, metrics, unreadyPods: 0 },
          { name: 'a100', current: 1, metrics, unreadyPods: 0 },
        ],
      },
      {},
    );
    expect(decision.units.map(({ desired }) => desired)).toEqual([1, 2]);
    expect(memory.total!.recommendations.at(-1)!.replicas).toBe(remembered);
  });
});

describe('the ratio of two roles', () => {
  const bounds = { numerator: { min: 0, max: 8 }, denominator: { min: 0, max: 16 } };
  const ratio = { minRatio: 0.25, maxRatio: 1 };

  it.each([
    [2, 4, 2, 4, false],
    [1, 8, 2, 8, true],
    [6, 2, 6, 6, true],
    [0, 4, 1, 4, true],
    [4, 0, 4, 4, true],
    [0, 0, 0, 0, false],
  ])('%d prefill and %d decode become %d and %d', (n, d, numerator, denominator, isAdjusted) => {
    expect(repairRatio({ numerator: n, denominator: d }, bounds, ratio)).toEqual({
      numerator,
      denominator,
      isAdjusted,
      isViolated: false,
    });
  });

  it('shrinks the long side when the short one is at its maximum', () => {
    const tight = { numerator: { min: 0, max: 3 }, denominator: { min: 0, max: 20 } };
    expect(repairRatio({ numerator: 2, denominator: 20 }, tight, ratio)).toMatchObject({ numerator: 3, denominator: 12 });
  });

  it('says so when the bounds leave no way', () => {
    const stuck = { numerator: { min: 0, max: 1 }, denominator: { min: 8, max: 20 } };
    expect(repairRatio({ numerator: 1, denominator: 8 }, stuck, ratio)).toMatchObject({ isViolated: true });
  });

  it('keeps bounds always, and the ratio whenever it says that it is kept', () => {
    const side = fc.record({ min: fc.nat(4), extra: fc.nat(12) }).map(({ min, extra }) => ({ min, max: min + extra }));
    fc.assert(
      fc.property(side, side, fc.nat(20), fc.nat(20), fc.integer({ min: 1, max: 100 }), fc.nat(300), (a, b, n, d, low, span) => {
        const range = { minRatio: low / 100, maxRatio: (low + span) / 100 };
        const repaired = repairRatio({ numerator: n, denominator: d }, { numerator: a, denominator: b }, range);
        expect(repaired.numerator).toBeGreaterThanOrEqual(a.min);
        expect(repaired.numerator).toBeLessThanOrEqual(a.max);
        expect(repaired.denominator).toBeGreaterThanOrEqual(b.min);
        expect(repaired.denominator).toBeLessThanOrEqual(b.max);
        if (!repaired.isViolated && repaired.denominator > 0) {
          const q = repaired.numerator / repaired.denominator;
          expect(q).toBeGreaterThanOrEqual(range.minRatio - 1e-9);
          expect(q).toBeLessThanOrEqual(range.maxRatio + 1e-9);
        }
      }),
    );
  });
});

describe('the roles of a target that may rest at zero', () => {
  const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
  const behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };
  const roles = [
    { name: 'decode', min: 0, max: 4 },
    { name: 'prefill', min: 0, max: 4 },
  ];

  it.each([
    ['one is idle and the other is not: both stay', [1, 1], [15, 0], 'possible', [2, 1]],
    ['both are idle: both go', [1, 1], [0, 0], 'possible', [0, 0]],
    ['requests wait: both wake', [0, 0], [undefined, undefined], 'wanted', [1, 1]],
    ['nobody waits: both sleep on', [0, 0], [undefined, undefined], 'possible', [0, 0]],
  ] as const)('%s', (_what, current, loads, wake, expected) => {
    const { decision } = decide(
      { algorithm: defaultAlgorithm, tolerance: 0.1, behavior, target: { kind: 'disaggregated', roles } },
      {
        atMs: 0,
        isViewStale: false,
        units: roles.map(({ name }, i) => {
          const value = loads[i];
          const reading =
            value === undefined
              ? ({ kind: 'missing', reason: 'no pods' } as const)
              : ({ kind: 'samples', values: [value] } as const);
          const metrics = [{ name: 'running', targetValue: 10, reading }];
          return { name, current: current[i]!, metrics, unreadyPods: 0, rest: { wake } };
        }),
      },
      {},
    );
    expect(decision.units.map(({ desired }) => desired)).toEqual(expected);
  });
});
