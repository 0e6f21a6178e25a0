import { decide } from '../../../../runtime/autoscaler/decide/decide';
import type { UnitDecision } from '../../../../runtime/autoscaler/decide/decision';
import { kthenaAlgorithm } from '../../../../runtime/autoscaler/decide/kthena/recommend';
import type { Rest } from '../../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../../runtime/autoscaler/decide/recommend';

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };

interface Seen {
  readonly current: number;
  /** Replicas that the load is worth. */
  readonly load: number;
  /** Replicas that it may have while its pods do not start. */
  readonly most: number;
  readonly min?: number;
  readonly rest?: Rest;
  readonly algorithm?: typeof defaultAlgorithm;
}

function decided({ current, load, most, min = 0, rest, algorithm = defaultAlgorithm }: Seen): UnitDecision {
  const metrics = [{ name: 'running', targetValue: 10, reading: { kind: 'external', value: load * 10 } as const }];
  const backOff = { most, reason: 'no node has room for pod chat-3' };
  const unit = { name: 'chat', current, metrics, unreadyPods: 0, backOff, ...(rest && { rest }) };
  const target = { kind: 'homogeneous', unit: { name: 'chat', min, max: 16 } } as const;
  const spec = { algorithm, tolerance: 0.1, behavior, target };
  return decide(spec, { atMs: 0, isViewStale: false, units: [unit] }, {}).decision.units[0]!;
}

describe('a target whose pods do not start', () => {
  it.each<[string, Seen, number, boolean]>([
    ['is not grown, and what is on its way stays', { current: 4, load: 9, most: 2 }, 4, true],
    ['says so while fewer start than are asked for', { current: 4, load: 4, most: 2 }, 4, true],
    ['is tried with one more when its time is over', { current: 2, load: 9, most: 3 }, 3, true],
    ['shrinks when less is asked for', { current: 4, load: 2, most: 2 }, 2, false],
    ['is tried with its minimum in any case', { current: 1, load: 9, most: 1, min: 3 }, 3, false],
    ['is tried with one when requests wait', { current: 0, load: 0, most: 0, rest: { wake: 'wanted' } }, 1, true],
    ['is grown by Kthena all the same', { current: 4, load: 9, most: 2, algorithm: kthenaAlgorithm }, 9, false],
  ])('%s', (_sentence, seen, desired, isSaid) => {
    const unit = decided(seen);
    expect(unit.desired).toBe(desired);
    const said = unit.limits.filter(({ rule }) => rule === 'back-off').map(({ by }) => by);
    if (isSaid) expect(said).toEqual(['chat: no node has room for pod chat-3']);
    if (seen.algorithm === kthenaAlgorithm) expect(said).toEqual([]);
  });
});
