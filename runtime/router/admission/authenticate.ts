import type { RouterConfig } from '../../../src/config/router-config';
import { KvasirError } from '../../../src/errors';
import type { Identity, RequestHead } from '../request';

/** Tells who asks, from headers alone, before any body is read. */
export type Authenticate = (head: RequestHead) => Identity;

/**
 * Without `auth` in the configuration everybody may ask.
 *
 * @throws KvasirError `config/auth-not-served` when the configuration asks for tokens: letting everybody in would be worse than not
 *   starting.
 */
export function createAuthenticate(auth: RouterConfig['auth']): Authenticate {
  const asked = (['jwksUri', 'issuer', 'audiences'] as const).find((field) => (auth?.[field] ?? '').length > 0);
  if (asked !== undefined) {
    throw new KvasirError({
      code: 'config/auth-not-served',
      field: `auth.${asked}`,
      message: `${JSON.stringify(auth?.[asked])} asks for tokens, which this router does not check`,
      remedy: 'leave auth empty and check tokens in front of the router',
    });
  }
  const anonymous: Identity = { kind: 'anonymous' };
  return () => anonymous;
}
