import type { ClientLimit } from '../../../../src/config/rate-limit-config';
import { lru } from '../../../lib/lru';
import type { Identity } from '../identity';
import { type Limit, limitsOf } from './limit';

/** Identities whose limits are remembered. */
const MAX_CLIENTS = 10_000;
const NONE: readonly Limit[] = [];

/** What each user and tenant may use. */
export class ClientLimits {
  private readonly byClient = lru<string, readonly Limit[]>(MAX_CLIENTS);

  constructor(private readonly rules: readonly ClientLimit[]) {}

  /** The limits of whoever asks; none for nobody in particular. */
  of({ user, tenant }: Identity): readonly Limit[] {
    if (this.rules.length === 0 || (user === undefined && tenant === undefined)) return NONE;
    const client = JSON.stringify([user, tenant]);
    let limits = this.byClient.get(client);
    if (limits === undefined) {
      limits = [...this.limitsFor('user', user), ...this.limitsFor('tenant', tenant)];
      this.byClient.set(client, limits);
    }
    return limits;
  }

  private limitsFor(per: ClientLimit['per'], name: string | undefined): readonly Limit[] {
    if (name === undefined) return NONE;
    const seen = new Set<string>();
    return this.rules.flatMap((rule) => {
      if (rule.per !== per || seen.has(rule.unit) || (rule.names !== undefined && !rule.names.includes(name))) return [];
      seen.add(rule.unit);
      return limitsOf(rule, `the ${per}`, (quantity) => `kvasir:ratelimit:${per}:${rule.unit}:${quantity}:${name}`);
    });
  }
}
