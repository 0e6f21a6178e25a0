import { ChainedXxh64 } from '../../lib/xxh64/chained-xxh64';

/** Blocks of the first 16 KB are small, so that short system prompts are told apart; past it large ones keep long prompts cheap. */
export const SMALL_BLOCK_BYTES = 256;
export const LARGE_BLOCK_BYTES = 1024;
const LARGE_FROM_BYTES = 16_384;
const SMALL_BLOCKS = LARGE_FROM_BYTES / SMALL_BLOCK_BYTES;

/** Keys whose hash is remembered. */
const MAX_SEEDS = 10_000;

/** Bytes of text that the first `blocks` blocks cover. */
export function bytesOfBlocks(blocks: number): number {
  const small = Math.min(blocks, SMALL_BLOCKS);
  return small * SMALL_BLOCK_BYTES + (blocks - small) * LARGE_BLOCK_BYTES;
}

/** Full blocks in `bytes` bytes of text; the rest of the last one is not hashed, as engines cache full blocks only. */
export function blocksInBytes(bytes: number): number {
  if (bytes <= LARGE_FROM_BYTES) return Math.floor(bytes / SMALL_BLOCK_BYTES);
  return SMALL_BLOCKS + Math.floor((bytes - LARGE_FROM_BYTES) / LARGE_BLOCK_BYTES);
}

/** Chained hashes of a prompt's full blocks: equal hashes at i mean equal text from the start to the end of block i. */
export interface BlockHashes {
  readonly count: number;
  readonly totalBytes: number;
  /** Two words per block: low at 2i, high at 2i + 1. */
  readonly words: Uint32Array;
}

/** What besides the text makes KV different: requests share a cache only when all parts are equal. */
export interface CacheKey {
  readonly model: string;
  readonly adapter?: string | undefined;
  /** The `cache_salt` that is sent. */
  readonly salt?: string | undefined;
}

/** A chain's first hash, in two words. */
interface Seed {
  readonly low: number;
  readonly high: number;
}

/** Hashes prompts in one pass over their bytes: XXH64 of each block, seeded by the hash before it. */
export class BlockHasher {
  private readonly chain = new ChainedXxh64();
  private readonly seeds = new Map<string, Seed>();
  private readonly first: Seed;

  /** @param seed of all hashes, 64 bits: routers with one seed agree. */
  constructor(seed = 0n) {
    this.first = { low: Number(seed & 0xffffffffn), high: Number((seed >> 32n) & 0xffffffffn) };
  }

  hash({ model, adapter, salt }: CacheKey, spans: readonly Uint8Array[]): BlockHashes {
    let totalBytes = 0;
    for (const each of spans) totalBytes += each.length;
    const count = blocksInBytes(totalBytes);
    const words = new Uint32Array(2 * count);
    const plainKey = adapter === undefined ? model : `${model}\n${adapter}`;
    const seed = this.seedOf(salt === undefined ? plainKey : `${plainKey}\0${salt}`);
    const { text } = this.chain;
    this.chain.begin(seed.low, seed.high);
    let span = 0;
    let offset = 0;
    for (let block = 0; block < count; ) {
      const isSmall = block < SMALL_BLOCKS;
      const blockBytes = isSmall ? SMALL_BLOCK_BYTES : LARGE_BLOCK_BYTES;
      const blocks = Math.min((isSmall ? Math.min(count, SMALL_BLOCKS) : count) - block, text.length / blockBytes);
      const bytes = blocks * blockBytes;
      for (let filled = 0; filled < bytes; ) {
        const source = spans[span]!;
        const take = Math.min(bytes - filled, source.length - offset);
        text.set(take === source.length ? source : source.subarray(offset, offset + take), filled);
        filled += take;
        offset += take;
        if (offset < source.length) continue;
        span += 1;
        offset = 0;
      }
      this.chain.hash(blocks, blockBytes, words, 2 * block);
      block += blocks;
    }
    return { count, totalBytes, words };
  }

  /** Hash of a key, remembered: a router sees few models and many prompts. */
  private seedOf(key: string): Seed {
    let seed = this.seeds.get(key);
    if (seed === undefined) {
      if (this.seeds.size >= MAX_SEEDS) this.seeds.clear();
      seed = this.hashOfKey(key);
      this.seeds.set(key, seed);
    }
    return seed;
  }

  private hashOfKey(key: string): Seed {
    const words = new Uint32Array(2);
    const bytes = Buffer.from(key);
    const { text } = this.chain;
    this.chain.begin(this.first.low, this.first.high);
    let at = 0;
    do {
      const part = bytes.subarray(at, at + text.length);
      text.set(part);
      this.chain.hash(1, part.length, words, 0);
      at += text.length;
    } while (at < bytes.length);
    return { low: words[0]!, high: words[1]! };
  }
}
