import { ANONYMOUS, ownerOf, userOf } from '../../../../runtime/router/admission/identity';

const key = { ...ANONYMOUS, kind: 'api-key' as const };
const token = { ...ANONYMOUS, kind: 'token' as const };

describe('ownerOf', () => {
  it('is the tenant, whoever of it asks', () => {
    expect(ownerOf({ ...key, tenant: 'acme', user: 'a' })).toBe(ownerOf({ ...token, tenant: 'acme', user: 'b' }));
  });

  it('tells a user from a tenant of the same name, and a key from a token', () => {
    const owners = [
      ownerOf({ ...token, tenant: 'acme' }),
      ownerOf({ ...token, user: 'acme' }),
      ownerOf({ ...key, user: 'acme' }),
      userOf({ ...token, tenant: 'acme', user: 'acme' }),
    ];
    expect(new Set(owners).size).toBe(4);
  });

  it('is nobody where nobody in particular asks', () => {
    expect([ownerOf(ANONYMOUS), userOf(ANONYMOUS), userOf({ ...key, tenant: 'acme' })]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
