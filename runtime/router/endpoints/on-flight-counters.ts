import type { Clock, Timer } from '../../lib/clock';
import type { RedisConnection } from '../../lib/redis-connection';
import { RedisScript } from '../../lib/redis-script';
import type { DispatchSharing, SharedDispatch, SharedFacts } from '../cache/replication/dispatch-sharing';
import type { EndpointListener } from './endpoint-registry';
import type { LiveEndpoint } from './live-endpoint';

export interface OnFlightCountersOptions {
  readonly redis: RedisConnection;
  /** The wall's. */
  readonly clock: Clock;
}

/** Kthena's hash of requests in flight, by `namespace/name` of the pod. It has no end of life. */
const KEY = 'kthena:on-flight-requests';
/** A count below zero means that somebody lost count, and begins anew as Kthena's does. */
const ADD = new RedisScript(`
for i = 1, #ARGV, 2 do
  if redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) < 0 then redis.call('HSET', KEYS[1], ARGV[i], 0) end
end
`);
/** Changes of so long go together. */
const BATCH_MS = 3;
/** Between two tries while Redis is away. */
const AWAY_MS = 500;
/** How often Kthena reads the counters. */
const READ_EVERY_MS = 50;
/** Without requests nothing is read. */
const ACTIVE_MS = 1_000;

/**
 * Counts requests in flight per pod in Redis as Kthena's routers do, and learns from there what they have, so that both can serve one
 * fleet. Nothing waits for it: while Redis is away, each counts for itself.
 */
export class OnFlightCounters implements DispatchSharing, EndpointListener {
  private readonly byField = new Map<string, Set<LiveEndpoint>>();
  /** Ids of the endpoints that count: a pod that comes back under its name begins at zero. */
  private readonly known = new Set<string>();
  /** Changes that Redis was not told yet. */
  private pending = new Map<string, number>();
  private timer: Timer | undefined;
  private readTimer: Timer | undefined;
  private lastDispatchMs = Number.NEGATIVE_INFINITY;
  private flushing: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(private readonly options: OnFlightCountersOptions) {
    options.redis.open();
  }

  dispatched({ endpoint }: SharedFacts): SharedDispatch {
    const field = fieldOf(endpoint);
    this.lastDispatchMs = this.options.clock.monotonic();
    this.readTimer ??= this.options.clock.after(READ_EVERY_MS, () => void this.read());
    this.change(endpoint.id, field, 1);
    let isOpen = true;
    return {
      prefilled: () => undefined,
      ended: () => {
        if (!isOpen) return;
        isOpen = false;
        this.change(endpoint.id, field, -1);
      },
    };
  }

  added(live: LiveEndpoint): void {
    const field = fieldOf(live.endpoint);
    const known = this.byField.get(field) ?? new Set();
    this.byField.set(field, known.add(live));
    this.known.add(live.endpoint.id);
  }

  removed(live: LiveEndpoint): void {
    const field = fieldOf(live.endpoint);
    const known = this.byField.get(field);
    known?.delete(live);
    this.known.delete(live.endpoint.id);
    if (known === undefined || known.size > 0) return;
    this.byField.delete(field);
    this.pending.delete(field);
    void this.quietly((client) => client.hdel(KEY, field));
  }

  restarted(): void {
    // What is in flight ends by itself.
  }

  /** Tells Redis what it was not told yet. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.readTimer?.cancel();
    this.timer?.cancel();
    await this.flush();
    // Set anew where Redis is away.
    this.timer?.cancel();
  }

  private change(id: string, field: string, by: number): void {
    if (this.isClosed || !this.known.has(id)) return;
    this.pending.set(field, (this.pending.get(field) ?? 0) + by);
    this.timer ??= this.options.clock.after(BATCH_MS, () => void this.flush());
  }

  private flush(): Promise<void> {
    this.timer = undefined;
    const changes = [...this.pending].filter(([, by]) => by !== 0);
    if (changes.length === 0) return this.flushing;
    if (!this.options.redis.isUp) {
      // They add up until it is back.
      this.timer = this.options.clock.after(AWAY_MS, () => void this.flush());
      return this.flushing;
    }
    this.pending = new Map();
    this.flushing = this.options.redis.run(ADD, [KEY], changes.flat()).then(
      () => undefined,
      () => undefined,
    );
    return this.flushing;
  }

  private async read(): Promise<void> {
    const { redis, clock } = this.options;
    const fields = [...this.byField.keys()];
    let totals: readonly (string | null)[] = [];
    if (fields.length > 0) {
      await this.quietly(async (client) => {
        totals = await client.hmget(KEY, ...fields);
      });
    }
    fields.forEach((field, i) => {
      const total = redis.isUp ? Number(totals[i] ?? 0) : 0;
      const members = [...(this.byField.get(field) ?? [])];
      const own = members.reduce((sum, { ledger }) => sum + ledger.running, 0) - (this.pending.get(field) ?? 0);
      for (const live of members) live.elsewhere = Number.isFinite(total) ? Math.max(0, total - own) : 0;
    });
    const isActive = !this.isClosed && clock.monotonic() - this.lastDispatchMs < ACTIVE_MS;
    this.readTimer = isActive ? clock.after(READ_EVERY_MS, () => void this.read()) : undefined;
  }

  private async quietly(send: Parameters<RedisConnection['use']>[0]): Promise<void> {
    if (this.options.redis.isUp) await this.options.redis.use(send).catch(() => undefined);
  }
}

function fieldOf({ pod }: Pick<LiveEndpoint['endpoint'], 'pod'>): string {
  return `${pod.namespace}/${pod.name}`;
}
