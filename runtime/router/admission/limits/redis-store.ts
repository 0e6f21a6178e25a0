import type { Clock } from '../../../lib/clock';
import { lru } from '../../../lib/lru';
import type { RedisConnection } from '../../../lib/redis-connection';
import { BucketTable } from './bucket-table';
import type { Limit } from './limit';
import type { Charge, Demand, LimitStore, Verdict } from './limit-store';
import { TAKE_SCRIPT } from './take-script';

export interface RedisStoreOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  /** Routers that share the buckets, as many as there are now. */
  readonly replicas: () => number;
  /** Called for each decision that was made without the server. */
  readonly onLocal: () => void;
}

/** Needs nothing. */
const NOTHING = -Number.MAX_VALUE;
/** Debts remembered for servers that are away; as many as there may be buckets. */
const MAX_DEBTS = 50_000;

/**
 * Buckets that all routers share, in Redis. While the server is away this router counts by itself, from where it last saw each bucket and
 * up to its part of the limit; what it let through meanwhile is taken from the shared bucket when the server is back.
 */
export class RedisStore implements LimitStore {
  private readonly buckets: BucketTable;
  private readonly owed = lru<string, number>(MAX_DEBTS);
  private readonly charging = new Set<Promise<void>>();

  constructor(private readonly options: RedisStoreOptions) {
    const { replicas } = options;
    // A part below 1 would let nothing through, however long the server is away.
    this.buckets = new BucketTable(({ size }) => ({
      capacity: Math.max(1, size.capacity / replicas()),
      refillPerSecond: size.refillPerSecond / replicas(),
    }));
  }

  async take(demands: readonly Demand[]): Promise<Verdict> {
    if (!(await this.options.connection.ready())) return this.takeHere(demands);
    const [isGranted, ...levels] = (await this.send(demands)) ?? [];
    if (isGranted === undefined) return this.takeHere(demands);
    return { isGranted: isGranted === 1, levels };
  }

  charge(charges: readonly Charge[]): void {
    const charging = this.chargeShared(charges).finally(() => this.charging.delete(charging));
    this.charging.add(charging);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.charging);
  }

  private async chargeShared(charges: readonly Charge[]): Promise<void> {
    const demands = charges.map(({ limit, amount }) => ({ limit, need: NOTHING, take: amount }));
    if ((await this.options.connection.ready()) && (await this.send(demands)) !== undefined) return;
    const nowMs = this.options.clock.monotonic();
    for (const { limit, amount } of charges) {
      this.buckets.of(limit, nowMs).take(amount, nowMs);
      this.owe(limit, amount);
    }
  }

  /** @returns 1 or 0 and what each bucket holds; undefined when the server did not do it. */
  private async send(demands: readonly Demand[]): Promise<readonly number[] | undefined> {
    const { connection, clock, replicas } = this.options;
    const debts = demands.map(({ limit }) => this.debtOf(limit));
    const args = demands.flatMap(({ limit: { size, expireSeconds }, need, take }, i) => [
      need,
      take,
      debts[i]!,
      size.capacity,
      size.refillPerSecond,
      expireSeconds,
    ]);
    try {
      const reply = (await connection.run(
        TAKE_SCRIPT,
        demands.map(({ limit }) => limit.key),
        args,
      )) as readonly (number | string)[];
      const nowMs = clock.monotonic();
      demands.forEach(({ limit }, i) => {
        this.buckets.of(limit, nowMs).set(Number(reply[i + 1]) / replicas(), nowMs);
      });
      return reply.map(Number);
    } catch {
      // The connection counts and logs it. Whether a debt was taken is not known; it is rather taken twice than never.
      demands.forEach(({ limit }, i) => {
        this.owe(limit, debts[i]!);
      });
      return undefined;
    }
  }

  private takeHere(demands: readonly Demand[]): Verdict {
    this.options.onLocal();
    const nowMs = this.options.clock.monotonic();
    const buckets = demands.map(({ limit }) => this.buckets.of(limit, nowMs));
    const levels = buckets.map((bucket) => bucket.available(nowMs));
    // What would fit the whole limit, and not this router's part of it, passes when the part is full, and the rest is debt.
    const isGranted = demands.every(({ limit, need }, i) => {
      const fits = need <= limit.size.capacity ? Math.min(need, buckets[i]!.size.capacity) : need;
      return levels[i]! >= fits;
    });
    if (!isGranted) return { isGranted, levels };
    return {
      isGranted,
      levels: demands.map(({ limit, take }, i) => {
        this.owe(limit, take);
        return buckets[i]!.take(take, nowMs);
      }),
    };
  }

  private owe({ key }: Limit, amount: number): void {
    if (amount !== 0) this.owed.set(key, (this.owed.get(key) ?? 0) + amount);
  }

  private debtOf({ key }: Limit): number {
    const debt = this.owed.get(key) ?? 0;
    if (debt !== 0) this.owed.delete(key);
    return debt;
  }
}
