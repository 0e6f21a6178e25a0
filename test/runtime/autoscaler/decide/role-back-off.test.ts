import { decide } from '../../../../runtime/autoscaler/decide/decide';
import type { Decision } from '../../../../runtime/autoscaler/decide/decision';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };
const names = ['decode', 'prefill'] as const;
/** A prefill replica for 1 to 4 decode replicas. */
const ratio = { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: 0.25, maxRatio: 1 };

interface Seen {
  readonly current: number;
  /** Replicas that its load is worth. */
  readonly load: number;
  /** Replicas that it may have while its pods do not start. */
  readonly most?: number;
}

function decided(
  decode: Seen,
  prefill: Seen,
  { algorithm = defaultAlgorithm, min = 0 }: { algorithm?: typeof defaultAlgorithm; min?: number } = {},
): Decision {
  const units = [decode, prefill].map(({ current, load, most }, i) => {
    const reading = { kind: 'external', value: load * 10 } as const;
    const backOff = most === undefined ? {} : { backOff: { most, reason: 'no node has room for a pod' } };
    return { name: names[i]!, current, metrics: [{ name: 'running', targetValue: 10, reading }], unreadyPods: 0, ...backOff };
  });
  const roles = names.map((name) => ({ name, min, max: 16 }));
  return decide(
    { algorithm, tolerance: 0.1, behavior, target: { kind: 'disaggregated', roles, ratio } },
    { atMs: 0, isViewStale: false, units },
    {},
  ).decision;
}

const counts = ({ units }: Decision): readonly number[] => units.map(({ desired }) => desired);

describe('a role whose pods do not start', () => {
  it.each<[string, Seen, Seen, readonly number[], boolean]>([
    ['is not grown, and what is on its way stays', { current: 2, load: 2 }, { current: 2, load: 6, most: 1 }, [2, 2], false],
    [
      'holds the other one at the ratio to what started',
      { current: 2, load: 16 },
      { current: 4, load: 4, most: 1 },
      [4, 4],
      false,
    ],
    ['takes nothing away that runs', { current: 8, load: 8 }, { current: 2, load: 2, most: 1 }, [8, 2], true],
    ['lets the other one shrink', { current: 8, load: 3 }, { current: 2, load: 2, most: 1 }, [3, 2], false],
    ['is tried with one more when its time is over', { current: 4, load: 4 }, { current: 1, load: 3, most: 2 }, [4, 2], false],
    ['shrinks when less is asked for', { current: 4, load: 4 }, { current: 4, load: 2, most: 3 }, [4, 2], false],
    [
      'keeps a first replica each when both are called from zero',
      { current: 0, load: 6 },
      { current: 0, load: 2, most: 0 },
      [4, 1],
      false,
    ],
    [
      'holds nothing back when the other one does not start either',
      { current: 4, load: 8, most: 4 },
      { current: 1, load: 2, most: 1 },
      [4, 1],
      false,
    ],
  ])('%s', (_what, decode, prefill, expected, isRatioViolated) => {
    const decision = decided(decode, prefill);
    expect(counts(decision)).toEqual(expected);
    expect(decision.isRatioViolated).toBe(isRatioViolated);
  });

  it('is tried as often as its minimum asks for', () => {
    const decision = decided({ current: 3, load: 3 }, { current: 1, load: 1, most: 1 }, { min: 3 });
    expect(counts(decision)).toEqual([3, 3]);
  });

  it('says what it was held back from, and why', () => {
    const [, prefill] = decided({ current: 2, load: 2 }, { current: 2, load: 6, most: 1 }).units;
    expect(prefill!.limits).toContainEqual({ rule: 'back-off', from: 6, to: 2, by: 'prefill: no node has room for a pod' });
  });

  it('is grown under algorithm kthena, which knows no back-off', () => {
    const decision = decided({ current: 2, load: 2 }, { current: 2, load: 6, most: 1 }, { algorithm: kthenaAlgorithm, min: 1 });
    expect(counts(decision)).toEqual([6, 6]);
  });
});
