import type { Clock } from '../../../lib/clock';
import { RouterError } from '../../errors';
import type { Reservations } from '../../reservations';
import { type Identity, ownerOf } from '../identity';

/** Weight of the newest request in the mean time that a tenant's requests take. */
const NEWEST_WEIGHT = 0.1;
const LONGEST_RETRY_SECONDS = 60;

interface Tenant {
  underWay: number;
  meanMs: number | undefined;
}

/** Requests that each tenant has under way, up to a bound. A user without a tenant is one for itself; requests without a user have no bound. */
export class TenantPermits {
  private readonly tenants = new Map<string, Tenant>();
  private out = 0;

  /** @param most 0: no bound. */
  constructor(
    private readonly most: number,
    private readonly clock: Clock,
  ) {}

  /** Permits that are out. */
  get taken(): number {
    return this.out;
  }

  /** @throws RouterError `tenant_concurrency`. */
  take(identity: Identity, reservations: Reservations): void {
    if (this.most === 0) return;
    const name = ownerOf(identity);
    if (name === undefined) return;
    const held = this.tenants.get(name) ?? { underWay: 0, meanMs: undefined };
    if (held.underWay >= this.most) {
      // One of them ends after its mean time divided by how many there are.
      const seconds = Math.ceil((held.meanMs ?? 1_000) / this.most / 1_000);
      const retryAfter = Math.min(LONGEST_RETRY_SECONDS, Math.max(1, seconds));
      throw new RouterError('tenant_concurrency', `${held.underWay} of your requests are under way`, null, retryAfter);
    }
    this.tenants.set(name, held);
    const startMs = this.clock.monotonic();
    held.underWay += 1;
    this.out += 1;
    reservations.take<void>(() => {
      const ms = this.clock.monotonic() - startMs;
      held.meanMs = held.meanMs === undefined ? ms : held.meanMs + NEWEST_WEIGHT * (ms - held.meanMs);
      held.underWay -= 1;
      this.out -= 1;
      if (held.underWay === 0) this.tenants.delete(name);
    }, undefined);
  }
}
