import * as fc from 'fast-check';
import { BlockKeys, type KeyNamespace } from '../../../runtime/simulator/index';

const keysOf = (tokens: readonly number[], blockSize = 4, namespace: KeyNamespace = {}): number[] => {
  const keys = new BlockKeys(blockSize, namespace, (i) => tokens[i]!);
  return Array.from({ length: Math.floor(tokens.length / blockSize) }, (_, i) => keys.key(i));
};
const token = fc.integer({ min: 0, max: 2 ** 49 });

describe('keys of KV blocks', () => {
  it('are integers below 2^53', () => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 4 }), (tokens) =>
        keysOf(tokens).every((key) => Number.isSafeInteger(key) && key >= 0),
      ),
    );
  });

  it('are equal exactly up to the first block that differs', () => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 8, maxLength: 40 }), fc.nat(), token, (tokens, at, other) => {
        const position = at % (tokens.length - (tokens.length % 4));
        fc.pre(tokens[position] !== other);
        const changed = tokens.map((value, i) => (i === position ? other : value));
        const [a, b] = [keysOf(tokens), keysOf(changed)];
        expect(a.map((key, block) => key === b[block])).toEqual(a.map((_, block) => block < Math.floor(position / 4)));
      }),
    );
  });

  it('differ by adapter and by salt from the first block on, and an adapter is not a salt of the same name', () => {
    const tokens = [1, 2, 3, 4, 5, 6, 7, 8];
    const all = [{}, { adapter: 'a' }, { salt: 'a' }, { adapter: 'a', salt: 'a' }, { adapter: 'aa' }].map((namespace) =>
      keysOf(tokens, 4, namespace),
    );
    expect(new Set(all.flat()).size).toBe(all.length * 2);
  });

  it('do not collide in two hundred thousand blocks', () => {
    const seen = new Set<number>();
    const keys = new BlockKeys(1, {}, (i) => i % 7);
    for (let i = 0; i < 200_000; i++) seen.add(keys.key(i));
    expect(seen.size).toBe(200_000);
  });
});
