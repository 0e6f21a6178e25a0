import { BlockHasher } from '../../../../runtime/router/cache/block-hashes';
import { PodShares } from '../../../../runtime/router/cache/pod-shares';
import { PrefixIndex } from '../../../../runtime/router/cache/prefix-index';
import { TextDensity } from '../../../../runtime/router/cache/text-density';
import { LiveEndpoint } from '../../../../runtime/router/endpoints/live-endpoint';
import { candidate } from '../../../helpers/candidates';

const CAPACITY = {
  prefillTokensPerSecond: 1000,
  decodeBaseSeconds: 0.01,
  decodePerSequenceSeconds: 0.0001,
  decodePerContextTokenSeconds: 0,
  maxNumSeqs: 4,
  maxNumBatchedTokens: 8192,
  kvCapacityTokens: 1000,
};

describe('the shares of pods in the prefix index', () => {
  /** Bytes that the index takes for slot 0 of a prompt larger than any share. */
  const room = async (prepare: (shares: PodShares, density: TextDensity, live: LiveEndpoint) => void): Promise<number> => {
    const index = new PrefixIndex(1_000_000);
    const density = new TextDensity();
    const shares = new PodShares(index, density);
    prepare(shares, density, new LiveEndpoint(candidate(0).endpoint, CAPACITY, true));
    const hasher = new BlockHasher();
    index.reserve(hasher.hash({ model: 'm' }, [new Uint8Array(16_384)]), 0).confirm();
    return index.heldBytes(0);
  };

  it('are the tokens of their KV cache at four bytes a token at first', async () => {
    expect(await room((shares, _density, live) => shares.added(live))).toBe(3840);
  });

  it('follow the density of the text that a pod answers, and keep it over scrapes', async () => {
    const bytes = await room((shares, density, live) => {
      shares.added(live);
      for (let i = 0; i < 200; i++) density.observe('cjk', 2000, 1000);
      shares.answered(live, 'cjk');
      shares.refresh(live);
    });
    expect(bytes).toBeLessThan(2200);
    expect(bytes).toBeGreaterThan(1500);
  });

  it('are not given to the slot of a pod that is gone by an answer that comes late', async () => {
    const bytes = await room((shares, _density, live) => {
      shares.added(live);
      live.leave();
      shares.removed(live);
      shares.answered(live, 'm');
    });
    expect(bytes).toBe(0);
  });
});
