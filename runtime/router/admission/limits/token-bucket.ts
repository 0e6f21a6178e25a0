/** How much a bucket holds, and how fast it fills. */
export interface BucketSize {
  readonly capacity: number;
  readonly refillPerSecond: number;
}

/**
 * A token bucket: full at first, filled at a steady rate up to its capacity. What is taken beyond its level is kept as debt, a level below
 * 0. Time is the caller's, in milliseconds that never go back.
 */
export class TokenBucket {
  private level: number;

  constructor(
    private current: BucketSize,
    private atMs: number,
  ) {
    this.level = current.capacity;
  }

  get size(): BucketSize {
    return this.current;
  }

  /** What could be taken now; below 0 while there is debt. */
  available(nowMs: number): number {
    const { capacity, refillPerSecond } = this.current;
    const elapsedMs = Math.max(0, nowMs - this.atMs);
    this.atMs = Math.max(this.atMs, nowMs);
    this.level = Math.min(capacity, this.level + (elapsedMs * refillPerSecond) / 1000);
    return this.level;
  }

  /** Takes whether it is there or not. @param amount negative: it is given back, up to the capacity. @returns what is left. */
  take(amount: number, nowMs: number): number {
    this.level = Math.min(this.current.capacity, this.available(nowMs) - amount);
    return this.level;
  }

  /** Replaces the level, as somebody who knows better says. */
  set(level: number, nowMs: number): void {
    this.available(nowMs);
    this.level = Math.min(this.current.capacity, level);
  }

  /** Gives it another size; its level stays, as far as it fits. */
  resize(size: BucketSize, nowMs: number): void {
    this.available(nowMs);
    this.current = size;
    this.level = Math.min(size.capacity, this.level);
  }
}
