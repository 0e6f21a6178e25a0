import { decodeApiKeyEntry } from '../../../src/config/api-key-entry';
import { authFindings } from '../../../src/config/auth-config';
import { parseRouterConfig } from '../../../src/config/router-config';
import { findingLine } from '../../../src/errors';

function authOf(text: string) {
  const decoded = parseRouterConfig(`auth: ${text}`, 'f.yaml');
  return decoded.kind === 'valid' ? (decoded.config.auth ?? 'none') : decoded.findings.map(findingLine);
}

const ID = 'issuer: me, jwksUri: "https://id.example.com/k"';

describe('auth in the router configuration', () => {
  it('is Kthena’s section as it is, with Kvasir’s defaults', () => {
    expect(authOf(`{${ID}, audiences: [a, b]}`)).toMatchObject({
      issuer: 'me',
      audiences: ['a', 'b'],
      required: true,
      clockSkewMs: 60_000,
      claims: { user: 'sub' },
      jwks: { refreshMs: 600_000, minRefreshMs: 30_000, timeoutMs: 5_000 },
    });
    expect(authOf('{issuer: "", audiences: [], jwksUri: ""}')).toMatchObject({ jwksUri: '' });
  });

  it('never takes a shared secret for a signature', () => {
    for (const name of ['HS256', 'none']) {
      expect(authOf(`{${ID}, algorithms: [${name}]}`)).toEqual([
        expect.stringContaining(`auth.algorithms.0: "${name}" is not allowed`),
      ]);
    }
  });

  it.each([
    ['{issuer: me}', /^f\.yaml: auth\.issuer: asks for tokens, .* \[config\/auth-incomplete\]$/],
    ['{audiences: [a]}', /^f\.yaml: auth\.audiences: asks for tokens, /],
    ['{jwksUri: "https://x/y"}', /^f\.yaml: auth\.jwksUri: has keys, and issuer does not say/],
    ['{issuer: me, jwksUri: "ftp://x/y"}', /^f\.yaml: auth\.jwksUri: "ftp:\/\/x\/y" is no URL of https; /],
    ['{issuer: me, jwksUri: x}', /^f\.yaml: auth\.jwksUri: "x" is no URL of https; /],
    ['{audience: a}', /^f\.yaml: auth\.audience: is no field of the router configuration; use one of issuer, audiences, /],
    [`{${ID}, jwks: {minRefreshMs: 1}}`, /^f\.yaml: auth\.jwks\.minRefreshMs: 1 is not allowed; /],
    ['{apiKeys: {secrets: [keys]}}', /^f\.yaml: auth\.apiKeys\.secrets\.0: "keys" is not allowed; /],
    ['{apiKeys: {header: X-Key}}', /^f\.yaml: auth\.apiKeys\.header: "X-Key" is not allowed; /],
  ])('%s is refused with field and remedy', (text, expected) => {
    expect(authOf(text)).toEqual([expect.stringMatching(expected)]);
  });

  it.each([
    ['https://id.example.com/k', 0],
    ['http://127.0.0.1:9/k', 0],
    ['http://id.example.com/k', 1],
  ])('%s has %i warnings', (jwksUri, count) => {
    const auth = authOf(`{issuer: me, jwksUri: "${jwksUri}"}`);
    const warnings = authFindings(auth as Parameters<typeof authFindings>[0]);
    expect(warnings.map(({ code, severity }) => `${severity} ${code}`)).toEqual(
      Array(count).fill('warning config/auth-plain-http'),
    );
  });
});

describe('an entry of a Secret with API keys', () => {
  it('is the key alone, or an object', () => {
    const key = 'k'.repeat(20);
    expect(decodeApiKeyEntry(`  ${key}\n`)).toEqual({ kind: 'valid', entry: { key } });
    const entry = { sha256: '0'.repeat(64), name: 'n', tenant: 't', models: ['*'], priorityClass: 'p' };
    expect(decodeApiKeyEntry(JSON.stringify(entry, null, 2))).toEqual({ kind: 'valid', entry });
  });

  it('that is no key is never repeated in what is said of it', () => {
    for (const value of ['hunter2', '{"key":"hunter2"}', '{"hunter2":1}', '{hunter2}', '{"sha256":"hunter2"}']) {
      const decoded = decodeApiKeyEntry(value);
      expect(decoded.kind).toBe('invalid');
      expect(JSON.stringify(decoded)).not.toContain('hunter2');
    }
  });
});
