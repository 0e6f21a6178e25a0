const FREE = -1;
/** Bound once: inside a test runner's sandbox every look at a global costs as much as the rest of a look-up. */
const { imul } = Math;

/**
 * Which block is found under a key: a hash table in typed arrays for a pool's fixed number of blocks. A `Map` whose keys are beyond
 * 31 bits costs ten times as much, and a replay of a trace looks up millions.
 */
export class BlockKeyTable {
  private readonly keys: Float64Array;
  private readonly blocks: Int32Array;
  private readonly mask: number;
  private readonly wide = new Float64Array(1);
  private readonly words = new Uint32Array(this.wide.buffer);
  private count = 0;

  /** @param most keys at one time. */
  constructor(most: number) {
    const places = 2 ** Math.ceil(Math.log2(2 * most + 2));
    this.mask = places - 1;
    this.keys = new Float64Array(places);
    this.blocks = new Int32Array(places).fill(FREE);
  }

  get size(): number {
    return this.count;
  }

  /** @returns −1 when nothing is there. */
  get(key: number): number {
    return this.blocks[this.placeOf(key)]!;
  }

  set(key: number, block: number): void {
    const place = this.placeOf(key);
    if (this.blocks[place] === FREE) this.count += 1;
    this.keys[place] = key;
    this.blocks[place] = block;
  }

  delete(key: number): void {
    let hole = this.placeOf(key);
    if (this.blocks[hole] === FREE) return;
    this.count -= 1;
    // Later ones of the probe run move back, so that runs have no holes.
    for (let at = (hole + 1) & this.mask; this.blocks[at] !== FREE; at = (at + 1) & this.mask) {
      const home = this.homeOf(this.keys[at]!);
      if (((at - home) & this.mask) < ((at - hole) & this.mask)) continue;
      this.keys[hole] = this.keys[at]!;
      this.blocks[hole] = this.blocks[at]!;
      hole = at;
    }
    this.blocks[hole] = FREE;
  }

  clear(): void {
    this.blocks.fill(FREE);
    this.count = 0;
  }

  /** Place that holds the key, or the free one where it would go. */
  private placeOf(key: number): number {
    let place = this.homeOf(key);
    while (this.blocks[place] !== FREE && this.keys[place] !== key) place = (place + 1) & this.mask;
    return place;
  }

  private homeOf(key: number): number {
    this.wide[0] = key;
    // Finalizer of MurmurHash3 (Austin Appleby, public domain): small whole numbers differ in the upper bits of a double only.
    let h = this.words[0]! ^ imul(this.words[1]!, 0x9e3779b1);
    h = imul(h ^ (h >>> 16), 0x85ebca6b);
    h = imul(h ^ (h >>> 13), 0xc2b2ae35);
    return (h ^ (h >>> 16)) & this.mask;
  }
}
