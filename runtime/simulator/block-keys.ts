/** What makes KV of equal tokens different: it is part of every key from the first block on. */
export interface KeyNamespace {
  readonly adapter?: string;
  /** `cache_salt` of the request. */
  readonly salt?: string;
}

/**
 * Keys of a request's KV blocks from its token ids, each chained to the one before, so that equal keys mean equal tokens from the
 * start. A key is an integer below 2^53 (a cyrb53-style mix of two 32-bit lanes; public domain, by bryc). Computed when first asked
 * for, so that output tokens need to be known only when their block is full.
 */
export class BlockKeys {
  private readonly keys: number[] = [];
  private low: number;
  private high: number;

  /** @param tokenAt id of the token at a position of prompt and output together. */
  constructor(
    private readonly blockSize: number,
    namespace: KeyNamespace,
    private readonly tokenAt: (position: number) => number,
  ) {
    this.low = 0xdeadbeef;
    this.high = 0x41c6ce57;
    for (const part of [namespace.adapter, namespace.salt]) {
      this.mix(part === undefined ? 0 : part.length + 1);
      for (let i = 0; i < (part?.length ?? 0); i++) this.mix(part!.charCodeAt(i));
    }
  }

  /** Key of the `index`-th full block. */
  key(index: number): number {
    while (this.keys.length <= index) this.append();
    return this.keys[index]!;
  }

  private append(): void {
    const start = this.keys.length * this.blockSize;
    for (let i = start; i < start + this.blockSize; i++) {
      const token = this.tokenAt(i);
      this.mix(token >>> 0);
      if (token > 0xffffffff) this.mix(Math.floor(token / 0x1_0000_0000));
    }
    let low = Math.imul(this.low ^ (this.low >>> 16), 2246822507);
    low ^= Math.imul(this.high ^ (this.high >>> 13), 3266489909);
    let high = Math.imul(this.high ^ (this.high >>> 16), 2246822507);
    high ^= Math.imul(low ^ (low >>> 13), 3266489909);
    this.keys.push((high & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0));
  }

  private mix(value: number): void {
    this.low = Math.imul(this.low ^ value, 2654435761);
    this.high = Math.imul(this.high ^ value, 1597334677);
    // Without the rotations a value's high bits would never reach the low ones.
    this.low = (this.low << 13) | (this.low >>> 19);
    this.high = (this.high << 7) | (this.high >>> 25);
  }
}
