import xxhash, { type XXHashAPI } from 'xxhash-wasm';

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

/** Hashes prompts in one pass over their bytes: XXH64 of each block, seeded by the hash before it. */
export class BlockHasher {
  private readonly small = new Uint8Array(SMALL_BLOCK_BYTES);
  private readonly large = new Uint8Array(LARGE_BLOCK_BYTES);
  private readonly wide = new BigUint64Array(1);
  private readonly narrow = new Uint32Array(this.wide.buffer);
  private readonly seeds = new Map<string, bigint>();

  private constructor(
    private readonly api: XXHashAPI,
    private readonly seed: bigint,
  ) {}

  /** Loads the hash function; the only part that takes time. @param seed of all hashes, 64 bits: routers with one seed agree. */
  static async load(seed = 0n): Promise<BlockHasher> {
    return new BlockHasher(await xxhash(), seed);
  }

  hash({ model, adapter, salt }: CacheKey, spans: readonly Uint8Array[]): BlockHashes {
    let totalBytes = 0;
    for (const each of spans) totalBytes += each.length;
    const count = blocksInBytes(totalBytes);
    const words = new Uint32Array(2 * count);
    const plainKey = adapter === undefined ? model : `${model}\n${adapter}`;
    let chain = this.seedOf(salt === undefined ? plainKey : `${plainKey}\0${salt}`);
    let span = 0;
    let offset = 0;
    for (let block = 0; block < count; block++) {
      const whole = block < SMALL_BLOCKS ? SMALL_BLOCK_BYTES : LARGE_BLOCK_BYTES;
      const source = spans[span]!;
      if (source.length - offset >= whole) {
        chain = this.api.h64Raw(source.subarray(offset, offset + whole), chain);
        offset += whole;
      } else {
        const buffer = block < SMALL_BLOCKS ? this.small : this.large;
        for (let filled = 0; filled < whole; ) {
          if (offset === spans[span]!.length) {
            span += 1;
            offset = 0;
          }
          const rest = spans[span]!;
          const take = Math.min(whole - filled, rest.length - offset);
          buffer.set(rest.subarray(offset, offset + take), filled);
          filled += take;
          offset += take;
        }
        chain = this.api.h64Raw(buffer, chain);
      }
      this.wide[0] = chain;
      words[2 * block] = this.narrow[0]!;
      words[2 * block + 1] = this.narrow[1]!;
    }
    return { count, totalBytes, words };
  }

  /** Hash of a key, remembered: a router sees few models and many prompts. */
  private seedOf(key: string): bigint {
    let seed = this.seeds.get(key);
    if (seed === undefined) {
      if (this.seeds.size >= MAX_SEEDS) this.seeds.clear();
      seed = this.api.h64(key, this.seed);
      this.seeds.set(key, seed);
    }
    return seed;
  }
}
