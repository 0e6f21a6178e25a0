import fc from 'fast-check';
import { BlockKeyTable } from '../../../../runtime/simulator/core/block-key-table';

/** Keys as block keys are: small, beyond 31 bits, negative, and close to each other. */
const key = fc.oneof(
  fc.integer({ min: -40, max: 40 }),
  fc.nat(30).map((n) => n * 2 ** 20 + 3),
  fc.maxSafeInteger(),
);

describe('the table of block keys', () => {
  it('holds what a Map would, whatever is set, replaced and deleted', () => {
    const step = fc.record({ kind: fc.constantFrom('set', 'set', 'delete'), key, block: fc.nat(1000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const table = new BlockKeyTable(80);
        const model = new Map<number, number>();
        for (const each of steps) {
          if (each.kind === 'set') {
            table.set(each.key, each.block);
            model.set(each.key, each.block);
          } else {
            table.delete(each.key);
            model.delete(each.key);
          }
          expect(table.size).toBe(model.size);
        }
        for (const { key: asked } of steps) expect(table.get(asked)).toBe(model.get(asked) ?? -1);
        table.clear();
        expect(table.size).toBe(0);
        for (const { key: asked } of steps) expect(table.get(asked)).toBe(-1);
      }),
    );
  });
});
