import { type BlockHashes, bytesOfBlocks } from './block-hashes';
import { BlockTable, BYTES_PER_ENTRY } from './block-table';

const NONE = -1;
/** How much every share shrinks each time the table is full. */
const SHRINK_STEP = 0.9;

/** Blocks that a dispatch is expected to put into a pod's cache. Ends with exactly one of `confirm` and `withdraw`. */
export interface PrefixReservation {
  /** The engine computed the prompt: its blocks are there. */
  confirm(): void;
  /** The dispatch failed before its first token: blocks that nobody else put there are forgotten. */
  withdraw(): void;
}

/** A place in a slot's blocks, from the most recently used one on. It says nothing once the block was forgotten. */
export interface BlockCursor {
  readonly slot: number;
  readonly entry: number;
  readonly birth: number;
}

/** Blocks of one size, two words each. */
export interface BlockRun {
  readonly words: Uint32Array;
  readonly blockBytes: number;
}

interface SlotState {
  shareBytes: number;
  heldBytes: number;
  newest: number;
  oldest: number;
  /** Blocks forgotten for want of room that were not asked for yet. */
  evictions: number;
}

/**
 * What each pod's KV cache is believed to hold, as chained hashes of byte blocks. A pod's share is as large as its cache and forgets
 * the least recently used blocks, the end of a prompt before its beginning, as engines do.
 */
export class PrefixIndex {
  private readonly table: BlockTable;
  private readonly slots = new Map<number, SlotState>();
  private depth = new Int32Array(64).fill(NONE);
  private scale = 1;

  /** @param maxBytes memory that all entries may take, at least one entry's worth. */
  constructor(maxBytes: number) {
    this.table = new BlockTable(Math.max(1, Math.floor(maxBytes / BYTES_PER_ENTRY)));
  }

  /** Sets how many bytes of text a pod's KV cache holds; shrinking forgets at once. */
  setShare(slot: number, shareBytes: number): void {
    const state = this.stateOf(slot);
    if (state.shareBytes === shareBytes) return;
    state.shareBytes = shareBytes;
    this.scale = 1;
    this.evictTo(state, shareBytes);
  }

  /** Writes into `out` the bytes of the prompt's beginning that each slot holds. */
  lookup(hashes: BlockHashes, slots: readonly number[], out: Float64Array): void {
    const { table } = this;
    for (const slot of slots) {
      if (slot >= this.depth.length) this.depth = grown(this.depth, slot);
      this.depth[slot] = 0;
    }
    const { depth } = this;
    for (let block = 0; block < hashes.count; block++) {
      let holders = 0;
      let entry = table.first(hashes.words[2 * block]!, hashes.words[2 * block + 1]!);
      for (; entry !== NONE; entry = table.next[entry]!) {
        const slot = table.slot[entry]!;
        if (depth[slot] !== block) continue;
        depth[slot] = block + 1;
        holders += 1;
      }
      if (holders === 0) break;
    }
    slots.forEach((slot, i) => {
      out[i] = bytesOfBlocks(depth[slot]!);
    });
    for (const slot of slots) depth[slot] = NONE;
  }

  /** Records that `slot` is about to compute the prompt. Counts in lookups at once, since the engine will have it before the next. */
  reserve(hashes: Pick<BlockHashes, 'count' | 'words'>, slot: number): PrefixReservation {
    const { table } = this;
    const state = this.stateOf(slot);
    // Entry of block i at 2i, its birth at 2i + 1.
    const taken = new Int32Array(2 * hashes.count);
    // From the end to the beginning: beginnings become the most recent, so ends are forgotten first.
    for (let block = hashes.count - 1; block >= 0; block--) {
      const low = hashes.words[2 * block]!;
      const high = hashes.words[2 * block + 1]!;
      let entry = table.find(low, high, slot);
      if (entry === NONE) {
        const bytes = bytesOfBlocks(block + 1) - bytesOfBlocks(block);
        if (!this.makeRoom(state, bytes)) continue;
        entry = table.add(low, high, slot, bytes);
        state.heldBytes += bytes;
      } else {
        this.unlink(state, entry);
      }
      this.linkNewest(state, entry);
      table.pending[entry]! += 1;
      taken[2 * block] = entry;
      taken[2 * block + 1] = table.birth[entry]!;
    }
    return new Reservation(this, taken);
  }

  /** @internal Ends what `reserve` began. */
  close(taken: Int32Array, isConfirmed: boolean): void {
    for (let i = 0; i < taken.length; i += 2) this.release(taken[i]!, taken[i + 1]!, isConfirmed);
  }

  /** Forgets everything about a slot; afterwards it may be given to another pod. */
  purge(slot: number): void {
    const state = this.slots.get(slot);
    if (state === undefined) return;
    this.evictTo(state, 0);
    this.slots.delete(slot);
    this.scale = 1;
  }

  /** Blocks held over all slots, and the factor by which all shares are cut to stay within the bound (1: not at all). */
  stats(): { readonly blocks: number; readonly shareScale: number } {
    return { blocks: this.table.size, shareScale: this.scale };
  }

  /** Blocks that a slot lost for want of room since this was asked last. */
  takeEvictions(slot: number): number {
    const state = this.slots.get(slot);
    if (state === undefined) return 0;
    const { evictions } = state;
    state.evictions = 0;
    return evictions;
  }

  /** Bytes of text that a slot is believed to hold. */
  heldBytes(slot: number): number {
    return this.slots.get(slot)?.heldBytes ?? 0;
  }

  /** Where a slot's blocks begin; undefined when it has none. */
  newest(slot: number): BlockCursor | undefined {
    return this.cursorAt(slot, this.slots.get(slot)?.newest ?? NONE);
  }

  /** At most `most` blocks from a place on that an engine is known to hold, and where it goes on; nothing when the place is no more. */
  recent({ slot, entry, birth }: BlockCursor, most: number): { readonly runs: readonly BlockRun[]; readonly next?: BlockCursor } {
    const { table } = this;
    if (table.birth[entry] !== birth) return { runs: [] };
    const runs: BlockRun[] = [];
    let words: number[] = [];
    let blockBytes = table.bytes[entry]!;
    const endRun = (): void => {
      if (words.length > 0) runs.push({ words: Uint32Array.from(words), blockBytes });
      words = [];
    };
    let at = entry;
    for (let count = 0; count < most && at !== NONE; count++, at = table.older[at]!) {
      if (table.confirmed[at] === 0) continue;
      if (table.bytes[at] !== blockBytes) endRun();
      blockBytes = table.bytes[at]!;
      words.push(table.hashLow[at]!, table.hashHigh[at]!);
    }
    endRun();
    const next = this.cursorAt(slot, at);
    return next === undefined ? { runs } : { runs, next };
  }

  /** Adds blocks that somebody else knows a slot to hold, as less recently used than all it has here, as far as its share has room. */
  restore(slot: number, words: Uint32Array, blockBytes: number): void {
    const { table } = this;
    const state = this.stateOf(slot);
    for (let i = 0; i + 1 < words.length; i += 2) {
      if (table.isFull || state.heldBytes + blockBytes > state.shareBytes * this.scale) return;
      if (table.find(words[i]!, words[i + 1]!, slot) !== NONE) continue;
      const entry = table.add(words[i]!, words[i + 1]!, slot, blockBytes);
      table.confirmed[entry] = 1;
      state.heldBytes += blockBytes;
      this.linkOldest(state, entry);
    }
  }

  private cursorAt(slot: number, entry: number): BlockCursor | undefined {
    return entry === NONE ? undefined : { slot, entry, birth: this.table.birth[entry]! };
  }

  private stateOf(slot: number): SlotState {
    let state = this.slots.get(slot);
    if (state === undefined) {
      state = { shareBytes: 0, heldBytes: 0, newest: NONE, oldest: NONE, evictions: 0 };
      this.slots.set(slot, state);
    }
    return state;
  }

  /** Evicts until a block fits into the share and the table. @returns false when the share is smaller than the block. */
  private makeRoom(state: SlotState, bytes: number): boolean {
    for (;;) {
      const limit = state.shareBytes * this.scale;
      if (bytes > limit) return false;
      this.evictTo(state, limit - bytes);
      if (!this.table.isFull) return true;
      this.scale *= SHRINK_STEP;
      for (const each of this.slots.values()) this.evictTo(each, each.shareBytes * this.scale);
    }
  }

  private evictTo(state: SlotState, bytes: number): void {
    while (state.heldBytes > bytes && state.oldest !== NONE) {
      this.forget(state, state.oldest);
      state.evictions += 1;
    }
  }

  private forget(state: SlotState, entry: number): void {
    this.unlink(state, entry);
    state.heldBytes -= this.table.bytes[entry]!;
    this.table.remove(entry);
  }

  private release(entry: number, birth: number, isConfirmed: boolean): void {
    const { table } = this;
    // Births are unsigned in the table.
    if (birth === 0 || table.birth[entry] !== birth >>> 0) return;
    table.pending[entry]! -= 1;
    if (isConfirmed) table.confirmed[entry] = 1;
    else if (table.confirmed[entry] === 0 && table.pending[entry] === 0) this.forget(this.stateOf(table.slot[entry]!), entry);
  }

  private linkNewest(state: SlotState, entry: number): void {
    const { older, newer } = this.table;
    older[entry] = state.newest;
    newer[entry] = NONE;
    if (state.newest === NONE) state.oldest = entry;
    else newer[state.newest] = entry;
    state.newest = entry;
  }

  private linkOldest(state: SlotState, entry: number): void {
    const { older, newer } = this.table;
    newer[entry] = state.oldest;
    older[entry] = NONE;
    if (state.oldest === NONE) state.newest = entry;
    else older[state.oldest] = entry;
    state.oldest = entry;
  }

  private unlink(state: SlotState, entry: number): void {
    const { older, newer } = this.table;
    const before = older[entry]!;
    const after = newer[entry]!;
    if (before === NONE) state.oldest = after;
    else newer[before] = after;
    if (after === NONE) state.newest = before;
    else older[after] = before;
  }
}

class Reservation implements PrefixReservation {
  private isOpen = true;

  constructor(
    private readonly index: PrefixIndex,
    private readonly taken: Int32Array,
  ) {}

  confirm(): void {
    this.close(true);
  }

  withdraw(): void {
    this.close(false);
  }

  private close(isConfirmed: boolean): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.index.close(this.taken, isConfirmed);
  }
}

function grown(from: Int32Array, slot: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(2 * (slot + 1)).fill(NONE);
  to.set(from);
  return to;
}
