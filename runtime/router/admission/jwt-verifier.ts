import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { AuthConfig } from '../../../src/config/auth-config';
import type { Clock } from '../../lib/clock';
import { RouterError } from '../errors';
import type { Identity } from './identity';
import { identityOfClaims } from './identity-of-claims';
import type { JwksKeys, KeySet } from './jwks-keys';

export type JwtConfig = Pick<AuthConfig, 'issuer' | 'audiences' | 'algorithms' | 'clockSkewMs' | 'claims'>;

interface Verified {
  readonly identity: Identity;
  /** Epoch. */
  readonly endsMs: number;
  /** The keys it was verified with; a token of keys that were withdrawn is verified anew. */
  readonly keys: KeySet;
}

/** Longest token; heads of requests are bounded too, and a cache holds many. */
const MAX_TOKEN_CHARACTERS = 16 * 1024;
/** Characters of the tokens that are remembered: some 8,000 tokens of usual size. */
const CACHE_CHARACTERS = 8 * 2 ** 20;
/** What an entry costs besides its token. */
const ENTRY_CHARACTERS = 512;

/**
 * Verifies tokens as Kthena does (`iss`, `aud`, `exp` and `sub` required, a `kid` that the issuer's keys have), and remembers those that
 * were good until they end, so that a client's second request costs a look-up.
 */
export class JwtVerifier {
  private readonly verified = new LRUCache<string, Verified>({
    maxSize: CACHE_CHARACTERS,
    sizeCalculation: (_value, token) => token.length + ENTRY_CHARACTERS,
  });
  private readonly underWay = new Map<string, Promise<Identity>>();

  constructor(
    private readonly config: JwtConfig,
    private readonly keys: JwksKeys,
    private readonly clock: Clock,
  ) {}

  /** Whose token it is, when that was found out before and still holds. */
  remembered(token: string): Identity | undefined {
    const known = this.verified.get(token);
    if (known === undefined) return undefined;
    if (known.endsMs > this.clock.now() && known.keys === this.keys.current) return known.identity;
    this.verified.delete(token);
    return undefined;
  }

  /** @throws RouterError `invalid_token`, or `auth_unavailable` when the issuer's keys were never had. */
  verify(token: string): Promise<Identity> {
    const running = this.underWay.get(token);
    if (running !== undefined) return running;
    const started = this.verifyOnce(token).finally(() => this.underWay.delete(token));
    this.underWay.set(token, started);
    return started;
  }

  private async verifyOnce(token: string): Promise<Identity> {
    const kid = this.keyNamed(token);
    let keys = await this.keys.first();
    if (keys !== undefined && !keys.has(kid)) keys = await this.keys.renew();
    if (keys === undefined) throw new RouterError('auth_unavailable', 'the keys that sign tokens cannot be had now');
    if (!keys.has(kid)) throw refused('it is signed with an unknown key');
    const claims = await this.claimsOf(token, keys);
    const identity = identityOfClaims(claims, this.config.claims);
    if (identity === undefined) throw refused(`it has no ${this.config.claims.user}`);
    const endsMs = (claims.exp ?? 0) * 1000 + this.config.clockSkewMs;
    this.verified.set(token, { identity, endsMs, keys });
    return identity;
  }

  /** What needs no key: whether it looks like a token at all, and which key it asks for. */
  private keyNamed(token: string): string {
    if (token.length > MAX_TOKEN_CHARACTERS) throw refused(`it is longer than ${MAX_TOKEN_CHARACTERS} characters`);
    let head: ReturnType<typeof decodeProtectedHeader>;
    try {
      head = decodeProtectedHeader(token);
    } catch {
      throw refused('it is malformed');
    }
    if (!this.config.algorithms.some((each) => each === head.alg)) throw refused('its signature algorithm is not accepted');
    if (typeof head.kid !== 'string') throw refused('its head names no key');
    return head.kid;
  }

  private async claimsOf(token: string, keys: KeySet): Promise<JWTPayload> {
    const { algorithms, issuer = '', audiences = [], clockSkewMs } = this.config;
    const nowMs = this.clock.now();
    let claims: JWTPayload;
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        algorithms: [...algorithms],
        issuer,
        ...(audiences.length === 0 ? {} : { audience: [...audiences] }),
        requiredClaims: ['exp'],
        clockTolerance: clockSkewMs / 1000,
        currentDate: new Date(nowMs),
      });
      claims = payload;
    } catch (error) {
      throw refused(reasonOf(error));
    }
    if (claims.iat !== undefined && claims.iat * 1000 > nowMs + clockSkewMs) throw refused('it was issued in the future');
    return claims;
  }
}

function refused(reason: string): RouterError {
  return new RouterError('invalid_token', `the token is not accepted: ${reason}`);
}

/** Says which check failed, in the router's own words: texts of libraries and values of claims stay here. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return CLAIM_REASONS[error.claim] ?? 'a claim is not as it must be';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  if (error instanceof errors.JWKSNoMatchingKey) return 'its key is for another algorithm';
  return 'it cannot be verified';
}

const CLAIM_REASONS: Readonly<Record<string, string>> = {
  iss: 'it is of another issuer',
  aud: 'it is for another audience',
  exp: 'it has no end',
  nbf: 'it is not valid yet',
};
