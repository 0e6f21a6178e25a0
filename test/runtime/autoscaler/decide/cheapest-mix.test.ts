import fc from 'fast-check';
import { capacityOf, cheapestMix, costOf, type MixPool } from '../../../../runtime/autoscaler/decide/cheapest-mix';
import { nextMix } from '../../../../runtime/autoscaler/decide/next-mix';

const pool = (name: string, cost: number, capacity: number, min: number, max: number): MixPool => ({
  name,
  cost,
  capacity,
  min,
  max,
});

describe('the cheapest mix', () => {
  const h100 = pool('h100', 410, 3, 0, 4);
  const l40s = pool('l40s', 120, 1, 1, 8);

  it.each([
    ['nothing to carry: every minimum', 0, [0, 1]],
    ['what a minimum carries', 1, [0, 1]],
    ['a part of a replica is a whole one', 1.2, [0, 2]],
    ['three cheap ones cost less than one that carries three', 3, [0, 3]],
    ['up to the maximum of the cheaper pool', 8, [0, 8]],
    ['then the dearer pool, and no more of the cheaper one than is needed', 9, [1, 6]],
    ['everything', 20, [4, 8]],
    ['more than everything carries', 100, [4, 8]],
  ])('%s', (_what, load, expected) => {
    expect(cheapestMix([h100, l40s], load)).toEqual(expected);
  });

  it('prefers the pool that is cheaper per load, not the one that is cheaper per replica', () => {
    expect(cheapestMix([pool('h100', 300, 3, 0, 4), pool('l40s', 120, 1, 0, 8)], 6)).toEqual([2, 0]);
  });

  it('rounds up with the pool that wastes least', () => {
    expect(cheapestMix([pool('h100', 300, 3, 0, 4), pool('l40s', 120, 1, 0, 8)], 7)).toEqual([2, 1]);
  });

  it('takes the first by name when pools are alike, in whatever order they are given', () => {
    const a = pool('a', 10, 1, 0, 3);
    const b = pool('b', 10, 1, 0, 3);
    expect(cheapestMix([a, b], 4)).toEqual([3, 1]);
    expect(cheapestMix([b, a], 4)).toEqual([1, 3]);
  });

  it('is not misled by sums of decimals', () => {
    expect(cheapestMix([pool('a', 1, 1.1, 0, 9)], 1.1 + 1.1 + 1.1)).toEqual([3]);
  });

  it('is found at once for pools as large as the kind allows', () => {
    const huge = ['a', 'b', 'c', 'd'].map((name, i) => pool(name, 7 + i, 1 + i / 3, 0, 1_000_000));
    const mix = cheapestMix(huge, 1_234_567.8);
    expect(capacityOf(huge, mix)).toBeGreaterThanOrEqual(1_234_567.8);
  });

  const pools = fc.array(
    fc.record({
      cost: fc.nat(40),
      capacity: fc.integer({ min: 10, max: 45 }).map((tenths) => tenths / 10),
      min: fc.nat(2),
      extra: fc.nat(4),
    }),
    { minLength: 1, maxLength: 3 },
  );
  const named = (raw: readonly { cost: number; capacity: number; min: number; extra: number }[]): MixPool[] =>
    raw.map(({ extra, min, ...rest }, i) => ({ name: `p${i}`, ...rest, min, max: min + extra }));

  it('is never outside the bounds, and never dearer than any other mix that carries the load', () => {
    fc.assert(
      fc.property(pools, fc.integer({ min: 0, max: 400 }), (raw, tenths) => {
        const all = named(raw);
        const load = tenths / 10;
        const found = cheapestMix(all, load);
        found.forEach((count, i) => {
          expect(count).toBeGreaterThanOrEqual(all[i]!.min);
          expect(count).toBeLessThanOrEqual(all[i]!.max);
        });
        const feasible = everyMix(all).filter((mix) => capacityOf(all, mix) >= load - 1e-9 * Math.max(1, load));
        if (feasible.length === 0) expect(found).toEqual(all.map(({ max }) => max));
        else expect(costOf(all, found)).toBe(Math.min(...feasible.map((mix) => costOf(all, mix))));
        if (feasible.length > 0) expect(capacityOf(all, found)).toBeGreaterThanOrEqual(load - 1e-9 * Math.max(1, load));
      }),
      { numRuns: 400 },
    );
  });

  it('is the same for the same pools in another order', () => {
    fc.assert(
      fc.property(pools, fc.integer({ min: 0, max: 400 }), (raw, tenths) => {
        const all = named(raw);
        const reversed = [...all].reverse();
        expect([...cheapestMix(reversed, tenths / 10)].reverse()).toEqual(cheapestMix(all, tenths / 10));
      }),
    );
  });

  it('keeps what runs when more is needed, and carries the load within the bounds in any case', () => {
    fc.assert(
      fc.property(
        pools,
        fc.array(fc.nat(7), { minLength: 3, maxLength: 3 }),
        fc.integer({ min: 0, max: 400 }),
        (raw, now, tenths) => {
          const all = named(raw);
          const current = all.map(({ min, max }, i) => Math.min(max, Math.max(min, now[i]!)));
          const load = Math.min(
            tenths / 10,
            capacityOf(
              all,
              all.map(({ max }) => max),
            ),
          );
          const next = nextMix(all, current, load);
          next.forEach((count, i) => {
            expect(count).toBeGreaterThanOrEqual(all[i]!.min);
            expect(count).toBeLessThanOrEqual(all[i]!.max);
            if (capacityOf(all, current) < load - 1e-6) expect(count).toBeGreaterThanOrEqual(current[i]!);
          });
          expect(capacityOf(all, next)).toBeGreaterThanOrEqual(load - 1e-6);
          // A step that changes nothing more: it does not swing to and fro.
          expect(costOf(all, nextMix(all, next, load))).toBeLessThanOrEqual(costOf(all, next));
        },
      ),
    );
  });
});

describe('the next mix', () => {
  const h100 = pool('h100', 410, 3, 0, 4);
  const l40s = pool('l40s', 120, 1, 0, 8);

  it.each([
    ['grows beside what runs', [1, 0], 4, [1, 1]],
    ['shrinks what runs', [1, 3], 4, [1, 1]],
    ['keeps what runs when the saving is smaller than the price of the starts', [1, 0], 3, [1, 0]],
    ['exchanges what runs when the saving is greater', [4, 0], 1, [0, 1]],
    ['brings a pool within its bounds', [5, 0], 12, [4, 0]],
  ])('%s', (_what, current, load, expected) => {
    expect(nextMix([h100, l40s], current, load)).toEqual(expected);
  });
});

function everyMix(pools: readonly MixPool[]): readonly (readonly number[])[] {
  return pools.reduce<readonly (readonly number[])[]>(
    (mixes, { min, max }) => mixes.flatMap((mix) => Array.from({ length: max - min + 1 }, (_, i) => [...mix, min + i])),
    [[]],
  );
}
