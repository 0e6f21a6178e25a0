import { decide } from '../../../../runtime/autoscaler/decide/decide';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import type { Rest } from '../../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };
const pools = [
  { name: 'cheap', cost: 1, min: 0, max: 4 },
  { name: 'dear', cost: 5, min: 0, max: 2 },
];

/** What is decided without any metric. */
function blind(algorithm: typeof defaultAlgorithm, current: readonly [number, number], rest?: Rest): readonly number[] {
  const units = pools.map(({ name }, i) => ({
    name,
    current: current[i]!,
    metrics: [{ name: 'running', targetValue: 10, reading: { kind: 'missing', reason: 'no page' } as const }],
    unreadyPods: 0,
    ...(rest && { rest }),
  }));
  const target = { kind: 'heterogeneous', pools, costExpansionRatePercent: 200, strategy: 'blocks' } as const;
  const { decision } = decide({ algorithm, tolerance: 0.1, behavior, target }, { atMs: 0, isViewStale: false, units }, {});
  return decision.units.map(({ desired }) => desired);
}

describe('pools by cost blocks, without any metric', () => {
  it('are each brought within their own bounds, and none grows for another', () => {
    expect(blind(defaultAlgorithm, [1, 6])).toEqual([1, 2]);
    expect(blind(defaultAlgorithm, [1, 4])).toEqual([1, 2]);
  });

  it('wake by the cheapest when requests wait for them', () => {
    expect(blind(defaultAlgorithm, [0, 0], { wake: 'wanted' })).toEqual([1, 0]);
    expect(blind(defaultAlgorithm, [0, 0], { wake: 'possible' })).toEqual([0, 0]);
    expect(blind(defaultAlgorithm, [0, 2], { wake: 'wanted' })).toEqual([0, 2]);
  });

  it('are laid anew by Kthena where their sum is beyond its bounds, and left as they are otherwise', () => {
    expect(blind(kthenaAlgorithm, [1, 6])).toEqual([4, 2]);
    expect(blind(kthenaAlgorithm, [1, 4])).toEqual([1, 4]);
  });
});
