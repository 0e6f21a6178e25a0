import type { History } from '../../../../runtime/autoscaler/decide/history';
import { followLoad, type LoadTrend } from '../../../../runtime/autoscaler/decide/load-trend';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';
import { decideCount } from '../../../../runtime/autoscaler/decide/scaler';
import { seededRandom } from '../../../../runtime/lib/random';

const WINDOW_MS = 60_000;

/** Follows a gauge in rounds of 15 s. */
function follow(loads: readonly number[]): readonly { readonly load: number; readonly error: number }[] {
  let trend: LoadTrend | undefined;
  return loads.map((load, round) => {
    const steady = followLoad(trend, { atMs: 15_000 * round, load, over: 'moment' }, WINDOW_MS);
    trend = steady.trend;
    return steady;
  });
}

/** `mean` with a normal error of `deviation`. */
function swinging(mean: number, deviation: number, rounds: number, seed: number): readonly number[] {
  const random = seededRandom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Array.from({ length: rounds }, () => mean + deviation * normal());
}

describe('a load that is followed', () => {
  it('is taken as it is while it is not known what chance does, and when it does not swing', () => {
    expect(follow([3, 5, 4, 6]).map(({ load }) => load)).toEqual([3, 5, 4, 6]);
    const flat = [...Array<number>(60).fill(3), 7, 7];
    expect(follow(flat).map(({ load }) => load)).toEqual(flat);
  });

  it('is averaged when it swings, and its error says by how much the average may be wrong', () => {
    for (const seed of [1, 2, 3]) {
      const followed = follow(swinging(3, 0.5, 400, seed)).slice(100);
      const errors = followed.map(({ load }) => load - 3);
      const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length);
      expect(deviation).toBeLessThan(0.2);
      const said = followed.reduce((sum, { error }) => sum + error, 0) / followed.length;
      expect(said / deviation).toBeGreaterThan(0.6);
      expect(said / deviation).toBeLessThan(1.8);
    }
  });

  it('counts at once, within one window, when it changes by more than chance', () => {
    for (const seed of [1, 2, 3]) {
      const loads = [...swinging(10, 0.5, 200, seed), ...swinging(15, 0.5, 8, seed + 10)];
      expect(follow(loads).at(203)!.load).toBeGreaterThan(14);
    }
  });

  it('never has an average outside of what was read within five windows', () => {
    const loads = [...swinging(4, 1, 100, 4), ...swinging(9, 2, 100, 5), ...swinging(1, 0.2, 100, 6)];
    for (const [i, { load }] of follow(loads).entries()) {
      const recent = loads.slice(Math.max(0, i - 25), i + 1);
      expect(load).toBeGreaterThanOrEqual(Math.min(...recent) - 1e-9);
      expect(load).toBeLessThanOrEqual(Math.max(...recent) + 1e-9);
    }
  });
});

describe('a count by a load that swings', () => {
  const step = { instances: 4, percent: 100, periodMs: 60_000, selectPolicy: 'Or', stabilizationWindowMs: 0 };
  const behavior = {
    scaleUp: step,
    scaleDown: { ...step, stabilizationWindowMs: 300_000 },
    panic: { percent: 1000, periodMs: 60_000, thresholdPercent: 200, holdMs: 60_000 },
  };
  const decideAll = (algorithm: typeof defaultAlgorithm, loads: readonly number[]) => {
    let history: History | undefined;
    let current = 3;
    return loads.map((load, round) => {
      const reading = { kind: 'samples', values: Array<number>(current).fill((10 * load) / current), over: 'moment' } as const;
      const metrics = [{ name: 'running', targetValue: 10, reading }];
      const demand = { current, bounds: { min: 1, max: 20 }, tolerance: 0.1, metrics, unreadyPods: 0, targets: 1 };
      const at = { atMs: 15_000 * round, isViewStale: false };
      const decided = decideCount({ algorithm, behavior, metricWindowMs: WINDOW_MS }, demand, history, at);
      history = decided.history;
      current = decided.count.replicas;
      return decided.count;
    });
  };

  it('stays where it is', () => {
    const counts = decideAll(defaultAlgorithm, swinging(2.7, 0.4, 400, 3))
      .slice(60)
      .map(({ replicas }) => replicas);
    expect(counts.filter((count, i) => i > 0 && count !== counts[i - 1])).toEqual([]);
  });

  it('panics in the round in which the load surges', () => {
    const counts = decideAll(defaultAlgorithm, [...swinging(2.7, 0.4, 200, 3), 9]);
    expect(counts.at(-1)).toMatchObject({ mode: 'Panic', replicas: 9 });
  });
});
