import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';
import { type Restrainable, restrain } from '../../../../runtime/autoscaler/limits/restrain';
import { policyOf } from '../../../helpers/autoscaler-rig';

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const template = {
  metadata: { name: 'x' },
  spec: { containers: [{ name: 'e', resources: { limits: { 'nvidia.com/gpu': 1 } } }] },
};

/** Pools a and b, of which a is to take over from b. */
function exchange(max: number, largestStep?: number): Restrainable {
  const pools = [
    { name: 'a', cost: 1, min: 0, max: 8 },
    { name: 'b', cost: 5, min: 0, max },
    { name: 'c', cost: 5, min: 0, max },
  ];
  const counts = [
    [0, 6],
    [3, 0],
    [3, 0],
  ] as const;
  return {
    policy: {
      id: 'p',
      object: policyOf('p', { spec: {} }),
      name: 'p',
      spec: {
        algorithm: defaultAlgorithm,
        tolerance: 0.1,
        behavior: { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } },
        target: { kind: 'heterogeneous', pools, costExpansionRatePercent: 200, strategy: 'blocks' },
      },
      units: pools.map(({ name }) => ({
        name,
        target: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name },
        queries: [],
      })),
      isChosen: false,
      isPaused: false,
      isRecommendOnly: false,
      schedules: [],
      priority: 0,
      mayRest: false,
      revision: '1',
      ...(largestStep !== undefined && { largestStep }),
    },
    decision: {
      units: pools.map(({ name }, i) => ({
        name,
        current: counts[i]![0],
        desired: counts[i]![1],
        mode: 'Stable',
        verdicts: [],
        limits: [],
      })),
      isRatioAdjusted: false,
      isRatioViolated: false,
    },
    handles: pools.map(({ name }) => ({ uid: name, version: '1', pods: [], isRollingOut: false })),
  };
}

const left = (item: Restrainable, most: number): readonly number[] => {
  const limits = [{ name: 'budget all', of: 'gpus' as const, most }];
  const [decision] = restrain([item], { limits, taken: [], workloadPods: { podsOf: () => [template] }, isDryRun: false });
  return decision!.units.map(({ desired }) => desired);
};

describe('a pool that takes over from others', () => {
  it('takes their place at once where nothing limits it', () => {
    expect(left(exchange(4), 100)).toEqual([6, 0, 0]);
  });

  it('leaves them what runs while a budget holds it up, but for what is beyond their maximum', () => {
    expect(left(exchange(4), 8)).toEqual([2, 3, 3]);
    expect(left(exchange(2), 8)).toEqual([2, 2, 2]);
  });

  it('leaves them what runs while it may only grow in steps', () => {
    expect(left(exchange(4, 2), 100)).toEqual([2, 3, 3]);
  });
});
