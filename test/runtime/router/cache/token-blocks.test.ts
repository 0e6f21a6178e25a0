import { kvBlockSettings } from '../../../../runtime/router/cache/kv-block-settings';
import { ownedRuns, tokenBlockHash, tokenBlockHashes } from '../../../../runtime/router/cache/token-blocks';

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

describe('the hash of a block of tokens', () => {
  // Kthena's own vectors.
  it.each([
    [[1, 2, 3, 4], '4233425515844289900'],
    [upTo(16), '6615856733697512468'],
    [[0], '6863311662677045211'],
    [[], '0'],
  ])('of %j is %s', (tokens, hash) => {
    expect(tokenBlockHash(tokens)).toBe(hash);
  });

  it('is that of the block alone, wherever it stands, and the last block may be short', () => {
    expect(tokenBlockHashes([...upTo(16), ...upTo(16), 1, 2, 3, 4], 16, 128)).toEqual([
      '6615856733697512468',
      '6615856733697512468',
      '4233425515844289900',
    ]);
  });

  it('is made for the first blocks only', () => {
    expect(tokenBlockHashes(upTo(1000), 4, 128)).toHaveLength(128);
    expect(tokenBlockHashes([], 16, 128)).toEqual([]);
  });
});

describe('runs of owned blocks', () => {
  it('begin with the first block and end at the first gap', () => {
    const owners = [
      ['a', 'b', 'c'],
      ['a', 'b'],
      ['a', 'd'],
      ['a', 'b', 'd'],
    ].map((names) => new Set(names));
    expect(ownedRuns(owners)).toEqual(
      new Map([
        ['a', 4],
        ['b', 2],
        ['c', 1],
      ]),
    );
    expect(ownedRuns([])).toEqual(new Map());
    expect(ownedRuns([new Set(), new Set(['a'])])).toEqual(new Map());
  });
});

describe('settings of kvcache-aware', () => {
  const defaults = { tokensPerBlock: 16, maxBlocks: 128, tokenizerPort: { vLLM: undefined, SGLang: undefined }, timeoutMs: 50 };

  it.each<[string, Record<string, unknown>, object]>([
    ['Kthena’s', {}, {}],
    [
      'given',
      { blocksizetohash: 32, maxblockstomatch: 4, vllmtokenizerport: 9000, sglangtokenizerport: 9001, timeoutms: 20 },
      {
        tokensPerBlock: 32,
        maxBlocks: 4,
        tokenizerPort: { vLLM: 9000, SGLang: 9001 },
        timeoutMs: 20,
      },
    ],
    ['bad ones', { blocksizetohash: 0, maxblockstomatch: -1, vllmtokenizerport: 70_000, timeoutms: 'soon' }, {}],
  ])('are %s', (_name, args, expected) => {
    expect(kvBlockSettings(args)).toEqual({ ...defaults, ...expected });
  });
});
