import {
  decideHpa,
  type HpaMemory,
  NO_HPA_MEMORY,
  type PodMetric,
  replicasFor,
} from '../../../../runtime/cli/scaling-proof/strategies/horizontal-pod-autoscaler';

const running = (...values: readonly (number | undefined)[]): readonly PodMetric[] =>
  values.map((value) => (value === undefined ? { phase: 'running' } : { phase: 'running', value }));
const pending: PodMetric = { phase: 'pending' };
const terminating: PodMetric = { phase: 'terminating', value: 100 };

describe('the replicas that a HorizontalPodAutoscaler wants, at a target of 10', () => {
  it.each([
    ['rounds up what the mean asks for', running(15, 15), 3],
    ['changes nothing within a tenth of the target', running(10.9, 10.9), 2],
    ['takes exactly a tenth more for more than a tenth, as the quotient 1.1 is', running(11, 11), 3],
    ['changes nothing at exactly a tenth less', running(9, 9), 2],
    ['goes down when pods have less', running(4, 4), 1],
    ['takes a pod without a sample for idle when more are wanted', running(30, undefined), 3],
    ['changes nothing when the idle pods are enough', running(18, undefined), 2],
    ['takes a pod without a sample to be on target when fewer are wanted', running(2, 2, undefined), 2],
    ['takes pending pods for idle when more are wanted', [...running(30), pending, pending], 3],
    ['leaves pending pods out when fewer are wanted', [...running(2, 2, 2, 2), pending], 1],
    ['leaves terminating pods out', [...running(20, 20), terminating], 4],
    ['knows nothing without any sample', running(undefined, undefined), undefined],
  ])('%s', (_, pods, expected) => {
    const current = pods.filter(({ phase }) => phase !== 'terminating').length;
    expect(replicasFor(pods, current, 10)).toBe(expected);
  });
});

describe('a HorizontalPodAutoscaler without behavior', () => {
  const spec = { min: 1, max: 20, target: 10 };
  /** Runs turns of 15 s with this load on every pod. */
  const turns = (loads: readonly number[], first: number, bounds = spec): readonly number[] => {
    let memory: HpaMemory = NO_HPA_MEMORY;
    let current = first;
    return loads.map((load, turn) => {
      const pods = Array.from({ length: current }, (): PodMetric => ({ phase: 'running', value: load }));
      const decided = decideHpa(bounds, { current, pods, nowMs: 15_000 * turn }, memory);
      ({ memory, replicas: current } = decided);
      return current;
    });
  };

  it('adds four pods or doubles in 15 seconds, whichever is more', () => {
    expect(turns([100, 100], 1)).toEqual([5, 10]);
    expect(turns([100], 6)).toEqual([12]);
  });

  it('goes down to the greatest recommendation of five minutes, at once and as far as that says', () => {
    const down = turns(
      Array.from({ length: 24 }, () => 2),
      10,
    );
    expect(down.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 10));
    expect(down[20]).toBe(2);
  });

  it('stays within its bounds, and comes back to them at once', () => {
    expect(turns([1000, 1000, 1000], 5, { ...spec, max: 8 })).toEqual([8, 8, 8]);
    expect(decideHpa({ ...spec, min: 3 }, { current: 1, pods: [], nowMs: 0 }, NO_HPA_MEMORY).replicas).toBe(3);
    expect(decideHpa(spec, { current: 30, pods: [], nowMs: 0 }, NO_HPA_MEMORY).replicas).toBe(20);
  });

  it('is switched off by zero replicas, and changes nothing without samples', () => {
    expect(decideHpa(spec, { current: 0, pods: [], nowMs: 0 }, NO_HPA_MEMORY).replicas).toBe(0);
    expect(decideHpa(spec, { current: 4, pods: running(undefined), nowMs: 0 }, NO_HPA_MEMORY).replicas).toBe(4);
  });
});
