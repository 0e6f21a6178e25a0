/** Models that somebody may ask for. */
export type AllowedModels = 'all' | ReadonlySet<string>;

/** Who asks, as far as it was verified. Nothing in it comes from a client's own word. */
export interface Identity {
  readonly kind: 'anonymous' | 'api-key' | 'token';
  /** Whose usage it is: the token's user claim, or the key's name. Undefined for nobody in particular. */
  readonly user: string | undefined;
  /** Who shares caches and limits. */
  readonly tenant: string | undefined;
  /** Class in which its requests wait, by name. */
  readonly priorityClass: string | undefined;
  readonly models: AllowedModels;
  /** Claims of the token; empty for others. */
  readonly claims: Readonly<Record<string, unknown>>;
}

const NO_CLAIMS: Readonly<Record<string, unknown>> = Object.freeze({});

/** Nobody is told apart, and everybody may ask for everything. */
export const ANONYMOUS: Identity = Object.freeze({
  kind: 'anonymous',
  user: undefined,
  tenant: undefined,
  priorityClass: undefined,
  models: 'all',
  claims: NO_CLAIMS,
});

/**
 * Whose something is: a tenant's, or a user's of no tenant. A name of its own, unlike any other owner's.
 *
 * @returns undefined for nobody in particular.
 */
export function ownerOf(identity: Identity): string | undefined {
  return identity.tenant === undefined ? userOf(identity) : JSON.stringify(['tenant', identity.tenant]);
}

/** One user, of its tenant and of its kind: a key and a token may bear the same name. @returns undefined for nobody in particular. */
export function userOf({ kind, tenant, user }: Identity): string | undefined {
  return user === undefined ? undefined : JSON.stringify(['user', kind, tenant ?? null, user]);
}

/** @param names of models; `*` among them means all. */
export function allowedModels(names: readonly string[]): AllowedModels {
  return names.includes('*') ? 'all' : new Set(names);
}
