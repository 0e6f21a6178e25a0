import { LRUCache } from 'lru-cache';
import type { RouterConfig } from '../../../src/config/router-config';
import type { Clock } from '../../lib/clock';
import type { MatchedRequest } from '../request';

/** Where a response is kept, and for whom. */
export interface ResponseOwner {
  /** Model that its client named. */
  readonly model: string;
  /** The target that made it. */
  readonly matched: MatchedRequest;
  readonly endpointId: string;
  /** Tenant, or user without one, who may ask for it; undefined for nobody in particular. */
  readonly tenant: string | undefined;
}

/** Which endpoint made which response, for as long as `responses.ttlMs` after its last use. */
export class ResponseOwners {
  private readonly owners: LRUCache<string, ResponseOwner>;

  constructor(clock: Clock, { maxEntries, ttlMs }: RouterConfig['responses']) {
    this.owners = new LRUCache({
      max: maxEntries,
      ttl: ttlMs,
      updateAgeOnGet: true,
      ttlResolution: 0,
      perf: { now: () => clock.monotonic() },
    });
  }

  /** An id that somebody else has already stays theirs. */
  note(id: string, owner: ResponseOwner): void {
    const known = this.owners.peek(id);
    if (known === undefined || known.tenant === owner.tenant) this.owners.set(id, owner);
  }

  /** @returns undefined also for a response of another tenant: that it exists is not their business. */
  find(id: string, tenant: string | undefined): ResponseOwner | undefined {
    const owner = this.owners.peek(id);
    return owner?.tenant === tenant ? this.owners.get(id) : undefined;
  }

  forget(id: string): void {
    this.owners.delete(id);
  }
}
