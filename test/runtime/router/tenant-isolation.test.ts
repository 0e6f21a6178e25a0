import type { RunningEngine } from '../../../runtime/simulator/index';
import type { KubeObject } from '../../../src/api/meta';
import type { ModelRoute } from '../../../src/api/model-route';
import { decodeRouterConfig, type RouterConfig } from '../../../src/config/router-config';
import { Labels } from '../../../src/labels';
import { longPrompt, PD_KINDS, pdBody, startPdRig } from '../../helpers/pd-rig';
import {
  chatBody,
  MODEL,
  modelServer,
  pod,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';
import { startSimulated } from '../../helpers/simulated-engine';

const KEYS = {
  'red-1': '{"key": "sk-red-0000000000000001", "tenant": "red"}',
  'red-2': '{"key": "sk-red-0000000000000002", "tenant": "red"}',
  blue: '{"key": "sk-blue-000000000000001", "tenant": "blue"}',
  alone: 'sk-alone-00000000000001',
};
const RED = 'sk-red-0000000000000001';
const RED_TOO = 'sk-red-0000000000000002';
const BLUE = 'sk-blue-000000000000001';
const ALONE = 'sk-alone-00000000000001';
/** Long enough for several blocks of a cache and of the index. */
const PROMPT = 'The same words from everybody who asks. '.repeat(20);
const TINY = { model: 'tiny' };

let at: TestRouter;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(
  engines: readonly Pick<TestEngine, 'port'>[],
  salt: 'tenant' | 'user' | undefined,
  inferenceEngine: 'vLLM' | 'SGLang' = 'vLLM',
): Promise<void> {
  const decoded = decodeRouterConfig({
    auth: { required: false, apiKeys: {} },
    accessLog: { enabled: false },
    explain: { header: true },
  });
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  const config: RouterConfig = decoded.config;
  const route: Partial<ModelRoute['spec']> = salt === undefined ? {} : { tenantIsolation: { salt } };
  at = await startTestRouter({ engines, config, server: { ...TINY, inferenceEngine }, route });
  at.cluster.putSecret('default/keys', `${Labels.apiKeys}=true`, KEYS);
  closers.push(() => at.router.close());
}

async function simulated(plan = {}): Promise<RunningEngine> {
  const engine = await startSimulated(plan);
  closers.push(() => engine.kill());
  return engine;
}

async function echo(): Promise<TestEngine> {
  const engine = await new TestEngine((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  }).start();
  closers.push(() => engine.kill());
  return engine;
}

const as = (key: string | undefined): Record<string, string> => (key === undefined ? {} : { authorization: `Bearer ${key}` });

const ask = (key: string | undefined, body: object = {}, path = '/v1/completions', headers: Record<string, string> = {}) =>
  send(at.url, path, JSON.stringify({ model: MODEL, prompt: PROMPT, max_tokens: 1, ...body }), { ...as(key), ...headers });

/** The salts that an engine got, in the order of requests. */
const saltsOf = (engine: TestEngine): unknown[] => engine.received.map(({ body }) => JSON.parse(body).cache_salt);

describe.each([
  ['vLLM', {}],
  ['SGLang', { engine: 'sglang', version: '0.5.23', blockSize: 16 }],
] as const)('KV caches of %s', (name, plan) => {
  it('are shared by tenants where the route does not ask for isolation', async () => {
    const engine = await simulated(plan);
    await start([engine], undefined, name);
    for (const [key, user] of [
      [RED, 'red'],
      [BLUE, 'blue'],
    ] as const)
      expect((await ask(key, { user })).status).toBe(200);
    expect(engine.stats().crossTenantTokens).toBeGreaterThan(0);
  });

  it('give no tenant what another one computed, on any path, whatever clients send', async () => {
    const engine = await simulated(plan);
    await start([engine], 'tenant', name);
    const messages = [{ role: 'user', content: PROMPT }];
    for (const salt of [undefined, 'red', '']) {
      for (const [key, user] of [
        [RED, 'red'],
        [BLUE, 'blue'],
        [undefined, 'nobody'],
      ] as const) {
        const own = salt === undefined ? {} : { cache_salt: salt };
        expect((await ask(key, { user, ...own })).status).toBe(200);
        expect((await ask(key, { user, messages, prompt: undefined, ...own }, '/v1/chat/completions')).status).toBe(200);
      }
    }
    expect(engine.stats().crossTenantTokens).toBe(0);
    // Each found its own.
    expect(engine.stats().cachedTokens).toBeGreaterThan(0);
  });
});

describe('cache_salt', () => {
  it('is one for each tenant, tells no name, and does not change the other bytes', async () => {
    const engine = await echo();
    await start([engine], 'tenant');
    for (const key of [RED, RED_TOO, BLUE, ALONE, undefined]) await ask(key, { seed: 1, cache_salt: 'mine' });
    const [red, redToo, blue, alone, nobody] = saltsOf(engine);
    expect(red).toBe(redToo);
    expect(new Set([red, blue, alone]).size).toBe(3);
    expect(red).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(nobody).toBeUndefined();
    expect(engine.received[0]!.body).toBe(
      `{"model":"tiny","cache_salt":"${String(red)}","prompt":${JSON.stringify(PROMPT)},"max_tokens":1,"seed":1}`,
    );
  });

  it('is one for each user where the route asks for users', async () => {
    const engine = await echo();
    await start([engine], 'user');
    for (const key of [RED, RED_TOO, BLUE, RED]) await ask(key);
    const [red, redToo, blue, again] = saltsOf(engine);
    expect(new Set([red, redToo, blue]).size).toBe(3);
    expect(again).toBe(red);
  });

  it('stands right behind the model wherever that is', async () => {
    const engine = await echo();
    await start([engine], 'tenant');
    for (const body of [
      '{"model":"m"}',
      '{ "prompt": "a" , "model" : "m" , "priority": 1 }',
      '{"priority":1,"model":"m","rid":"x"}',
    ]) {
      await send(at.url, '/v1/completions', body, as(RED));
    }
    const salt = `"cache_salt":"${String(saltsOf(engine)[0])}"`;
    expect(engine.received.map(({ body }) => body)).toEqual([
      `{"model":"tiny",${salt}}`,
      `{ "prompt": "a" , "model" : "tiny",${salt} }`,
      `{"model":"tiny",${salt}}`,
    ]);
  });

  it('is the same for a request that goes on elsewhere after a failure', async () => {
    const engines = [await echo(), await echo()];
    engines[0]!.answer = engines[1]!.answer = (_request, response) => {
      const isFirst = engines.reduce((sum, { received }) => sum + received.length, 0) === 1;
      response.writeHead(isFirst ? 500 : 200, { 'content-type': 'application/json' }).end('{}');
    };
    await start(engines, 'tenant');
    expect((await ask(RED)).status).toBe(200);
    const salts = engines.flatMap(saltsOf);
    expect(salts).toHaveLength(2);
    expect(new Set(salts).size).toBe(1);
  });
});

describe('the prefix index', () => {
  it('knows of each tenant’s own prompts only', async () => {
    await start([await echo()], 'tenant');
    const predicted = async (key: string | undefined): Promise<number> => {
      const { headers } = await ask(key, {}, '/v1/completions', { 'x-kvasir-explain': '1' });
      return JSON.parse(headers['x-kvasir-decision'] as string).candidates[0].cachedTokens;
    };
    expect([await predicted(RED), await predicted(BLUE), await predicted(undefined)]).toEqual([0, 0, 0]);
    for (const key of [RED, RED_TOO, BLUE, undefined]) expect(await predicted(key)).toBeGreaterThan(0);
  });
});

describe('a path on which the engine takes no salt', () => {
  it.each<['vLLM' | 'SGLang', string, boolean]>([
    ['vLLM', '/v1/messages', true],
    ['SGLang', '/v1/messages', false],
    ['vLLM', '/v1/embeddings', false],
    ['vLLM', '/tokenize', true],
    ['SGLang', '/v1/messages/count_tokens', true],
  ])('%s, %s: served is %s', async (name, path, isServed) => {
    const engine = await echo();
    await start([engine], 'tenant', name);
    const answer = await send(at.url, path, chatBody({ input: 'a' }), as(RED));
    expect(answer.status).toBe(isServed ? 200 : 400);
    if (!isServed) expect(answer.body).toContain('cannot keep tenants apart');
    expect(engine.received).toHaveLength(isServed ? 1 : 0);
    // Nobody in particular has no cache to be kept apart from.
    expect((await send(at.url, path, chatBody({ input: 'a' }))).status).toBe(200);
  });

  it('goes to pods whose engine is new enough for it, and to no others', async () => {
    const [old, recent] = [await echo(), await echo()];
    await start([old, recent], 'tenant');
    const setImage = (name: string, port: number, tag: string): void => {
      const one = pod(name, 'server', port);
      const containers = [{ name: 'engine', image: `vllm/vllm-openai:${tag}`, args: ['--model', 'm'] }];
      at.cluster.put({ ...one, spec: { containers } } as KubeObject);
    };
    setImage('pod-0', old.port, 'v0.20.2');
    setImage('pod-1', recent.port, 'v0.32.0');
    for (let i = 0; i < 6; i++) expect((await send(at.url, '/v1/messages', chatBody(), as(RED))).status).toBe(200);
    expect([old.received.length, recent.received.length]).toEqual([0, 6]);
    at.cluster.remove('Pod', 'default', 'pod-1');
    const refused = await send(at.url, '/v1/messages', chatBody(), as(RED));
    expect([refused.status, refused.body]).toEqual([503, expect.stringContaining('release 0.32 or later')]);
    expect((await ask(RED)).status).toBe(200);
    expect(old.received.map(({ url }) => url)).toEqual(['/v1/completions']);
  });

  it('goes to a target of its rule that does', async () => {
    const [sglang, vllm] = [await echo(), await echo()];
    await start([sglang], 'tenant', 'SGLang');
    at.cluster.put(modelServer('other'));
    at.cluster.put(pod('other-0', 'other', vllm.port));
    const route = at.cluster.objects.get('ModelRoute', 'default', 'route')!;
    const targetModels = ['server', 'other'].map((modelServerName) => ({ modelServerName, weight: 50 }));
    at.cluster.put({ ...route, spec: { ...route.spec, rules: [{ targetModels }] } } as KubeObject);
    await until(() => at.router.endpoints.all().length === 2, 'both engines are known');
    for (let i = 0; i < 8; i++) expect((await send(at.url, '/v1/messages', chatBody(), as(RED))).status).toBe(200);
    expect([sglang.received.length, vllm.received.length]).toEqual([0, 8]);
  });
});

describe.each(PD_KINDS)('pods that split prefill and decode by $name', (kind) => {
  it('give no tenant what another one computed, on either leg', async () => {
    const decoded = decodeRouterConfig({ auth: { required: false, apiKeys: {} } });
    if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
    const rig = await startPdRig({ kind, config: { auth: decoded.config.auth! } });
    closers.push(() => rig.close());
    rig.cluster.putSecret('default/keys', `${Labels.apiKeys}=true`, KEYS);
    const route = rig.cluster.objects.list('ModelRoute')[0]!;
    const ask = async (key: string, user: string): Promise<void> => {
      const body = pdBody(longPrompt('same'), { user });
      expect((await send(rig.url, '/v1/chat/completions', body, as(key))).status).toBe(200);
    };
    rig.cluster.put({ ...route, spec: { ...route.spec, tenantIsolation: { salt: 'tenant' } } } as KubeObject);
    for (const [key, user] of [
      [RED, 'red'],
      [BLUE, 'blue'],
      [RED, 'red'],
    ] as const) {
      await ask(key, user);
    }
    const stats = [...rig.prefill, ...rig.decode].map((engine) => engine.stats());
    expect(stats.map(({ crossTenantTokens }) => crossTenantTokens)).toEqual(stats.map(() => 0));
    expect(stats.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0)).toBeGreaterThan(0);
  });
});

it('a route that keeps tenants apart on a router that knows nobody is told of', async () => {
  const told = async (auth: object | undefined): Promise<string[]> => {
    const decoded = decodeRouterConfig({ auth, accessLog: { enabled: false } });
    if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
    const { router } = await startTestRouter({
      engines: [],
      config: decoded.config,
      route: { tenantIsolation: { salt: 'tenant' } },
    });
    closers.push(() => router.close());
    const { body } = await send(`http://127.0.0.1:${router.debugAddress.port}`, '/debug/findings');
    return (JSON.parse(body) as { findings: { code: string; object: string }[] }).findings.flatMap(({ code, object }) =>
      code.includes('isolate') ? [object] : [],
    );
  };
  expect(await told(undefined)).toEqual(['ModelRoute default/route']);
  expect(await told({ apiKeys: {} })).toEqual([]);
});
