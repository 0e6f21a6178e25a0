import type { LRUCache } from 'lru-cache';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Clock } from '../../lib/clock';
import { lru } from '../../lib/lru';
import type { PlaceRecord } from '../cache/replication/place-record';
import type { PlaceTable } from '../cache/replication/place-table';

/** By then siblings' news have come: they are sent at once, and seldom take a tenth of it. Milliseconds. */
const MOST_NEWS_MS = 50;

/** Where a response is kept, and for whom. */
export interface ResponseOwner {
  /** Model that its client named. */
  readonly model: string;
  /** Tenant, or user without one, who may ask for it; undefined for nobody in particular. */
  readonly tenant: string | undefined;
  /** `namespace/name` of the route that it was made by. */
  readonly route: string;
  /** The target that made it, as `sessionTarget` calls it. */
  readonly target: string;
  readonly isAdapter: boolean;
  readonly endpointId: string;
}

/** Which endpoint made which response, for as long as `responses.ttlMs` after its last use. */
export class ResponseOwners implements PlaceTable {
  private readonly owners: LRUCache<string, ResponseOwner>;
  private readonly ttlMs: number;
  private tell: ((record: PlaceRecord) => void) | undefined;
  /** Those that wait to hear of a response, by its id. */
  private readonly waiting = new Map<string, Set<() => void>>();

  constructor(
    private readonly clock: Clock,
    { maxEntries, ttlMs }: RouterConfig['responses'],
  ) {
    this.ttlMs = ttlMs;
    this.owners = lru(maxEntries, {
      ttl: ttlMs,
      updateAgeOnGet: true,
      ttlResolution: 0,
      perf: { now: () => clock.monotonic() },
    });
  }

  /** An id that somebody else has already stays theirs. */
  note(id: string, owner: ResponseOwner): void {
    if (!this.mayBe(id, owner.tenant)) return;
    this.owners.set(id, owner);
    this.tell?.(recordOf(id, owner, this.ttlMs));
  }

  /** @returns undefined also for a response of another tenant: that it exists is not their business. */
  find(id: string, tenant: string | undefined): ResponseOwner | undefined {
    if (this.owners.peek(id)?.tenant !== tenant) return undefined;
    const owner = this.owners.get(id);
    if (owner !== undefined) this.tell?.(recordOf(id, owner, this.ttlMs));
    return owner;
  }

  /**
   * A client may know of a response before the news of it come from the router that made it.
   *
   * @returns resolved when it is known, or should be; undefined where nothing is waited for.
   */
  news(id: string): Promise<void> | undefined {
    if (this.tell === undefined || this.owners.has(id)) return undefined;
    return new Promise((resolve) => {
      const all = this.waiting.get(id) ?? new Set();
      this.waiting.set(id, all);
      const end = (): void => {
        timer.cancel();
        all.delete(end);
        if (all.size === 0) this.waiting.delete(id);
        resolve();
      };
      const timer = this.clock.after(MOST_NEWS_MS, end);
      all.add(end);
    });
  }

  forget(id: string): void {
    this.owners.delete(id);
    this.tell?.({ kind: 'forgotten', id });
  }

  share(tell: (record: PlaceRecord) => void): void {
    this.tell = tell;
  }

  take(record: PlaceRecord): void {
    if (record.kind === 'forgotten') this.owners.delete(record.id);
    if (record.kind !== 'response') return;
    const { id, model, tenant, route, target, isAdapter, endpoint } = record;
    if (!this.mayBe(id, tenant)) return;
    const usedMs = this.clock.monotonic() - Math.max(0, this.ttlMs - record.ttlMs);
    this.owners.set(id, { model, tenant, route, target, isAdapter, endpointId: endpoint }, { start: usedMs });
    for (const end of this.waiting.get(id) ?? []) end();
  }

  *recent(): Generator<PlaceRecord, undefined> {
    for (const [id, owner] of this.owners.entries()) {
      yield recordOf(id, owner, Math.round(Math.min(this.ttlMs, this.owners.getRemainingTTL(id))));
    }
    return undefined;
  }

  private mayBe(id: string, tenant: string | undefined): boolean {
    const known = this.owners.peek(id);
    return known === undefined || known.tenant === tenant;
  }
}

function recordOf(id: string, { endpointId, ...owner }: ResponseOwner, ttlMs: number): PlaceRecord {
  return { kind: 'response', id, ttlMs, ...owner, endpoint: endpointId };
}
