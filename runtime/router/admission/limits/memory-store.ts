import type { Clock } from '../../../lib/clock';
import { BucketTable } from './bucket-table';
import type { Limit } from './limit';
import type { Charge, Demand, LimitStore, Verdict } from './limit-store';

/** Buckets of this router alone. Exact, and answered at once. */
export class MemoryStore implements LimitStore {
  private readonly buckets = new BucketTable();

  constructor(private readonly clock: Clock) {}

  take(demands: readonly Demand[]): Verdict {
    const nowMs = this.clock.monotonic();
    const buckets = demands.map(({ limit }) => this.buckets.of(limit, nowMs));
    const levels = buckets.map((bucket) => bucket.available(nowMs));
    if (demands.some(({ need }, i) => levels[i]! < need)) return { isGranted: false, levels };
    return { isGranted: true, levels: demands.map(({ take }, i) => buckets[i]!.take(take, nowMs)) };
  }

  /** What could be taken now. */
  level(limit: Limit): number {
    const nowMs = this.clock.monotonic();
    return this.buckets.of(limit, nowMs).available(nowMs);
  }

  charge(charges: readonly Charge[]): void {
    const nowMs = this.clock.monotonic();
    for (const { limit, amount } of charges) this.buckets.of(limit, nowMs).take(amount, nowMs);
  }
}
