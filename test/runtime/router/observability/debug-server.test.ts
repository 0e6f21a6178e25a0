import type { KubeObject } from '../../../../src/api/meta';
import {
  chatBody,
  MODEL,
  modelRoute,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../../helpers/router-harness';

let engine: TestEngine;
let router: TestRouter;

beforeAll(async () => {
  engine = await new TestEngine((request, response) => {
    const event =
      'data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}}\n\n';
    if (request.body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${event}data: [DONE]\n\n`);
    } else response.writeHead(500, { 'content-type': 'application/json' }).end('{}');
  }).start();
  router = await startTestRouter({
    engines: [engine],
    config: routerConfig({ retry: { attempts: 0 } }),
    route: { rateLimit: { unit: 'minute', inputTokensPerUnit: 100 } },
  });
  router.cluster.put(modelRoute('second', 'server', { modelName: 'other' }));
  router.cluster.put({
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ExternalModelProvider',
    metadata: { name: 'cloud', namespace: 'default', uid: 'u' },
    spec: { providerType: 'OpenAI', baseURL: 'https://api.example.com', headers: { authorization: 'Bearer secret' } },
  } as unknown as KubeObject);
});

afterAll(async () => {
  await router.router.close();
  await engine.kill();
});

const page = (path: string, headers: Record<string, string> = {}) =>
  send(`http://127.0.0.1:${router.router.debugAddress.port}`, path, undefined, headers);
const json = async (path: string): Promise<unknown> => JSON.parse((await page(path)).body);

describe('The debug port', () => {
  it.each([
    ['modelroutes', ['name', 'namespace', 'spec']],
    ['modelservers', ['associatedPods', 'name', 'namespace', 'spec']],
    ['pods', ['endpoint', 'engine', 'metrics', 'modelServers', 'models', 'name', 'namespace', 'router']],
    ['externalmodelproviders', ['name', 'namespace', 'spec']],
  ])('dumps %s in Kthena’s shape', async (kind, keys) => {
    const [first] = ((await json(`/debug/config_dump/${kind}`)) as Record<string, object[]>)[kind]!;
    expect(Object.keys(first!).sort()).toEqual(keys);
  });

  it.each(['gateways', 'httproutes', 'inferencepools'])('knows no %s', async (kind) => {
    expect(await json(`/debug/config_dump/${kind}`)).toEqual({ [kind]: null });
  });

  it.each([
    ['modelroutes', 'ModelRoute'],
    ['modelservers', 'ModelServer'],
    ['pods', 'Pod'],
    ['gateways', 'Gateway'],
    ['httproutes', 'HTTPRoute'],
    ['inferencepools', 'InferencePool'],
  ])('answers 404 for one of the %s that is not there', async (kind, name) => {
    const answer = await page(`/debug/config_dump/namespaces/default/${kind}/none`);
    expect([answer.status, JSON.parse(answer.body)]).toEqual([404, { error: `${name} not found` }]);
  });

  it('shows of one pod what Kthena shows', async () => {
    expect(await json('/debug/config_dump/namespaces/default/pods/pod-0')).toMatchObject({
      name: 'pod-0',
      namespace: 'default',
      engine: 'vLLM',
      metrics: { requestRunningNum: 0 },
      models: [],
      modelServers: ['default/server'],
      podInfo: { podIP: '127.0.0.1', phase: 'Running', labels: { app: 'server' } },
    });
  });

  it('shows how far limits are used, and what is under way', async () => {
    expect(await json('/debug/limits')).toEqual({
      reserved: 0,
      routes: [
        {
          route: 'ModelRoute default/route',
          countedIn: 'memory',
          limits: [{ quantity: 'input', unit: 'minute', capacity: 100, left: 100 }],
        },
      ],
    });
    expect(await json('/debug/load')).toMatchObject({ permits: 0, bodyBytes: 0, activeRequests: 0, reservedLimits: 0 });
    expect(await json('/debug/index')).toMatchObject({ blocks: 0, endpoints: [{ endpoint: 'default/pod-0#uid-pod-0' }] });
    expect(await json('/debug/endpoints')).toMatchObject({ endpoints: [{ isAvailable: true }] });
  });

  it('shows each decision beside what became of it', async () => {
    await send(router.url, '/v1/chat/completions', chatBody({ stream: true, stream_options: { include_usage: true } }));
    await until(() => router.records.length === 1, 'the first request');
    await new Promise((resolve) => setTimeout(resolve, 25));
    await send(router.url, '/v1/chat/completions', chatBody());
    await until(() => router.records.length === 2, 'the second request');
    expect(await json('/debug/decisions')).toMatchObject({
      decisions: [
        { attempt: 1, result: { outcome: 'refused' } },
        {
          model: MODEL,
          modelRoute: 'default/route',
          attempt: 1,
          predictedCachedTokens: 0,
          expectedTtftMs: expect.any(Number),
          result: { outcome: 'completed', ttftMs: expect.any(Number), promptTokens: 9, cachedTokens: 4 },
        },
      ],
    });
  });

  it('tells no secret', async () => {
    const pages = await Promise.all(
      ['config_dump/externalmodelproviders', 'config', 'findings', 'limits'].map((name) => page(`/debug/${name}`)),
    );
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(pages.map(({ body }) => body).join()).not.toContain('secret');
  });

  it.each(['example.com', 'example.com:15000', '10.0.0.1'])('gives nothing to a page of %j', async (host) => {
    expect((await page('/debug/config', { host })).status).not.toBe(200);
  });

  it('is not opened for others', async () => {
    const opened = startTestRouter({ engines: [], debugListen: { host: '0.0.0.0', port: 0 } });
    await expect(opened).rejects.toThrow('--debug-listen: 0.0.0.0:0 can be reached from outside');
  });
});
