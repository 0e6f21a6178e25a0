import type { Algorithm } from '../../../../runtime/autoscaler/decide/algorithm';
import { correct } from '../../../../runtime/autoscaler/decide/behavior';
import { EMPTY_HISTORY } from '../../../../runtime/autoscaler/decide/history';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import type { MetricReading } from '../../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';

interface Row {
  readonly current: number;
  readonly readings: readonly MetricReading[];
  readonly min?: number;
  readonly max?: number;
  readonly tolerance?: number;
  readonly target?: number;
  readonly unready?: number;
  readonly targets?: number;
}

const podSum = (...values: number[]): MetricReading => ({ kind: 'samples', values });
const prometheus = (value: number): MetricReading => ({ kind: 'external', value });
const missing: MetricReading = { kind: 'missing', reason: 'no page' };

function recommended(algorithm: Algorithm, row: Row): number | 'unknown' {
  const recommendation = algorithm.recommend({
    current: row.current,
    bounds: { min: row.min ?? 1, max: row.max ?? 100 },
    tolerance: row.tolerance ?? 0.1,
    metrics: row.readings.map((reading, i) => ({ name: `m${i}`, targetValue: row.target ?? 10, reading })),
    unreadyPods: row.unready ?? 0,
    targets: row.targets ?? 1,
  });
  return recommendation.kind === 'unknown' ? 'unknown' : recommendation.replicas;
}

describe("Kthena's recommendation vectors (kthena-workload.md, B.2)", () => {
  const rows: [string, Row, number][] = [
    ['4 replicas below a minimum of 5, no metrics', { current: 4, min: 5, max: 10, readings: [] }, 5],
    ['11 replicas above a maximum of 10, no metrics', { current: 11, min: 5, max: 10, readings: [] }, 10],
    ['5 replicas, pods sum to 52', { current: 5, readings: [podSum(52)] }, 6],
    ['5 replicas, pods sum to 10: the tolerance quirk', { current: 5, readings: [podSum(10)] }, 5],
    ['5 replicas, pods sum to 11.5', { current: 5, readings: [podSum(11.5)] }, 2],
    ['5 replicas, Prometheus says 52', { current: 5, readings: [prometheus(52)] }, 5],
    ['5 replicas, Prometheus says 10', { current: 5, readings: [prometheus(10)] }, 1],
    ['3 replicas, pods sum to 25, one unready', { current: 3, readings: [podSum(25)], unready: 1 }, 3],
    ['3 replicas, pods sum to 45, one unready', { current: 3, readings: [podSum(45)], unready: 1 }, 5],
    ['none, Prometheus says 0', { current: 0, min: 0, readings: [prometheus(0)] }, 0],
    ['none, Prometheus says 35', { current: 0, min: 0, readings: [prometheus(35)] }, 4],
    ['6 replicas of two params, one missing, sum 50', { current: 6, min: 2, readings: [podSum(50)], targets: 2 }, 6],
    ['6 replicas of two params, one missing, sum 5', { current: 6, min: 2, readings: [podSum(5)], targets: 2 }, 2],
    [
      '3 replicas, three entries, tolerance 0',
      { current: 3, readings: [podSum(19.1, 3.1, 7.1)], targets: 3, target: 1, tolerance: 0 },
      30,
    ],
  ];

  it.each(rows)('%s', (_, row, expected) => {
    expect(recommended(kthenaAlgorithm, row)).toBe(expected);
  });

  it('does nothing when no metric can be read', () => {
    expect(recommended(kthenaAlgorithm, { current: 3, readings: [missing] })).toBe('unknown');
  });
});

describe("the default algorithm's values where they differ from Kthena's", () => {
  const rows: [string, Row, number][] = [
    ['5 replicas at 104 % of the target stay', { current: 5, readings: [podSum(10.4, 10.4, 10.4, 10.4, 10.4)] }, 5],
    ['5 replicas with the load of one become 1', { current: 5, readings: [podSum(2, 2, 2, 2, 2)] }, 1],
    ['5 replicas with 11.5 become 2', { current: 5, readings: [podSum(2.3, 2.3, 2.3, 2.3, 2.3)] }, 2],
    ['3 replicas of which two answer 25: the silent one will carry its share', { current: 3, readings: [podSum(12.5, 12.5)] }, 3],
    ['3 replicas of which two answer 45', { current: 3, readings: [podSum(22.5, 22.5)] }, 5],
    ['5 replicas of which one answers 5: the silent ones count as on target', { current: 5, readings: [podSum(5)] }, 5],
    ['5 replicas of which four answer nothing to do', { current: 5, readings: [podSum(0, 0, 0, 0)] }, 1],
    ['4 replicas of which two answer nothing to do', { current: 4, readings: [podSum(0, 0)] }, 2],
    ['a replica too many that still answers brings its load, not a replica', { current: 2, readings: [podSum(10, 10, 10)] }, 3],
    ['one metric falls while another cannot be read', { current: 4, readings: [podSum(0, 0, 0, 0), missing] }, 4],
    ['one metric rises while another cannot be read', { current: 2, readings: [podSum(30, 30), missing] }, 6],
    ['the greater of two demands counts', { current: 2, readings: [podSum(10, 10), podSum(40, 40)] }, 8],
    ['three times 0.1 at a target of 0.1 are three', { current: 1, readings: [podSum(0.1, 0.1, 0.1)], target: 0.1 }, 3],
    [
      'idle pods alone never go to zero, since nothing of theirs could wake them',
      { current: 2, min: 0, readings: [podSum(0, 0)] },
      1,
    ],
    ['an external metric may go to zero', { current: 2, min: 0, readings: [prometheus(0)] }, 0],
  ];

  it.each(rows)('%s', (_, row, expected) => {
    expect(recommended(defaultAlgorithm, row)).toBe(expected);
  });

  const same: [string, Row, number][] = [
    ['4 replicas below a minimum of 5, no metrics', { current: 4, min: 5, max: 10, readings: [] }, 5],
    ['11 replicas above a maximum of 10, no metrics', { current: 11, min: 5, max: 10, readings: [] }, 10],
    ['5 replicas, Prometheus says 52', { current: 5, readings: [prometheus(52)] }, 5],
    ['5 replicas, Prometheus says 10', { current: 5, readings: [prometheus(10)] }, 1],
    ['none, Prometheus says 35', { current: 0, min: 0, readings: [prometheus(35)] }, 4],
  ];

  it.each(same)('agrees with Kthena: %s', (_, row, expected) => {
    expect(recommended(defaultAlgorithm, row)).toBe(expected);
    expect(recommended(kthenaAlgorithm, row)).toBe(expected);
  });

  it('does nothing when no replica answers', () => {
    expect(recommended(defaultAlgorithm, { current: 3, readings: [podSum()] })).toBe('unknown');
  });
});

describe("Kthena's correction vectors: 10 replicas, 5 recommended, at most one replica or 40 % down", () => {
  const step = { instances: 1, percent: 40, periodMs: 60_000, stabilizationWindowMs: 300_000 };
  const up = { instances: 4, percent: 100, periodMs: 60_000, selectPolicy: 'Or', stabilizationWindowMs: 60_000 };
  const panic = { percent: 0, periodMs: 60_000, thresholdPercent: 200, holdMs: 0 };

  it.each([
    ['Or', 6],
    ['And', 9],
    ['Neither', 5],
  ])('%s: %d', (selectPolicy, expected) => {
    const behavior = { scaleUp: up, panic, scaleDown: { ...step, selectPolicy } };
    const wish = { current: 10, recommended: 5, bounds: { min: 1, max: 100 } };
    expect(correct(behavior, wish, EMPTY_HISTORY, 0, kthenaAlgorithm.isSurge).replicas).toBe(expected);
  });
});
