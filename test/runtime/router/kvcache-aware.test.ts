import { tokenBlockHashes } from '../../../runtime/router/cache/token-blocks';
import type { RunningEngine } from '../../../runtime/simulator/index';
import type { KubeObject } from '../../../src/api/meta';
import { decodeRouterConfig, type RouterConfig } from '../../../src/config/router-config';
import { hasRedisServer, RedisServer } from '../../helpers/redis-server';
import { MODEL, pod, send, startTestRouter, TestEngine, type TestRouter } from '../../helpers/router-harness';
import { startSimulated } from '../../helpers/simulated-engine';

const COMPLETIONS = '/v1/completions';
const CHAT = '/v1/chat/completions';
const PROMPT = [1, 2, 3, 4]
  .map((part) => `${part}: every pod can tell the tokens of this prompt, and Redis knows who has their blocks. `)
  .join('');
const NOW_SECONDS = Math.floor(Date.now() / 1000);

const whenRedis = hasRedisServer() ? describe : describe.skip;

whenRedis('kvcache-aware', () => {
  let redis: RedisServer;
  const closers: (() => unknown)[] = [];
  let at: TestRouter;

  beforeAll(async () => {
    redis = await RedisServer.start();
  });
  afterAll(() => redis.stop());
  afterEach(async () => {
    redis.thaw();
    for (const close of closers.splice(0).reverse()) await close();
    await redis.with((client) => client.flushall());
  });

  function config(args: object = {}, more: object = {}): RouterConfig {
    const decoded = decodeRouterConfig({
      redis: { address: redis.address },
      accessLog: { enabled: false },
      explain: { header: true },
      scheduler: {
        pluginConfig: [{ name: 'kvcache-aware', args: { timeoutMs: 5_000, ...args } }],
        plugins: { Score: { enabled: [{ name: 'kvcache-aware', weight: 1 }] } },
      },
      ...more,
    });
    if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
    return decoded.config;
  }

  async function start(engines: readonly Pick<TestEngine, 'port'>[], how = config(), route = {}, server = {}): Promise<void> {
    at = await startTestRouter({ engines, config: how, server: { model: 'tiny', ...server }, route });
    closers.push(() => at.router.close());
    await untilMetric(/^kvasir_redis_up\{.*\} 1$/m);
  }

  async function simulated(count: number, plan = {}): Promise<RunningEngine[]> {
    const engines: RunningEngine[] = [];
    for (let i = 0; i < count; i++) engines.push(await startSimulated(plan));
    closers.push(() => {
      for (const engine of engines) engine.kill();
    });
    return engines;
  }

  async function answering(): Promise<TestEngine> {
    const engine = await new TestEngine((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    }).start();
    closers.push(() => engine.kill());
    return engine;
  }

  const metrics = async (): Promise<string> => (await send(`http://127.0.0.1:${at.router.metricsAddress.port}`, '/metrics')).body;

  async function untilMetric(line: RegExp): Promise<void> {
    for (let i = 0; i < 500; i++) {
      if (line.test(await metrics())) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`never: ${line}`);
  }

  /** Scores by pod, as Kthena counts them. */
  async function scores(body: object, path = COMPLETIONS): Promise<Record<string, number>> {
    const answer = await send(at.url, path, JSON.stringify({ model: MODEL, max_tokens: 1, ...body }), {
      'x-kvasir-explain': '1',
    });
    expect(answer.status).toBe(200);
    const { candidates } = JSON.parse(answer.headers['x-kvasir-decision'] as string) as {
      candidates: { endpoint: string; terms: Record<string, number> }[];
    };
    return Object.fromEntries(
      candidates.map(({ endpoint, terms }) => [/\/(.*)#/.exec(endpoint)![1]!, 100 - terms['kvcache-aware']!]),
    );
  }

  /** The tokens of a prompt as an engine says. */
  async function tokensOf(engine: { port: number }, body: object): Promise<readonly number[]> {
    const answer = await send(`http://127.0.0.1:${engine.port}`, '/tokenize', JSON.stringify({ model: 'tiny', ...body }));
    return JSON.parse(answer.body).tokens;
  }

  /** Writes as Kthena's sidecars do. @param owned owner → blocks that it has, and when it said so. */
  async function write(hashes: readonly string[], owned: Record<string, readonly [blocks: readonly number[], written?: string]>) {
    await redis.with(async (client) => {
      for (const [owner, [blocks, written = String(NOW_SECONDS)]] of Object.entries(owned)) {
        for (const block of blocks) await client.hset(`matrix:kv:block:tiny@${hashes[block]!}`, owner, written);
      }
    });
  }

  const firstBlocks = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

  it.each([
    ['vLLM', {}],
    ['SGLang', { engine: 'sglang', version: '0.5.23', blockSize: 16 }],
  ] as const)('scores pods of %s by the blocks that they hold from the first one on', async (inferenceEngine, plan) => {
    const engines = await simulated(4, plan);
    await start(engines, config(), {}, { inferenceEngine });
    const tokens = await tokensOf(engines[0]!, { prompt: PROMPT, add_special_tokens: true });
    const hashes = tokenBlockHashes(tokens, 16, 128);
    const total = hashes.length;
    expect(total).toBeGreaterThan(4);
    await write(hashes, {
      'pod-0.default': [firstBlocks(total)],
      'pod-1.default': [[0, 1, 3]],
      // Without the first block nothing can be used.
      'pod-2.default': [[1, 2, 3]],
      'gone.default': [firstBlocks(total)],
    });
    expect(await scores({ prompt: PROMPT })).toEqual({
      'pod-0': 100,
      'pod-1': Math.trunc((2 / total) * 100),
      'pod-2': 0,
      'pod-3': 0,
    });
    expect(await metrics()).toContain('kthena_router_kvcache_aware_match_ratio_count{model="tiny"} 1');
  });

  it('asks for the tokens of a chat with its tools, as the engine will render it', async () => {
    const engines = await simulated(2);
    await start(engines);
    const chat = {
      messages: [{ role: 'user', content: PROMPT }],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
    };
    const tokens = await tokensOf(engines[0]!, { ...chat, add_generation_prompt: true });
    const hashes = tokenBlockHashes(tokens, 16, 128);
    await write(hashes, { 'pod-1.default': [firstBlocks(hashes.length)] });
    expect(await scores(chat, CHAT)).toEqual({ 'pod-0': 0, 'pod-1': 100 });
  });

  it('takes the tokens of a client that sent tokens', async () => {
    const engines = await simulated(2);
    await start(engines);
    const prompt = Array.from({ length: 64 }, (_, i) => 300 + i);
    await write(tokenBlockHashes(prompt, 16, 128), { 'pod-1.default': [[0, 1]] });
    expect(await scores({ prompt })).toEqual({ 'pod-0': 0, 'pod-1': 50 });
  });

  it('does not count what was written before the pod’s engine began', async () => {
    const engines = await simulated(3);
    await start(engines);
    const prompt = Array.from({ length: 32 }, (_, i) => 300 + i);
    const startedAt = new Date(1000 * (NOW_SECONDS - 10)).toISOString();
    engines.forEach(({ port }, i) => {
      const one = pod(`pod-${i}`, 'server', port) as KubeObject & { status: object };
      const containerStatuses = [{ name: 'engine', ready: true, restartCount: 0, state: { running: { startedAt } } }];
      at.cluster.put({ ...one, status: { ...one.status, containerStatuses } } as KubeObject);
    });
    await write(tokenBlockHashes(prompt, 16, 128), {
      'pod-0.default': [[0, 1], String(NOW_SECONDS - 10)],
      'pod-1.default': [[0, 1], String(NOW_SECONDS - 9)],
      'pod-2.default': [[0, 1], 'yesterday'],
    });
    expect(await scores({ prompt })).toEqual({ 'pod-0': 0, 'pod-1': 100, 'pod-2': 100 });
  });

  it('is not asked for adapters and tenants, whose blocks nobody tells apart', async () => {
    const engines = await simulated(2, { adapters: { a: '/a' }, maxLoras: 1 });
    await start(engines, config(), { loraAdapters: ['a'] });
    const prompt = Array.from({ length: 32 }, (_, i) => 300 + i);
    await write(tokenBlockHashes(prompt, 16, 128), { 'pod-1.default': [[0, 1]] });
    expect(await scores({ prompt, model: 'a' })).toEqual({ 'pod-0': 0, 'pod-1': 0 });
    expect(await scores({ prompt })).toEqual({ 'pod-0': 0, 'pod-1': 100 });
  });

  it.each(['redis', 'tokenize'] as const)('waits no longer than it may when %s hangs, and serves the request', async (stage) => {
    const hanging = await new TestEngine((request, response) => {
      if (stage === 'tokenize' && request.url === '/tokenize') return;
      response.setHeader('content-type', 'application/json');
      response.end(request.url === '/tokenize' ? '{"tokens":[1,2,3]}' : '{}');
    }).start();
    closers.push(() => hanging.kill());
    await start([hanging, hanging], config({ timeoutMs: 40 }));
    if (stage === 'redis') redis.freeze();
    const startMs = performance.now();
    expect(await scores({ prompt: PROMPT })).toEqual({ 'pod-0': 0, 'pod-1': 0 });
    expect(performance.now() - startMs).toBeLessThan(1_000);
    expect(await metrics()).toContain(`kthena_router_kvcache_aware_errors_total{model="tiny",stage="${stage}"} 1`);
  });

  it('is asked for routes whose profile does, and for no others', async () => {
    const engine = await answering();
    const { scheduler } = config();
    const decoded = config(
      {},
      { scheduler: undefined, profiles: { blocks: scheduler }, routeProfiles: { 'default/other': 'blocks' } },
    );
    await start([engine, engine], decoded);
    const answer = await send(at.url, COMPLETIONS, JSON.stringify({ model: MODEL, prompt: PROMPT }), { 'x-kvasir-explain': '1' });
    expect(JSON.parse(answer.headers['x-kvasir-decision'] as string).profile).toBe('expected-latency');
    expect(engine.received.map(({ url }) => url)).toEqual([COMPLETIONS]);
    const route = at.cluster.objects.get('ModelRoute', 'default', 'route')!;
    const spec = { ...route.spec, modelName: 'other' };
    at.cluster.put({ ...route, metadata: { ...route.metadata, name: 'other', uid: 'uid-other' }, spec } as KubeObject);
    await send(at.url, COMPLETIONS, JSON.stringify({ model: 'other', prompt: PROMPT }));
    expect(engine.received.map(({ url }) => url)).toEqual([COMPLETIONS, '/tokenize', COMPLETIONS]);
  });

  it('is not waited for while Redis is away', async () => {
    const engine = await answering();
    await start([engine, engine]);
    await redis.stop();
    await untilMetric(/^kvasir_redis_up\{.*\} 0$/m);
    expect(await scores({ prompt: PROMPT })).toEqual({ 'pod-0': 0, 'pod-1': 0 });
    expect(engine.received.map(({ url }) => url)).toEqual([COMPLETIONS]);
    await redis.start();
  });
});
