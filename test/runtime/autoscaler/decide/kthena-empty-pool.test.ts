import { decide } from '../../../../runtime/autoscaler/decide/decide';
import type { Decision } from '../../../../runtime/autoscaler/decide/decision';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import type { MetricReading } from '../../../../runtime/autoscaler/decide/observation';

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };
const pools = [
  { name: 'cheap', cost: 1, min: 0, max: 8 },
  { name: 'dear', cost: 5, min: 0, max: 8 },
];
const noPods: MetricReading = { kind: 'missing', reason: 'the target has no pods' };
/** The pods of a pool are one number. */
const pods = (sum: number): MetricReading => ({ kind: 'samples', values: [sum] });
const external = (value: number): MetricReading => ({ kind: 'external', value });

function decided(
  current: readonly [number, number],
  readings: readonly [MetricReading, MetricReading],
  name = 'running',
): Decision {
  const units = pools.map((pool, i) => ({
    name: pool.name,
    current: current[i]!,
    metrics: [{ name, targetValue: 10, reading: readings[i]! }],
    unreadyPods: 0,
  }));
  const target = { kind: 'heterogeneous', pools, costExpansionRatePercent: 200 } as const;
  const spec = { algorithm: kthenaAlgorithm, tolerance: 0.1, behavior, target };
  return decide(spec, { atMs: 0, isViewStale: false, units }, {}).decision;
}

const counts = ({ units }: Decision): readonly number[] => units.map(({ desired }) => desired);

describe('a pool without pods under algorithm: kthena', () => {
  it.each<[string, number, readonly number[]]>([
    ['adds nothing when the others ask for more', 60, [6, 0]],
    ['counts as one replica on target when they ask for less', 5, [2, 0]],
    ['brings what is less within the tolerance', 9, [3, 0]],
  ])('%s', (_sentence, sum, expected) => {
    expect(counts(decided([3, 0], [pods(sum), noPods]))).toEqual(expected);
  });

  it('leaves everything as it is when no other has pods', () => {
    const { units } = decided([3, 0], [noPods, noPods]);
    expect(units.map(({ desired }) => desired)).toEqual([3, 0]);
    expect(units.map(({ recommended }) => recommended)).toEqual([undefined, undefined]);
    expect(units[0]!.verdicts).toEqual([{ name: 'running', missing: 'the target has no pods' }]);
  });

  it('grows from zero by an external metric, and stays there without load', () => {
    expect(counts(decided([0, 0], [external(35), external(0)]))).toEqual([4, 0]);
    expect(counts(decided([0, 0], [external(0), external(0)]))).toEqual([0, 0]);
  });

  it('takes the plain mean of a share when no pool has replicas', () => {
    expect(counts(decided([0, 0], [external(60), external(20)], 'kv_cache_usage'))).toEqual([4, 0]);
    expect(counts(decided([2, 0], [external(60), external(20)], 'kv_cache_usage'))).toEqual([6, 0]);
  });
});
