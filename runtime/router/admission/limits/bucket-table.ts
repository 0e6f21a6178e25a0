import { lru } from '../../../lib/lru';
import type { Limit } from './limit';
import { type BucketSize, TokenBucket } from './token-bucket';

/** Buckets kept; the one that was unused for longest goes first. Users are named by tokens, so that there may be any number of them. */
const MAX_BUCKETS = 50_000;

/** Buckets in memory, by key, made when they are first asked for. A bucket follows the size of its limit and keeps its level. */
export class BucketTable {
  private readonly buckets = lru<string, TokenBucket>(MAX_BUCKETS);

  /** @param sizeOf how large the bucket of a limit is here. @default as large as the limit */
  constructor(private readonly sizeOf: (limit: Limit) => BucketSize = ({ size }) => size) {}

  of(limit: Limit, nowMs: number): TokenBucket {
    const size = this.sizeOf(limit);
    const known = this.buckets.get(limit.key);
    if (known === undefined) {
      const made = new TokenBucket(size, nowMs);
      this.buckets.set(limit.key, made);
      return made;
    }
    const { capacity, refillPerSecond } = known.size;
    if (capacity !== size.capacity || refillPerSecond !== size.refillPerSecond) known.resize(size, nowMs);
    return known;
  }
}
