import fc from 'fast-check';
import type { Footprint } from '../../../../runtime/autoscaler/limits/footprint';
import { type Limit, limitsOfBudget, limitsOfQuota, shareOf } from '../../../../runtime/autoscaler/limits/limit';
import { type Claim, shareOut } from '../../../../runtime/autoscaler/limits/share-out';

const h100: Footprint = { namespace: 'llm', accelerator: 'H100-SXM-80GB', gpus: 2, costPerHour: 8 };
const l40s: Footprint = { namespace: 'llm', accelerator: 'L40S-48GB', gpus: 1, costPerHour: 1 };
const gpus = (most: number | undefined, more: Partial<Limit> = {}): Limit => ({ name: 'budget all', of: 'gpus', most, ...more });
const claim = (current: number, desired: number, more: Partial<Claim> = {}): Claim => ({
  pending: 0,
  current,
  desired,
  min: 0,
  priority: 0,
  footprints: [l40s],
  ...more,
});
const pods = (count: number, footprint = l40s): Footprint[] => Array.from({ length: count }, () => footprint);
const replicas = (claims: readonly Claim[], limits: readonly Limit[], taken: readonly Footprint[]) =>
  shareOut(claims, limits, taken).map((grant) => grant.replicas);

describe('what limits leave, shared among policies', () => {
  it.each<[string, readonly Claim[], readonly Limit[], readonly Footprint[], readonly number[]]>([
    ['is enough for all', [claim(1, 3), claim(1, 2)], [gpus(8)], pods(2), [3, 2]],
    ['goes to the greater priority first', [claim(1, 4), claim(1, 4, { priority: 5 })], [gpus(5)], pods(2), [1, 4]],
    ['goes to who is below the minimum before others grow', [claim(3, 9), claim(0, 3, { min: 2 })], [gpus(5)], pods(3), [3, 2]],
    ['goes where it brings more of what is wanted', [claim(1, 10), claim(8, 10)], [gpus(12)], pods(9), [4, 8]],
    ['goes where it costs less', [claim(1, 3, { footprints: [h100] }), claim(1, 3)], [gpus(5)], [h100, l40s], [1, 3]],
    ['counts pods of nobody', [claim(1, 4)], [gpus(5)], pods(4), [2]],
    ['counts replicas without pods yet', [claim(3, 6, { pending: 2 })], [gpus(5)], pods(1), [5]],
    ['counts what the quota itself says', [claim(1, 4)], [gpus(5, { used: 4 })], pods(1), [2]],
    ['is nothing where the quota cannot be read', [claim(1, 4), claim(4, 2)], [gpus(undefined)], pods(5), [1, 2]],
    ['is no limit for another namespace', [claim(1, 4)], [gpus(1, { namespace: 'other' })], pods(1), [4]],
    [
      'is no limit for another accelerator',
      [claim(1, 4), claim(1, 3, { footprints: [h100] })],
      [gpus(2, { accelerator: 'H100-SXM-80GB' })],
      [h100, l40s],
      [4, 1],
    ],
    [
      'is a cost too',
      [claim(1, 3, { footprints: [h100] }), claim(1, 9)],
      [{ name: 'budget all', of: 'costPerHour', most: 16.5 }],
      [h100, l40s],
      [1, 8],
    ],
    ['takes nobody down who is beyond it', [claim(6, 7), claim(4, 4)], [gpus(5)], pods(10), [6, 4]],
  ])('%s', (_sentence, claims, limits, taken, expected) => {
    expect(replicas(claims, limits, taken)).toEqual(expected);
  });

  it('says what stood against growth', () => {
    const unpriced: Footprint = { ...l40s, costPerHour: undefined };
    const cost: Limit = { name: 'budget money', of: 'costPerHour', most: 100 };
    expect(shareOut([claim(1, 2, { footprints: [unpriced] })], [cost], [])).toEqual([
      { replicas: 1, cut: { limit: 'budget money', why: 'unpriced' } },
    ]);
    expect(shareOut([claim(1, 2)], [gpus(1)], pods(1))[0]!.cut).toEqual({ limit: 'budget all', why: 'full' });
    expect(shareOut([claim(1, 2)], [gpus(undefined)], [])[0]!.cut).toEqual({ limit: 'budget all', why: 'unreadable' });
  });

  it('never adds up to more than a limit, never shrinks who wants to grow, and gives nobody more than was asked for', () => {
    const footprint = fc.constantFrom(h100, l40s);
    const anyClaim = fc
      .record({ current: fc.nat(6), desired: fc.nat(12), min: fc.nat(4), priority: fc.nat(2), footprint, pending: fc.nat(2) })
      .map(({ footprint: one, pending, ...rest }) =>
        claim(rest.current, rest.desired, { ...rest, footprints: [one], pending: Math.min(pending, rest.current) }),
      );
    const anyLimit = fc.record({
      name: fc.constant('budget x'),
      of: fc.constantFrom('gpus' as const, 'costPerHour' as const),
      most: fc.nat(60),
    });
    fc.assert(
      fc.property(fc.array(anyClaim, { minLength: 1, maxLength: 6 }), fc.array(anyLimit, { maxLength: 3 }), (claims, limits) => {
        const taken = claims.flatMap(({ current, pending, footprints }) => pods(current - pending, footprints[0]));
        const grants = shareOut(claims, limits, taken);
        for (const limit of limits) {
          const use = (counts: readonly number[]) =>
            counts.reduce((sum, count, i) => sum + count * shareOf(limit, claims[i]!.footprints[0]!)!, 0);
          const before = use(claims.map(({ current }) => current));
          // Who shrinks keeps its pods until they are gone.
          const after = use(grants.map(({ replicas: granted }, i) => Math.max(granted, claims[i]!.current)));
          expect(after).toBeLessThanOrEqual(Math.max(before, limit.most) + 1e-6);
        }
        grants.forEach(({ replicas: granted, cut }, i) => {
          const { current, desired } = claims[i]!;
          if (desired <= current) expect(granted).toBe(desired);
          else expect(granted).toBeGreaterThanOrEqual(current);
          expect(granted).toBeLessThanOrEqual(desired);
          expect(cut !== undefined).toBe(granted < desired);
        });
      }),
    );
  });
});

describe('limits', () => {
  it('of a budget are its GPUs and its cost', () => {
    expect(limitsOfBudget({ name: 'prod', namespace: 'llm', maxGpus: 8, maxCostPerHour: 40 })).toEqual([
      { name: 'budget prod', namespace: 'llm', of: 'gpus', most: 8 },
      { name: 'budget prod', namespace: 'llm', of: 'costPerHour', most: 40 },
    ]);
  });

  it('of a ResourceQuota are its accelerators, and not its memory', () => {
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'gpus', namespace: 'llm' },
      spec: { hard: { 'requests.nvidia.com/gpu': '8', 'requests.memory': '1Ti', pods: 20 } },
      status: { used: { 'requests.nvidia.com/gpu': '3' } },
    };
    expect(limitsOfQuota(quota)).toEqual([{ name: 'ResourceQuota llm/gpus', of: 'gpus', namespace: 'llm', most: 8, used: 3 }]);
  });
});
