import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../../../runtime/lib/logger';
import { ConfigFile } from '../../../runtime/router/config-file';
import { type DecodedRouterConfig, decodeRouterConfig, parseRouterConfig } from '../../../src/config/router-config';
import { parseFamilies, seriesValue } from '../../helpers/prometheus-text';
import { chatBody, send, startTestRouter, TestEngine, type TestRouter, until } from '../../helpers/router-harness';
import { temporaryFolders } from '../../helpers/temporary-folder';
import { ISSUER, TokenIssuer } from '../../helpers/token-issuer';

const folder = temporaryFolders();
const KEY = 'key-of-twenty-characters';
const quiet = { accessLog: { enabled: false } };

let engine: TestEngine;
let router: TestRouter;
let lines: string[];

const use = (document: object): Promise<void> =>
  router.router.reconfigure(decodeRouterConfig({ ...quiet, ...document }, 'router.yaml'));
const ask = (body = chatBody(), headers: Record<string, string> = {}, path = '/v1/chat/completions') =>
  send(router.url, path, body, headers);
const metric = async (name: string): Promise<number> => {
  const { body } = await send(`http://127.0.0.1:${router.router.metricsAddress.port}`, '/metrics');
  return seriesValue(parseFamilies(body), name);
};
const debug = async (path: string): Promise<unknown> =>
  JSON.parse((await send(`http://127.0.0.1:${router.router.debugAddress.port}`, path)).body);

beforeAll(async () => {
  engine = await new TestEngine((request, response) => {
    const status = request.body.includes('"fail"') ? 500 : 200;
    const body = JSON.stringify({ usage: { prompt_tokens: 3, completion_tokens: 2 } });
    setTimeout(
      () => response.writeHead(status, { 'content-type': 'application/json' }).end(body),
      request.body.includes('"slow"') ? 150 : 0,
    );
  }).start();
  lines = [];
  const config = decodeRouterConfig(quiet);
  if (config.kind === 'invalid') throw new Error('the test’s own configuration is wrong');
  router = await startTestRouter({
    engines: [engine, engine],
    config: config.config,
    logs: { log: createLogger('router', 'info', { write: (line) => lines.push(line) }) },
  });
});

afterEach(async () => {
  await use({});
  lines.length = 0;
});

afterAll(async () => {
  await router.router.close();
  await engine.kill();
});

interface Row {
  readonly section: string;
  readonly document: () => object;
  /** Sees what is so before and after: `false` without the change, `true` with it. */
  readonly isSo: () => Promise<boolean>;
}

const logFile = (name: string): string => join(logFolder, name);
const logFolder = folder();
const linesOf = (name: string): string => {
  try {
    return readFileSync(logFile(name), 'utf8');
  } catch {
    return '';
  }
};

/** Whether a request adds a line to a log; the log is written when it is closed. */
const grows = async (name: string, part: string, request: () => Promise<unknown>): Promise<boolean> => {
  const count = (): number => linesOf(name).split(part).length;
  const before = count();
  await request();
  await use({});
  return count() === before + 1;
};

/** What each section that is taken over does, as somebody outside sees it. */
const ROWS: readonly Row[] = [
  {
    section: 'limits',
    document: () => ({ limits: { bodyBytes: 20 } }),
    isSo: async () => (await ask()).status === 413,
  },
  {
    section: 'limits of all requests together',
    document: () => ({ limits: { bodyBudgetBytes: 20 } }),
    isSo: async () => (await ask()).body.includes('"body_budget"'),
  },
  {
    section: 'deadlines',
    document: () => ({ deadlines: { firstByteMs: 20 }, retry: { attempts: 0 } }),
    isSo: async () => (await ask(chatBody({ user: 'slow' }))).status === 504,
  },
  {
    section: 'retry',
    document: () => ({ retry: { attempts: 0, statuses: [] } }),
    isSo: async () => {
      const before = engine.received.length;
      await ask(chatBody({ user: 'fail' }));
      return engine.received.length - before === 1;
    },
  },
  {
    section: 'paths',
    document: () => ({ paths: ['/v1/own'] }),
    isSo: async () => (await ask(chatBody(), {}, '/v1/own')).status === 200,
  },
  {
    section: 'requests',
    document: () => ({ requests: { media: 'dataUrlsOnly' } }),
    isSo: async () => {
      const content = [{ type: 'image_url', image_url: { url: 'http://h/i.png' } }];
      return (await ask(chatBody({ messages: [{ role: 'user', content }] }))).status === 400;
    },
  },
  {
    section: 'cors',
    document: () => ({ cors: { origins: ['https://chat.example.com'] } }),
    isSo: async () =>
      (await ask(chatBody(), { origin: 'https://chat.example.com' })).headers['access-control-allow-origin'] !== undefined,
  },
  {
    section: 'trustedProxies',
    document: () => ({ trustedProxies: ['127.0.0.1'] }),
    isSo: async () => {
      await ask(chatBody(), { 'x-forwarded-for': '10.1.1.1' });
      return engine.received.at(-1)!.headers['x-forwarded-for'] !== undefined;
    },
  },
  {
    section: 'explain',
    document: () => ({ explain: { header: true } }),
    isSo: async () => (await ask(chatBody(), { 'x-kvasir-explain': '1' })).headers['x-kvasir-decision'] !== undefined,
  },
  {
    section: 'explain.ringSize',
    document: () => ({ explain: { ringSize: 0 } }),
    isSo: async () => {
      // The ring keeps a decision now and then, not each of a burst.
      for (let round = 0; round < 10; round++) {
        await ask();
        if (((await debug('/debug/decisions')) as { decisions: unknown[] }).decisions.length > 0) return false;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return true;
    },
  },
  {
    section: 'profile',
    document: () => ({ profile: 'random', explain: { header: true } }),
    isSo: async () =>
      String((await ask(chatBody(), { 'x-kvasir-explain': '1' })).headers['x-kvasir-decision']).includes('"profile":"random"'),
  },
  {
    section: 'scheduler',
    document: () => ({
      scheduler: { plugins: { Score: { enabled: [{ name: 'least-request', weight: 1 }] } } },
      explain: { header: true },
    }),
    isSo: async () =>
      String((await ask(chatBody(), { 'x-kvasir-explain': '1' })).headers['x-kvasir-decision']).includes('"least-request"'),
  },
  {
    section: 'auth',
    document: () => ({ auth: { apiKeys: {} } }),
    isSo: async () => (await ask()).status === 401 && (await ask(chatBody(), { authorization: `Bearer ${KEY}` })).status === 200,
  },
  {
    section: 'rateLimit.clients',
    document: () => ({
      auth: { apiKeys: {} },
      rateLimit: { clients: [{ per: 'user', unit: 'day', requestsPerUnit: 1 }] },
    }),
    isSo: async () => {
      const headers = { authorization: `Bearer ${KEY}` };
      await ask(chatBody(), headers);
      return (await ask(chatBody(), headers)).status === 429;
    },
  },
  {
    section: 'accessLog',
    document: () => ({ accessLog: { enabled: true, format: 'json', output: logFile('access') } }),
    isSo: async () => {
      return grows('access', '"request_id":"in-the-log"', () => ask(chatBody(), { 'x-request-id': 'in-the-log' }));
    },
  },
  {
    section: 'usage',
    document: () => ({ usage: { output: logFile('usage') } }),
    isSo: async () => {
      return grows('usage', '"request_id":"in-the-bill"', () => ask(chatBody(), { 'x-request-id': 'in-the-bill' }));
    },
  },
  {
    section: 'decisionLog',
    document: () => ({ decisionLog: { output: logFile('decisions'), sampleRatio: 1 } }),
    isSo: async () => {
      return grows('decisions', '"requestId":"decided"', () => ask(chatBody(), { 'x-request-id': 'decided' }));
    },
  },
  {
    section: 'drain',
    document: () => ({ drain: { timeoutMs: 1 } }),
    isSo: async () => router.router.config.drain.timeoutMs === 1,
  },
];

describe('A changed configuration', () => {
  beforeAll(() => router.cluster.putSecret('default/keys', 'kvasir.dev/api-keys=true', { k: KEY }));

  it.each(ROWS.map((row) => [row.section, row] as const))(
    'takes over %s without a restart, and gives it up again',
    async (_, row) => {
      expect(await row.isSo()).toBe(false);
      await use(row.document());
      expect(await row.isSo()).toBe(true);
      await use({});
      expect(await row.isSo()).toBe(false);
    },
  );

  it('lets requests under way end by the one they began with', async () => {
    const running = ask(chatBody({ user: 'slow' }));
    await until(() => engine.active === 1, 'the request at the engine');
    await use({ limits: { bodyBytes: 1 }, auth: { apiKeys: {} }, profile: 'random' });
    expect((await running).status).toBe(200);
    expect(router.router.load()).toMatchObject({ permits: 0, bodyBytes: 0, activeRequests: 0 });
  });

  it('names in one line what needs a restart, and applies the rest', async () => {
    await use({ sessions: { maxEntries: 5 }, redis: { address: '127.0.0.1:1' }, explain: { ringSize: 7 } });
    const warnings = lines.filter((line) => line.includes('restart'));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0]!)).toMatchObject({ fields: ['redis', 'sessions.maxEntries'] });
    expect(await metric('kvasir_router_config_fields_awaiting_restart')).toBe(2);
    expect(await debug('/debug/config')).toMatchObject({
      config: { explain: { ringSize: 7 }, sessions: { maxEntries: 100_000 } },
      awaitingRestart: ['redis', 'sessions.maxEntries'],
      problems: [],
    });
    await use({});
    expect(await metric('kvasir_router_config_fields_awaiting_restart')).toBe(0);
  });

  it.each([
    ['a value out of range', decodeRouterConfig({ limits: { bodyBytes: -1 } }, 'router.yaml'), 'limits.bodyBytes'],
    ['a field that does not exist', decodeRouterConfig({ limitz: {} }, 'router.yaml'), 'limitz'],
    ['no YAML', parseRouterConfig('{', 'router.yaml'), 'router.yaml'],
    ['a log that cannot be opened', decodeRouterConfig({ accessLog: { output: '/none/at/all' } }), 'accessLog.output'],
    ['a proxy that is no address', decodeRouterConfig({ trustedProxies: ['1.2.3.4/99'] }), 'trustedProxies'],
  ])('with %s leaves the last good one in force, and says so', async (_, bad: DecodedRouterConfig, field) => {
    await use({ explain: { header: true } });
    await router.router.reconfigure(bad);
    expect(
      lines.filter((line) => line.includes(field) && line.includes('the last good configuration stays in use')),
    ).toHaveLength(1);
    expect(await metric('kvasir_router_config_last_reload_successful')).toBe(0);
    expect((await ask(chatBody(), { 'x-kvasir-explain': '1' })).headers['x-kvasir-decision']).toBeDefined();
    await use({ explain: { header: true } });
    expect(await metric('kvasir_router_config_last_reload_successful')).toBe(1);
  });

  it('takes tokens of a new issuer as soon as it has its keys, and forgets their age with it', async () => {
    const issuer = await TokenIssuer.start();
    try {
      await use({ auth: { issuer: ISSUER, jwksUri: issuer.jwksUri } });
      const headers = { authorization: `Bearer ${await issuer.sign()}` };
      await until(() => lines.some((line) => line.includes('the new authentication is in force')), 'the keys');
      expect((await ask(chatBody(), headers)).status).toBe(200);
      expect((await ask()).status).toBe(401);
      const page = async () => (await send(`http://127.0.0.1:${router.router.metricsAddress.port}`, '/metrics')).body;
      expect(await page()).toMatch(/^kvasir_router_jwks_last_success_timestamp_seconds \d+$/m);
      await use({});
      expect(await page()).not.toMatch(/^kvasir_router_jwks_last_success_timestamp_seconds \d+$/m);
    } finally {
      await issuer.close();
    }
  });

  it('with an issuer that does not answer leaves the old credentials in force', async () => {
    await use({ auth: { apiKeys: {} } });
    await use({ auth: { issuer: 'i', jwksUri: 'http://127.0.0.1:1/keys' } });
    expect((await ask(chatBody(), { authorization: `Bearer ${KEY}` })).status).toBe(200);
    expect((await ask()).status).toBe(401);
  });
});

describe('The configuration file', () => {
  const write = (file: string, document: object): void => writeFileSync(file, JSON.stringify(document));
  const seen: DecodedRouterConfig[] = [];
  let file: ConfigFile | undefined;
  const follow = async (path: string): Promise<void> => {
    seen.length = 0;
    file = new ConfigFile(path, (decoded) => seen.push(decoded));
    await file.start();
  };
  afterEach(() => file?.close());

  it('is read when it is written, and when an editor puts another one in its place', async () => {
    const path = join(folder(), 'router.yaml');
    write(path, {});
    await follow(path);
    write(path, { profile: 'random' });
    await until(() => seen.length === 1, 'the written file');
    write(`${path}.new`, { profile: 'least-request' });
    renameSync(`${path}.new`, path);
    await until(() => seen.length === 2, 'the other file');
    expect(seen.map((each) => each.kind === 'valid' && each.config.profile)).toEqual(['random', 'least-request']);
  });

  it('is read when a ConfigMap’s link is turned to a new folder', async () => {
    const mount = folder();
    const version = (name: string, document: object): void => {
      mkdirSync(join(mount, name));
      write(join(mount, name, 'router.yaml'), document);
    };
    version('..1', {});
    symlinkSync('..1', join(mount, '..data'));
    symlinkSync(join('..data', 'router.yaml'), join(mount, 'router.yaml'));
    await follow(join(mount, 'router.yaml'));
    version('..2', { profile: 'random' });
    symlinkSync('..2', join(mount, '..data_tmp'));
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    await until(() => seen.length === 1, 'the new version');
    expect(seen[0]).toMatchObject({ kind: 'valid', config: { profile: 'random' } });
  });

  it('that is emptied is refused, for an empty one would open a router that asks who you are', async () => {
    const path = join(folder(), 'router.yaml');
    write(path, { auth: { apiKeys: {} } });
    await follow(path);
    writeFileSync(path, '');
    await until(() => seen.length === 1, 'the empty file');
    expect(seen[0]).toMatchObject({ kind: 'invalid', findings: [{ code: 'config/cannot-read', message: 'is empty' }] });
  });
});
