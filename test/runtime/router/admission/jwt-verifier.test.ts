import { createLocalJWKSet } from 'jose';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { JwksKeys, KeySet } from '../../../../runtime/router/admission/jwks-keys';
import { JwtVerifier } from '../../../../runtime/router/admission/jwt-verifier';
import { decodeRouterConfig } from '../../../../src/config/router-config';
import { AUDIENCE, ISSUER, TokenIssuer } from '../../../helpers/token-issuer';

const START_MS = Date.parse('2026-11-30T12:00:00Z');
const START = START_MS / 1000;

function authOf(more: object = {}) {
  const decoded = decodeRouterConfig({
    auth: { issuer: ISSUER, audiences: [AUDIENCE], jwksUri: 'https://id.example.com/', ...more },
  });
  if (decoded.kind === 'invalid') throw new Error(decoded.findings[0]!.message);
  return decoded.config.auth!;
}

describe('a verified token', () => {
  let issuer: TokenIssuer;
  let clock: VirtualClock;
  /** Signatures that were checked. */
  let checks: number;
  let current: KeySet;

  beforeAll(async () => {
    issuer = await TokenIssuer.start();
    await issuer.close();
  });

  const keySet = (): KeySet => {
    const find = createLocalJWKSet({ keys: [...issuer.published.values()] });
    return {
      has: (kid) => issuer.published.has(kid),
      find: (head, token) => {
        checks += 1;
        return find(head, token);
      },
    };
  };

  function verifier(more: object = {}): JwtVerifier {
    clock = new VirtualClock(START_MS);
    checks = 0;
    current = keySet();
    const keys = {
      get current() {
        return current;
      },
      first: () => Promise.resolve(current),
      renew: () => Promise.resolve(current),
    } as unknown as JwksKeys;
    return new JwtVerifier(authOf(more), keys, clock);
  }

  const sign = (claims: object = {}) => issuer.sign({ iat: START, exp: START + 600, ...claims });

  it('is remembered until it ends and the clocks’ difference is over, and then refused', async () => {
    const tokens = verifier();
    const token = await sign();
    expect(tokens.remembered(token)).toBeUndefined();
    const identity = await tokens.verify(token);
    expect(tokens.remembered(token)).toBe(identity);
    clock.advance(659_000);
    expect(tokens.remembered(token)).toBe(identity);
    clock.advance(1_000);
    expect(tokens.remembered(token)).toBeUndefined();
    await expect(tokens.verify(token)).rejects.toThrow('it has expired');
  });

  it('is checked once, however many requests bring it at one time', async () => {
    const tokens = verifier();
    const token = await sign();
    const identities = await Promise.all(Array.from({ length: 50 }, () => tokens.verify(token)));
    expect([new Set(identities).size, checks]).toEqual([1, 1]);
  });

  it('is checked anew when the issuer has other keys', async () => {
    const tokens = verifier();
    const token = await sign();
    await tokens.verify(token);
    current = { ...keySet(), has: () => false };
    expect(tokens.remembered(token)).toBeUndefined();
    await expect(tokens.verify(token)).rejects.toThrow('unknown key');
  });

  it('that was refused is not remembered as good', async () => {
    const tokens = verifier();
    const token = await sign({ aud: 'other' });
    for (let n = 0; n < 2; n++) await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'invalid_token', status: 401 });
    expect(tokens.remembered(token)).toBeUndefined();
  });

  it('costs bounded memory: the ones that were not used for longest are forgotten', async () => {
    const tokens = verifier();
    const pad = 'x'.repeat(12_000);
    const made = await Promise.all(Array.from({ length: 600 }, (_, n) => sign({ sub: `user-${n}`, pad })));
    for (const token of made) await tokens.verify(token);
    const kept = made.filter((token) => tokens.remembered(token) !== undefined).length;
    expect(kept).toBeGreaterThan(400);
    expect(kept).toBeLessThan(600);
    expect(tokens.remembered(made[0]!)).toBeUndefined();
  });

  it('says who asks by the claims that are configured', async () => {
    const claims = { user: 'email', tenant: 'org', priorityClass: 'tier', models: 'scope' };
    const token = await sign({ email: 'ada@example.com', org: 'engines', tier: 'gold', scope: 'a b' });
    expect(await verifier({ claims }).verify(token)).toMatchObject({
      kind: 'token',
      user: 'ada@example.com',
      tenant: 'engines',
      priorityClass: 'gold',
      models: new Set(['a', 'b']),
      claims: { sub: 'ada', org: 'engines' },
    });
    expect(await verifier().verify(token)).toMatchObject({ user: 'ada', tenant: undefined, models: 'all' });
    await expect(verifier({ claims: { user: 'constructor' } }).verify(token)).rejects.toThrow('it has no constructor');
    await expect(verifier({ claims: { user: 'n' } }).verify(await sign({ n: 7 }))).rejects.toThrow('it has no n');
  });

  it('may be late by the difference that is configured, and by no more', async () => {
    const exact = verifier({ clockSkewMs: 0 });
    const token = await sign({ nbf: START + 1 });
    await expect(exact.verify(token)).rejects.toThrow('not valid yet');
    clock.advance(1_000);
    await exact.verify(token);
    clock.advance(599_000);
    expect(exact.remembered(token)).toBeUndefined();
    await expect(exact.verify(token)).rejects.toThrow('expired');
  });
});
