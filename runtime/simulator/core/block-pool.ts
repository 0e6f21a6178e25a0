import { BlockKeyTable } from './block-key-table';

/** No block: the end of a list. */
const NONE = -1;

/**
 * The KV blocks of one engine: an allocator with reference counts whose free blocks stay a prefix cache until they are taken again,
 * least recently used first.
 *
 * Invariants: a block is in the free list exactly when its count is zero; a cached block is found under its key until it is taken for
 * other content. Several blocks may hold the same key, as when the last block of a fully cached prompt is computed again.
 */
export class BlockPool {
  private readonly refs: Int32Array;
  /** Key of the content of a block; NaN when it holds nothing that can be found. */
  private readonly keys: Float64Array;
  /** Who put a block's content there, as the caller numbers them; -1: nobody in particular. */
  private readonly owners: Int32Array;
  /** Free list, least recently used first; index `size` is its anchor. */
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  /** Further blocks with the same key. */
  private readonly sameKey: Int32Array;
  private readonly cached: BlockKeyTable;
  private freeCount: number;

  /** @param size blocks that requests can use, ≥ 1. */
  constructor(readonly size: number) {
    this.refs = new Int32Array(size);
    this.owners = new Int32Array(size).fill(NONE);
    this.keys = new Float64Array(size).fill(Number.NaN);
    this.sameKey = new Int32Array(size).fill(NONE);
    this.cached = new BlockKeyTable(size);
    this.next = new Int32Array(size + 1);
    this.previous = new Int32Array(size + 1);
    for (let i = 0; i <= size; i++) {
      this.next[i] = i === size ? 0 : i + 1;
      this.previous[i] = i === 0 ? size : i - 1;
    }
    this.freeCount = size;
  }

  /** Blocks with no user, cached or not. */
  get free(): number {
    return this.freeCount;
  }

  /** Distinct keys that a lookup can find. */
  get cachedKeys(): number {
    return this.cached.size;
  }

  /** Users of `block`. */
  references(block: number): number {
    return this.refs[block]!;
  }

  /** @returns the block that holds `key`, or -1. It is not taken: see `share`. */
  find(key: number): number {
    return this.cached.get(key);
  }

  /** Adds a user to a block that `find` returned. */
  share(block: number): void {
    if (this.refs[block]! === 0) this.unlinkFree(block);
    this.refs[block]! += 1;
  }

  /** Takes the least recently used free block, which loses what it held. @throws RangeError when none is free. */
  take(): number {
    if (this.freeCount === 0) throw new RangeError('no free KV block');
    const block = this.next[this.size]!;
    this.unlinkFree(block);
    this.forget(block);
    this.refs[block] = 1;
    return block;
  }

  /** Who cached the content of `block`; -1: nobody in particular. */
  owner(block: number): number {
    return this.owners[block]!;
  }

  /** Makes the content of `block` findable under `key`. */
  cache(block: number, key: number, owner = NONE): void {
    const first = this.cached.get(key);
    this.owners[block] = owner;
    this.keys[block] = key;
    if (first === NONE) {
      this.cached.set(key, block);
    } else {
      this.sameKey[block] = this.sameKey[first]!;
      this.sameKey[first] = block;
    }
  }

  /** Gives back one use of each block. The last block becomes the least recently used, so that a chain is evicted from its tail. */
  release(blocks: readonly number[]): void {
    for (let i = blocks.length - 1; i >= 0; i--) {
      const block = blocks[i]!;
      this.refs[block]! -= 1;
      if (this.refs[block] === 0) this.appendFree(block);
    }
  }

  /** Forgets all cached content. Blocks in use keep their users and are no longer found. */
  clearCache(): void {
    this.cached.clear();
    this.keys.fill(Number.NaN);
    this.sameKey.fill(NONE);
  }

  private forget(block: number): void {
    const key = this.keys[block]!;
    if (Number.isNaN(key)) return;
    const after = this.sameKey[block]!;
    let holder = this.cached.get(key);
    if (holder === block) {
      if (after === NONE) this.cached.delete(key);
      else this.cached.set(key, after);
    } else {
      while (this.sameKey[holder] !== block) holder = this.sameKey[holder]!;
      this.sameKey[holder] = after;
    }
    this.sameKey[block] = NONE;
    this.keys[block] = Number.NaN;
  }

  private unlinkFree(block: number): void {
    const before = this.previous[block]!;
    const after = this.next[block]!;
    this.next[before] = after;
    this.previous[after] = before;
    this.freeCount -= 1;
  }

  private appendFree(block: number): void {
    const last = this.previous[this.size]!;
    this.next[last] = block;
    this.previous[block] = last;
    this.next[block] = this.size;
    this.previous[this.size] = block;
    this.freeCount += 1;
  }
}
