import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import xxhash, { type XXHashAPI } from 'xxhash-wasm';
import { ChainedXxh64 } from '../../../../runtime/lib/xxh64/chained-xxh64';
import { xxh64ModuleText } from '../../../helpers/xxh64-module-text';

describe('ChainedXxh64', () => {
  let library: XXHashAPI;
  const chained = new ChainedXxh64();

  beforeAll(async () => {
    library = await xxhash();
  });

  const hashOf = (words: Uint32Array, block: number): bigint =>
    (BigInt(words[2 * block + 1]!) << 32n) | BigInt(words[2 * block]!);

  it('hashes blocks of any length as the library does, each seeded by the one before', () => {
    fc.assert(
      fc.property(
        fc
          .nat(300)
          .chain((length) => fc.tuple(fc.constant(length), fc.uint8Array({ minLength: 4 * length, maxLength: 4 * length }))),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        ([length, text], seed) => {
          chained.begin(Number(seed & 0xffffffffn), Number(seed >> 32n));
          chained.text.set(text);
          const words = new Uint32Array(10);
          chained.hash(3, length, words, 2);
          chained.text.set(text.subarray(3 * length));
          chained.hash(1, length, words, 8);
          let expected = seed;
          for (let block = 0; block < 4; block++) {
            expected = library.h64Raw(text.subarray(block * length, (block + 1) * length), expected);
            expect(hashOf(words, block + 1)).toBe(expected);
          }
          expect(words[0]).toBe(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('holds 64 KiB of text', () => {
    const text = new Uint8Array(65_536).map((_, index) => index * 31);
    chained.begin(1, 0);
    chained.text.set(text);
    const words = new Uint32Array(2);
    chained.hash(1, text.length, words, 0);
    expect(hashOf(words, 0)).toBe(library.h64Raw(text, 1n));
  });

  it('runs what its source says', async () => {
    const folder = join(__dirname, '../../../../runtime/lib/xxh64');
    expect(readFileSync(join(folder, 'xxh64-module.ts'), 'utf8')).toBe(await xxh64ModuleText());
  });
});
