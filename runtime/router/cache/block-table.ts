const NONE = -1;
/** Bytes of one entry in all arrays, with the most places of the bucket array that it may take. */
export const BYTES_PER_ENTRY = 4 + 4 + 2 + 2 + 1 + 2 + 4 + 4 + 4 + 4 + 3 * 4;

/**
 * A hash table of (block hash, slot) pairs in typed arrays. Entries are small integers; all entries of one hash form a list, so a
 * lookup costs one probe and one step for each pod that holds the block.
 *
 * The arrays have their full size from the start: the system gives memory to the parts that are used, and nothing is ever copied
 * while requests wait.
 */
export class BlockTable {
  readonly hashLow: Uint32Array;
  readonly hashHigh: Uint32Array;
  readonly slot: Uint16Array;
  /** Bytes of text that the block covers. */
  readonly bytes: Uint16Array;
  /** 1 once an engine is known to hold the block. */
  readonly confirmed: Uint8Array;
  /** Dispatches that wait to hear whether the engine computed the block. */
  readonly pending: Uint16Array;
  /** Changes whenever an entry number is given to another block; 0 for a free one. */
  readonly birth: Uint32Array;
  /** Towards more recently used, per slot; NONE at the end. */
  readonly newer: Int32Array;
  readonly older: Int32Array;
  /** Next entry of the same hash, or of the free list. */
  readonly next: Int32Array;
  size = 0;
  private readonly buckets: Int32Array;
  /** Entries that were used and given back. */
  private free = NONE;
  /** Entries from here on were never used. */
  private fresh = 0;
  private births = 0;

  constructor(readonly maxEntries: number) {
    this.hashLow = new Uint32Array(maxEntries);
    this.hashHigh = new Uint32Array(maxEntries);
    this.slot = new Uint16Array(maxEntries);
    this.bytes = new Uint16Array(maxEntries);
    this.confirmed = new Uint8Array(maxEntries);
    this.pending = new Uint16Array(maxEntries);
    this.birth = new Uint32Array(maxEntries);
    this.newer = new Int32Array(maxEntries);
    this.older = new Int32Array(maxEntries);
    this.next = new Int32Array(maxEntries);
    this.buckets = new Int32Array(2 ** Math.ceil(Math.log2(1.5 * maxEntries + 1)));
  }

  get isFull(): boolean {
    return this.size === this.maxEntries;
  }

  /** First entry of a hash; follow `next` for the others. @returns NONE (−1) when nobody holds it. */
  first(low: number, high: number): number {
    return this.buckets[this.bucketOf(low, high)]! - 1;
  }

  find(low: number, high: number, slot: number): number {
    let entry = this.first(low, high);
    while (entry !== NONE && this.slot[entry] !== slot) entry = this.next[entry]!;
    return entry;
  }

  /** Adds an entry that must not exist yet. @returns NONE when the table is full at its bound. */
  add(low: number, high: number, slot: number, bytes: number): number {
    if (this.isFull) return NONE;
    const entry = this.free === NONE ? this.fresh++ : this.free;
    if (entry === this.free) this.free = this.next[entry]!;
    this.hashLow[entry] = low;
    this.hashHigh[entry] = high;
    this.slot[entry] = slot;
    this.bytes[entry] = bytes;
    this.confirmed[entry] = 0;
    this.pending[entry] = 0;
    this.births = (this.births + 1) >>> 0 || 1;
    this.birth[entry] = this.births;
    const bucket = this.bucketOf(low, high);
    this.next[entry] = this.buckets[bucket]! - 1;
    this.buckets[bucket] = entry + 1;
    this.size += 1;
    return entry;
  }

  remove(entry: number): void {
    const bucket = this.bucketOf(this.hashLow[entry]!, this.hashHigh[entry]!);
    let at = this.buckets[bucket]! - 1;
    if (at === entry) {
      if (this.next[entry] === NONE) this.emptyBucket(bucket);
      else this.buckets[bucket] = this.next[entry]! + 1;
    } else {
      while (this.next[at] !== entry) at = this.next[at]!;
      this.next[at] = this.next[entry]!;
    }
    this.birth[entry] = 0;
    this.next[entry] = this.free;
    this.free = entry;
    this.size -= 1;
  }

  /** Bucket that holds the hash, or the empty one where it would go. Buckets hold entry + 1, 0 is empty. */
  private bucketOf(low: number, high: number): number {
    const mask = this.buckets.length - 1;
    let bucket = (low ^ Math.imul(high, 0x9e3779b1)) & mask;
    for (;;) {
      const entry = this.buckets[bucket]! - 1;
      if (entry === NONE || (this.hashLow[entry] === low && this.hashHigh[entry] === high)) return bucket;
      bucket = (bucket + 1) & mask;
    }
  }

  /** Empties a bucket and moves later ones of its probe run back, so that runs have no holes. */
  private emptyBucket(hole: number): void {
    const mask = this.buckets.length - 1;
    for (let at = (hole + 1) & mask; this.buckets[at] !== 0; at = (at + 1) & mask) {
      const entry = this.buckets[at]! - 1;
      const home = (this.hashLow[entry]! ^ Math.imul(this.hashHigh[entry]!, 0x9e3779b1)) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      this.buckets[hole] = this.buckets[at]!;
      hole = at;
    }
    this.buckets[hole] = 0;
  }
}
