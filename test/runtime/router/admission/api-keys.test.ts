import crypto from 'node:crypto';
import { ApiKeys } from '../../../../runtime/router/admission/api-keys';
import { decodeRouterConfig } from '../../../../src/config/router-config';
import { Labels } from '../../../../src/labels';
import { MemoryCluster } from '../../../helpers/router-harness';

const KEY = 'sk-0123456789abcdefghij';

function keysOf(data: Readonly<Record<string, string>>, apiKeys: object = {}): { keys: ApiKeys; cluster: MemoryCluster } {
  const decoded = decodeRouterConfig({ auth: { apiKeys } });
  if (decoded.kind === 'invalid') throw new Error(decoded.findings[0]!.message);
  const cluster = new MemoryCluster();
  cluster.putSecret('system/keys', `${Labels.apiKeys}=true`, data);
  return { keys: new ApiKeys(cluster.secrets, decoded.config.auth!.apiKeys!), cluster };
}

describe('an API key', () => {
  it('stands for its name, tenant, models and class; alone, for the entry’s name and every model', () => {
    const full = { key: KEY, name: 'batch jobs', tenant: 'red', models: ['m', 'n'], priorityClass: 'batch' };
    const { keys } = keysOf({ full: JSON.stringify(full), plain: 'x'.repeat(20) });
    expect(keys.find(KEY)).toEqual({
      kind: 'api-key',
      user: 'batch jobs',
      tenant: 'red',
      models: new Set(['m', 'n']),
      priorityClass: 'batch',
      claims: {},
    });
    expect(keys.find('x'.repeat(20))).toMatchObject({ user: 'plain', tenant: undefined, models: 'all' });
    expect(keys.size).toBe(2);
  });

  it('may be known by its hash alone', () => {
    const sha256 = crypto.createHash('sha256').update(KEY).digest('hex');
    const { keys } = keysOf({ a: JSON.stringify({ sha256, name: 'hashed' }) });
    expect(keys.find(KEY)?.user).toBe('hashed');
    expect(keys.find(sha256)).toBeUndefined();
  });

  it('is compared as a hash and in constant time, one that nobody has like one that somebody has', () => {
    const { keys } = keysOf({ a: KEY });
    const compare = jest.spyOn(crypto, 'timingSafeEqual');
    try {
      for (const presented of [KEY, `${KEY}x`, '', 'y'.repeat(100_000)]) {
        compare.mockClear();
        keys.find(presented);
        expect(compare.mock.calls.map((sides) => sides.map((side) => (side as Buffer).length))).toEqual([[32, 32]]);
      }
    } finally {
      compare.mockRestore();
    }
    expect(JSON.stringify(keys)).not.toContain(KEY);
  });

  it('that stands twice is its first owner’s, with a warning', () => {
    const { keys } = keysOf({ b: JSON.stringify({ key: KEY, models: ['*'] }), a: JSON.stringify({ key: KEY, models: ['m'] }) });
    expect([keys.find(KEY)?.user, keys.size]).toEqual(['a', 1]);
    expect(keys.findings()).toMatchObject([
      { code: 'auth/duplicate-key', severity: 'warning', object: 'Secret system/keys', field: 'b' },
    ]);
  });

  it.each([
    ['short', 'is not 20 to 512 visible'],
    [`${KEY} and more`, 'is not 20 to 512 visible'],
    [`${KEY}é`, 'is not 20 to 512 visible'],
    ['', 'is not 20 to 512 visible'],
    ['{"key"', 'is no JSON object'],
    ['{}', 'exactly one of `key` and `sha256`'],
    [JSON.stringify({ key: KEY, sha256: 'a'.repeat(64) }), 'exactly one of `key` and `sha256`'],
    [JSON.stringify({ sha256: 'A'.repeat(64) }), '`sha256` that is not 64 lower-case'],
    [JSON.stringify({ key: KEY, models: 'm' }), 'a wrong `models`'],
    [JSON.stringify({ key: KEY, model: ['m'] }), 'none of key, sha256, name, tenant, models, priorityClass'],
    [JSON.stringify({ key: 7 }), 'is not 20 to 512 visible'],
  ])('%# that cannot be meant is nobody’s, and the others go on', (value, problem) => {
    const { keys } = keysOf({ bad: value, good: 'z'.repeat(24) });
    expect([keys.size, keys.find(value), keys.find('z'.repeat(24))?.user]).toEqual([1, undefined, 'good']);
    const [finding, ...others] = keys.findings();
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'auth/unusable-key', severity: 'error', object: 'Secret system/keys', field: 'bad' });
    expect(finding!.message).toContain(problem);
    expect(JSON.stringify(finding)).not.toContain(KEY);
  });

  it('lies in a Secret with the label that is configured, among those that are named', () => {
    const { keys, cluster } = keysOf({ a: KEY }, { secretLabel: 'example.com/keys', secrets: ['system/ours'] });
    expect([keys.size, keys.findings()]).toMatchObject([0, [{ code: 'auth/missing-secret', object: 'Secret system/ours' }]]);
    cluster.putSecret('system/theirs', 'example.com/keys=true', { a: KEY });
    expect(keys.size).toBe(0);
    cluster.putSecret('system/ours', 'example.com/keys=true', { b: KEY });
    expect([keys.find(KEY)?.user, keys.findings()]).toEqual(['b', []]);
    keys.close();
    cluster.putSecret('system/ours', 'example.com/keys=true', undefined);
    expect(keys.size).toBe(1);
  });
});
