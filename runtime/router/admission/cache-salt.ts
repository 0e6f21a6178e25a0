import { createHash } from 'node:crypto';
import type { TenantIsolation } from '../../../src/api/model-route';
import { type Identity, ownerOf, userOf } from './identity';

type Salts = { [K in TenantIsolation['salt']]?: string };

/** Identities are remembered by those who verify them, so that a salt is made once for each. */
const known = new WeakMap<Identity, Salts>();

/**
 * The salt under which a request's KV blocks are cached: that of its tenant, or of its user where it has no tenant or the route asks for
 * users. A digest, the same on every router, so that engines and their logs and events do not tell names.
 *
 * @returns undefined for nobody in particular: nobody verified whose cache it would be.
 */
export function cacheSaltOf({ salt }: TenantIsolation, identity: Identity): string | undefined {
  const owner = (salt === 'user' ? userOf(identity) : undefined) ?? ownerOf(identity);
  if (owner === undefined) return undefined;
  let salts = known.get(identity);
  if (salts === undefined) {
    salts = {};
    known.set(identity, salts);
  }
  salts[salt] ??= createHash('sha256').update(owner).digest('base64url');
  return salts[salt];
}
