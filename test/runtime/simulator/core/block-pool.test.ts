import * as fc from 'fast-check';
import { BlockPool } from '../../../../runtime/simulator/core/block-pool';

describe('a pool of KV blocks', () => {
  it('evicts the tail of a chain before its head', () => {
    const pool = new BlockPool(3);
    const chain = [pool.take(), pool.take(), pool.take()];
    for (const [i, block] of chain.entries()) pool.cache(block, 100 + i);
    pool.release(chain);

    pool.take();
    expect([100, 101, 102].map((key) => pool.find(key) >= 0)).toEqual([true, true, false]);
    pool.take();
    expect([100, 101, 102].map((key) => pool.find(key) >= 0)).toEqual([true, false, false]);
  });

  it('keeps a block that is used again and evicts the one that rested longest', () => {
    const pool = new BlockPool(2);
    const [a, b] = [pool.take(), pool.take()];
    pool.cache(a, 1);
    pool.cache(b, 2);
    pool.release([a]);
    pool.release([b]);
    pool.share(pool.find(1));
    pool.release([a]);

    pool.take();
    expect([pool.find(1), pool.find(2)]).toEqual([a, -1]);
  });

  it('still finds a key when one of the two blocks that hold it is evicted', () => {
    const pool = new BlockPool(2);
    const [first, second] = [pool.take(), pool.take()];
    pool.cache(first, 7);
    pool.cache(second, 7);
    pool.release([first]);
    pool.release([second]);

    expect(pool.take()).toBe(first);
    expect(pool.find(7)).toBe(second);
    pool.take();
    expect(pool.find(7)).toBe(-1);
  });

  it('refuses to take a block when all are in use', () => {
    const pool = new BlockPool(1);
    pool.take();
    expect(() => pool.take()).toThrow('no free KV block');
  });

  it('conserves blocks and finds exactly the keys of a plain model, whatever is taken, shared and released', () => {
    const action = fc.record({ kind: fc.constantFrom('take', 'share', 'release', 'clear'), key: fc.nat(5), pick: fc.nat(20) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(action, { maxLength: 120 }), (size, actions) => {
        const pool = new BlockPool(size);
        const uses: number[] = [];
        const keyOf = new Map<number, number>();
        for (const { kind, key, pick } of actions) {
          if (kind === 'take' && pool.free > 0) {
            const block = pool.take();
            pool.cache(block, key);
            keyOf.set(block, key);
            uses.push(block);
          } else if (kind === 'share') {
            const block = pool.find(key);
            if (block >= 0) {
              pool.share(block);
              uses.push(block);
            }
          } else if (kind === 'release' && uses.length > 0) {
            pool.release(uses.splice(pick % uses.length, 1));
          } else if (kind === 'clear') {
            pool.clearCache();
            keyOf.clear();
          }
          expect(pool.free).toBe(size - new Set(uses).size);
          for (let block = 0; block < size; block++)
            expect(pool.references(block)).toBe(uses.filter((used) => used === block).length);
          for (let k = 0; k <= 5; k++) {
            const holders = [...keyOf].filter(([, held]) => held === k).map(([block]) => block);
            const found = pool.find(k);
            expect(holders.length === 0 ? found === -1 : holders.includes(found)).toBe(true);
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});
