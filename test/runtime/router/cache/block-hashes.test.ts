import fc from 'fast-check';
import { BlockHasher, blocksInBytes, bytesOfBlocks } from '../../../../runtime/router/cache/block-hashes';

describe('block hashes of a prompt', () => {
  let hasher: BlockHasher;
  beforeAll(async () => {
    hasher = new BlockHasher();
  });

  it.each([
    [255, 0],
    [256, 1],
    [16_384, 64],
    [16_384 + 1023, 64],
    [16_384 + 1024, 65],
    [1_048_576, 64 + 1008],
  ])('%i bytes have %i full blocks', (bytes, blocks) => {
    expect(blocksInBytes(bytes)).toBe(blocks);
    expect(bytesOfBlocks(blocks)).toBeLessThanOrEqual(bytes);
    expect(hasher.hash({ model: 'm' }, [new Uint8Array(bytes)]).count).toBe(blocks);
  });

  it('are the same with the same seed only', async () => {
    const words = async (seed?: bigint): Promise<Uint32Array> =>
      new BlockHasher(seed).hash({ model: 'm' }, [new Uint8Array(600)]).words;
    expect(await words(7n)).toEqual(await words(7n));
    expect(await words(7n)).not.toEqual(await words(8n));
    expect(await words()).toEqual(await words(0n));
  });

  it('do not depend on how the prompt is cut into spans', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000, minLength: 1000 }), fc.array(fc.nat(3000), { maxLength: 5 }), (text, cuts) => {
        const edges = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
        const spans = edges.slice(1).map((end, i) => text.subarray(edges[i], end));
        expect(hasher.hash({ model: 'm' }, spans)).toEqual(hasher.hash({ model: 'm' }, [text]));
      }),
      { numRuns: 50 },
    );
  });

  it('are equal up to the block that differs, and different from there to the end', () => {
    const text = new Uint8Array(2048).fill(97);
    const other = text.slice();
    other[600] = 98;
    const a = hasher.hash({ model: 'm' }, [text]).words;
    const b = hasher.hash({ model: 'm' }, [other]).words;
    const equal = Array.from({ length: 8 }, (_, i) => a[2 * i] === b[2 * i] && a[2 * i + 1] === b[2 * i + 1]);
    expect(equal).toEqual([true, true, false, false, false, false, false, false]);
  });

  it('differ between models and between adapters of one model', () => {
    const text = [new Uint8Array(256).fill(97)];
    const keys = [{ model: 'a' }, { model: 'b' }, { model: 'a', adapter: 'x' }, { model: 'a', adapter: 'y' }];
    expect(new Set(keys.map((key) => hasher.hash(key, text).words.join())).size).toBe(keys.length);
  });
});
