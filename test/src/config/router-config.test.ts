import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import {
  decodeRouterConfig,
  defaultRouterConfig,
  parseRouterConfig,
  routerConfigSchema,
} from '../../../src/config/router-config';
import { findingLine } from '../../../src/errors';

const KTHENA = `
scheduler:
  pluginConfig:
  - name: least-request
    args: {maxWaitingRequests: 10}
  - name: prefix-cache
    args: {blockSizeToHash: 64, maxBlocksToMatch: 128, maxHashCacheSize: 50000}
  plugins:
    Filter: {enabled: [least-request], disabled: [lora-affinity]}
    Score:
      enabled:
      - {name: least-request, weight: 1}
      - {name: kv-cache}
auth: {issuer: "", audiences: [], jwksUri: ""}
`;

function leaves(schema: TSchema, path: readonly string[] = []): string[][] {
  const properties = (schema as { properties?: Record<string, TSchema> }).properties;
  if (properties === undefined) return [[...path]];
  return Object.entries(properties).flatMap(([name, each]) => leaves(each, [...path, name]));
}

function sources(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? sources(join(folder, entry.name)) : readFileSync(join(folder, entry.name), 'utf8')))
    .join('\n');
}

describe('the router configuration', () => {
  it('of an empty document is all defaults', () => {
    expect(decodeRouterConfig({})).toEqual({ kind: 'valid', config: defaultRouterConfig() });
    expect(parseRouterConfig('')).toEqual({ kind: 'valid', config: defaultRouterConfig() });
    expect(defaultRouterConfig()).toMatchObject({
      limits: { bodyBytes: 67_108_864, bodyBudgetBytes: 536_870_912 },
      retry: { attempts: 2, budgetRatio: 0.2 },
      drain: { timeoutMs: 300_000 },
      accessLog: { enabled: true, format: 'text', output: 'stdout' },
    });
  });

  it('takes Kthena’s file as it is', () => {
    const decoded = parseRouterConfig(KTHENA);
    expect(decoded).toMatchObject({
      kind: 'valid',
      config: {
        scheduler: {
          plugins: {
            Filter: { enabled: ['least-request'] },
            Score: { enabled: [{ name: 'least-request', weight: 1 }, { name: 'kv-cache' }] },
          },
        },
      },
    });
  });

  it.each([
    [
      'limits: {bodyByte: 1}',
      'f.yaml: limits.bodyByte: is no field of the router configuration; use one of bodyBytes, bodyBudgetBytes, jsonDepth, requestsInFlight, shadowRequestsInFlight [config/unknown-field]',
    ],
    [
      'limit: 1',
      /^f\.yaml: limit: is no field of the router configuration; use one of scheduler, auth, profile, profiles, routeProfiles, explain, limits, /,
    ],
    [
      'limits: {bodyBytes: 0}',
      'f.yaml: limits.bodyBytes: 0 is not allowed; expected integer to be greater or equal to 1 [config/invalid-value]',
    ],
    ['accessLog: {format: xml}', /^f\.yaml: accessLog\.format: "xml" is not allowed; /],
    ['retry: {statuses: [200]}', /^f\.yaml: retry\.statuses\.0: 200 is not allowed; /],
    ['redis: {address: "redis://r:6379"}', /^f\.yaml: redis\.address: "redis:\/\/r:6379" is not allowed; /],
    [
      'redis: {address: r:6379, password: x}',
      /^f\.yaml: redis\.password: is no field .*; use one of address, username, passwordFile, tls /,
    ],
    ['redis: {address: r:6379, tls: true}', /^f\.yaml: redis\.tls: true is not allowed; /],
    ['redis: {}', /^f\.yaml: redis\.address: .* is not allowed; /],
    [
      'replication: {secretFile: /s}',
      'f.yaml: replication: says neither where the others are nor is there a Redis to meet in; give `replication.siblings` or `redis` [config/replication]',
    ],
    ['replication: {secretFile: /s, siblings: ["r"]}', /^f\.yaml: replication\.siblings\.0: "r" is not allowed; /],
    [
      'onFlightCounters: true',
      'f.yaml: onFlightCounters: is true, and there is no Redis to count in; give `redis` [config/replication]',
    ],
    ['a: [', /^f\.yaml: is not YAML: .*; correct the document \[config\/malformed-yaml\]$/],
  ])('%s is one line with place, value and remedy', (text, expected) => {
    const decoded = parseRouterConfig(text, 'f.yaml');
    if (decoded.kind === 'valid') throw new Error('was taken');
    expect(decoded.findings.map(findingLine)).toEqual([
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    ]);
  });

  it.each(['r:6379', 'kvasir-redis.kvasir-system.svc:6379', '10.0.0.7:6380', '[fd00::7]:6379'])(
    'finds Redis at %s',
    (address) => {
      const redis = { address, username: 'u', passwordFile: '/f', tls: { caFile: '/ca.pem', serverName: 'r' } };
      expect(decodeRouterConfig({ redis })).toMatchObject({ kind: 'valid', config: { redis } });
    },
  );

  /** Fields that are taken and mean nothing, with the reason. */
  const WITHOUT_READER: Readonly<Record<string, string>> = {};
  const router = ['router', 'lib'].map((room) => sources(join(__dirname, '../../../runtime', room))).join('\n');

  it.each(leaves(routerConfigSchema).map((path) => [path.join('.'), path[path.length - 1]!] as const))(
    '%s has a reader in the router, or a row that says why not',
    (name, leaf) => {
      const isRead = new RegExp(`[.]${leaf}\\b|[{,] ${leaf}\\b|(?<!: )'${leaf}'`).test(router);
      expect(isRead).toBe(!(name in WITHOUT_READER));
    },
  );
});
