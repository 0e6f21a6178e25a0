import type { KubeObject } from '../../../../src/api/meta';
import { InstantPods } from '../../../helpers/instant-pods';
import { type ManifestRouter, type ManifestRouterOptions, startManifestRouter } from '../../../helpers/manifest-router';
import { longPrompt } from '../../../helpers/pd-rig';
import { hasRedisServer, RedisServer } from '../../../helpers/redis-server';
import { chatBody, modelRoute, modelServer, pod, send, TestEngine } from '../../../helpers/router-harness';

const ok: TestEngine['answer'] = (request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(request.url === '/tokenize' ? '{"tokens":[1,2,3,4],"count":4}' : '{"object":"chat.completion","choices":[]}');
};

const deployment = (name: string, labels: Readonly<Record<string, string>>, replicas: number): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: 'engine',
              image: 'ghcr.io/llm-d/llm-d-inference-sim:v0.6.1',
              args: ['--model', 'Qwen/Qwen3-0.6B', '--port', '8000', '--enable-prompt-tokens-details'],
            },
          ],
        },
      },
    },
  }) as unknown as KubeObject;

describe("Bugs of Kthena's scheduling, each with the right behaviour", () => {
  let at: ManifestRouter;
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function start(objects: readonly KubeObject[], config: string, more: Partial<ManifestRouterOptions> = {}) {
    const started = await startManifestRouter({ objects, config, ...more });
    closers.push(() => started.close());
    at = started;
  }

  /** Engines that answer at once behind one ModelServer and route. */
  async function behind(config: string, route: Parameters<typeof modelRoute>[2] = {}): Promise<readonly TestEngine[]> {
    const engines = await Promise.all([0, 1].map(() => new TestEngine(ok).start()));
    closers.push(() => Promise.all(engines.map((engine) => engine.kill())));
    const pods = engines.map(({ port }, i) => pod(`pod-${i}`, 'server', port));
    await start([modelServer('server', { model: 'served' }), modelRoute('route', 'server', route), ...pods], config);
    return engines;
  }

  const status = async (body = chatBody(), path = '/v1/chat/completions'): Promise<number> =>
    (await send(at.url, path, body)).status;

  it.each([
    ['prefix-cache alone, for an empty prompt', '{Score: {enabled: [{name: prefix-cache, weight: 1}]}}'],
    ['no score plugin at all', '{Filter: {enabled: [least-request]}}'],
    ['kvcache-aware alone, without a Redis', '{Score: {enabled: [{name: kvcache-aware, weight: 1}]}}'],
  ])('B4: pods that nobody scores are still there: %s', async (_what, plugins) => {
    await behind(`scheduler: {plugins: ${plugins}}`);
    expect(await status('{"model":"m","prompt":""}', '/v1/completions')).toBe(200);
    expect(await status()).toBe(200);
  });

  it('B11: lora-affinity lets requests by a virtual name pass, whose model no engine lists', async () => {
    const engines = await behind(
      'scheduler: {plugins: {Filter: {enabled: [lora-affinity]}, Score: {enabled: [{name: random, weight: 1}]}}}',
      { modelName: 'virtual', loraAdapters: ['an-adapter'] },
    );
    for (let i = 0; i < 10; i++) expect(await status(chatBody({ model: 'virtual' }))).toBe(200);
    expect(JSON.parse(engines.flatMap(({ received }) => received)[0]!.body)).toMatchObject({ model: 'served' });
  });

  it('B11: session boost counts the pods that serve a virtual name, not those that list it', async () => {
    const held: (() => void)[] = [];
    const engines = await behind('queue: {sessionBoost: {enabled: true, inflightPerPod: 12}}', { modelName: 'virtual' });
    for (const engine of engines)
      engine.answer = (request, response) => void held.push(() => ok(request, response, undefined as never));
    const answers = Array.from({ length: 24 }, () => status(chatBody({ model: 'virtual' })));
    // Two pods of 12; Kthena found none that lists the name, and would have held eight of them back.
    for (let i = 0; held.length < 24; i++) {
      if (i > 400) throw new Error(`only ${held.length} are at engines`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const finish of held) finish();
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
  });

  it('B37: a plugin that is disabled is off, and a weight that is left out is told', async () => {
    await behind(`
explain: {header: true}
scheduler:
  plugins:
    Filter: {enabled: [least-request], disabled: [least-request]}
    Score: {enabled: [{name: random, weight: 1}, {name: gpu-usage}, {name: least-latency, weight: 1}], disabled: [{name: least-latency}]}`);
    const { findings } = await at.debug<{ findings: readonly { message: string }[] }>('findings');
    const told = findings.map(({ message }) => message).join('\n');
    expect(told).toContain('gpu-usage');
    expect(told).toContain('least-latency');
    const answer = await send(at.url, '/v1/chat/completions', chatBody(), { 'x-kvasir-explain': '1' });
    const { candidates } = JSON.parse(answer.headers['x-kvasir-decision'] as string) as { candidates: { terms: object }[] };
    expect(Object.keys(candidates[0]!.terms)).not.toContain('least-latency');
  });

  it('B37: a negative maxWaitingRequests does not refuse everything', async () => {
    await behind(`
scheduler:
  pluginConfig: [{name: least-request, args: {maxWaitingRequests: -1}}]
  plugins: {Filter: {enabled: [least-request]}, Score: {enabled: [{name: random, weight: 1}]}}`);
    expect(await status()).toBe(200);
  });

  it('B10: a hand-over is in the access log, the metrics and the usage like any other request', async () => {
    const labels = (role: string) => ({ app: 'pd', group: 'a', role });
    const pdGroup = { groupKey: 'group', prefillLabels: { role: 'p' }, decodeLabels: { role: 'd' } };
    await start(
      [
        deployment('p', labels('p'), 1),
        deployment('d', labels('d'), 1),
        modelServer('server', { model: 'Qwen/Qwen3-0.6B', workloadSelector: { matchLabels: { app: 'pd' }, pdGroup } }),
        modelRoute('route', 'server'),
      ],
      'disaggregation: {wholeBelowTokens: 0}',
      { pods: new InstantPods() },
    );
    for (const stream of [false, true]) {
      const body = chatBody({ stream, max_tokens: 6, messages: [{ role: 'user', content: longPrompt(`b10 ${stream}`) }] });
      expect(await status(body)).toBe(200);
      const line = at.log.at(-1)!;
      const { pod: selected, prefill } = /selected_pod=(?<pod>\S+).* prefill_pod=(?<prefill>\S+)/.exec(line)!.groups!;
      expect([selected, prefill]).toEqual([expect.stringMatching(/^d-/), expect.stringMatching(/^p-/)]);
      expect(line).toContain(' upstream_status_code=200 upstream_attempts=1 ');
      expect(Number(/ tokens=\d+\/(\d+) /.exec(line)![1])).toBe(6);
      expect(line).toMatch(/ timings=\d+ms\(\d+\+\d+\+\d+\)/);
    }
    expect(await at.metric('kthena_router_tokens_total', 'token_type="output"')).toBe(12);
    expect(await at.metric('kthena_router_request_prefill_duration_seconds_count')).toBe(2);
    expect(await at.metric('kthena_router_request_decode_duration_seconds_count')).toBe(2);
  });

  (hasRedisServer() ? it : it.skip)(
    'B24: kvcache-aware takes part as soon as a Redis that was down at the start is there',
    async () => {
      const redis = await RedisServer.start();
      closers.push(() => redis.stop());
      await redis.stop();
      await behind(`
explain: {header: true}
redis: {address: "${redis.address}"}
scheduler:
  pluginConfig: [{name: kvcache-aware, args: {timeoutMs: 2000}}]
  plugins: {Score: {enabled: [{name: kvcache-aware, weight: 1}]}}`);
      const startedMs = performance.now();
      expect(await status()).toBe(200);
      expect(performance.now() - startedMs).toBeLessThan(1_500);
      await redis.start();
      for (let i = 0; (await at.metric('kvasir_redis_up')) !== 1; i++) {
        if (i > 600) throw new Error('never connected again');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      expect(await status()).toBe(200);
      expect(await at.metric('kthena_router_kvcache_aware_match_ratio_count')).toBeGreaterThan(0);
    },
  );
});
