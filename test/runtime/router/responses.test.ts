import { Labels } from '../../../src/labels';
import { recordedAnswer } from '../../helpers/recorded-answer';
import {
  modelRoute,
  modelServer,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  type TestRouterOptions,
} from '../../helpers/router-harness';

const engines: TestEngine[] = [];
let router: TestRouter | undefined;

/** An engine that keeps responses, as vLLM does: its first one is `resp_<name>_1`. */
async function keeper(name: string): Promise<TestEngine> {
  let made = 0;
  const kept = new Set<string>();
  const engine = await new TestEngine(({ method, url, body }, response) => {
    const json = (status: number, document: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(document));
    };
    const id = url.split('/')[3];
    if (method === 'POST' && id === undefined) {
      made += 1;
      const made_ = `resp_${name}_${made}`;
      kept.add(made_);
      const usage = { input_tokens: 5, output_tokens: 2 };
      if (!body.includes('"stream":true')) return json(200, { id: made_, object: 'response', usage });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: response.created\ndata: {"response":{"id":"${made_}","usage":null},"type":"response.created"}\n\n`);
      response.end(`event: response.completed\ndata: {"response":{"id":"${made_}","usage":${JSON.stringify(usage)}}}\n\n`);
      return;
    }
    if (!kept.has(id!)) {
      return json(404, { error: { message: `no ${id}`, type: 'invalid_request_error', param: 'response_id', code: 404 } });
    }
    json(200, { id, object: 'response', usage: { input_tokens: 5, output_tokens: 2 } });
  }).start();
  engines.push(engine);
  return engine;
}

async function start(count: number, options: Partial<TestRouterOptions> = {}): Promise<TestRouter> {
  const kept = await Promise.all(Array.from({ length: count }, (_, index) => keeper(String(index))));
  router = await startTestRouter({ engines: kept, ...options });
  return router;
}

afterEach(async () => {
  await router?.router.close();
  router = undefined;
  await Promise.all(engines.splice(0).map((engine) => engine.kill()));
});

const ask = (extra: object = {}, headers: Record<string, string> = {}) =>
  send(router!.url, '/v1/responses', JSON.stringify({ model: 'm', input: 'hello', ...extra }), headers);

const idOf = (body: string): string => /"id":"([^"]+)"/.exec(body)![1]!;
const errorOf = (body: string): { readonly code: string; readonly param: string } =>
  (JSON.parse(body) as { error: { code: string; param: string } }).error;

describe('responses with state', () => {
  it('are found again on the pod that made them, whichever others there are', async () => {
    const { url } = await start(4);
    for (const stream of [false, true, false, true, false, true]) {
      const id = idOf((await ask({ stream })).body);
      const got = await send(url, `/v1/responses/${id}`);
      expect([got.status, idOf(got.body)]).toEqual([200, id]);
      expect((await send(url, `/v1/responses/${id}/cancel`, '')).status).toBe(200);
      const next = await ask({ previous_response_id: id });
      // resp_<engine>_<number>: the same engine made the next one.
      expect([next.status, idOf(next.body).split('_')[1]]).toEqual([200, id.split('_')[1]]);
    }
  });

  it('are forgotten when they are deleted', async () => {
    const { url } = await start(2);
    const id = idOf((await ask()).body);
    expect((await send(url, `/v1/responses/${id}`, undefined, {}, 'DELETE')).status).toBe(200);
    const gone = await send(url, `/v1/responses/${id}`);
    expect([gone.status, errorOf(gone.body).code]).toEqual([404, 'response_not_found']);
  });

  it('are 404 in the client’s shape when nobody knows them, and when their pod is gone', async () => {
    const { url, cluster } = await start(2);
    const unknown = await send(url, '/v1/responses/resp_nope');
    expect([unknown.status, errorOf(unknown.body)]).toMatchObject([404, { code: 'response_not_found', param: 'response_id' }]);
    const id = idOf((await ask()).body);
    cluster.remove('Pod', 'default', `pod-${id.split('_')[1]}`);
    expect((await send(url, `/v1/responses/${id}`)).status).toBe(404);
    const next = await ask({ previous_response_id: id });
    expect([next.status, errorOf(next.body)]).toMatchObject([
      400,
      { code: 'previous_response_not_found', param: 'previous_response_id' },
    ]);
    expect((await ask({ previous_response_id: 7 })).status).toBe(400);
    expect((await ask({ previous_response_id: null })).status).toBe(200);
  });

  it('keep an engine’s own answer about them, as recorded', async () => {
    const { url } = await start(1);
    const id = idOf((await ask()).body);
    const { status, headers, body } = recordedAnswer('vllm-0.32.0', 'responses_get_unknown');
    engines[0]!.answer = (_request, response) => response.writeHead(status, { ...headers }).end(body);
    const got = await send(url, `/v1/responses/${id}`);
    expect([got.status, errorOf(got.body)]).toMatchObject([404, { param: 'response_id', code: 404 }]);
  });

  it.each(['responses', 'responses_stream'])('are found by the id in the recorded %s', async (name) => {
    const { url } = await start(1);
    const { status, headers, body } = recordedAnswer('vllm-0.32.0', name);
    const { 'transfer-encoding': _chunked, ...rest } = headers;
    engines[0]!.answer = (_request, response) => response.writeHead(status, rest).end(body);
    await ask({ stream: name === 'responses_stream' });
    const id = /"id":"(resp_[0-9a-f]+)"/.exec(body.toString())![1];
    engines[0]!.answer = (_request, response) => response.end('{}');
    expect((await send(url, `/v1/responses/${id}`)).status).toBe(200);
  });

  it('cost nothing a second time', async () => {
    const { url, records } = await start(1);
    const id = idOf((await ask()).body);
    await send(url, `/v1/responses/${id}`);
    expect(records.map(({ output_tokens }) => output_tokens)).toEqual([2, undefined]);
    expect(records.map(({ model_name }) => model_name)).toEqual(['m', 'm']);
  });

  it('are remembered up to a number and for a time', async () => {
    const { url } = await start(1, { config: routerConfig({ responses: { maxEntries: 2, ttlMs: 100 } }) });
    const ids = [idOf((await ask()).body), idOf((await ask()).body), idOf((await ask()).body)];
    expect(await Promise.all(ids.map(async (id) => (await send(url, `/v1/responses/${id}`)).status))).toEqual([404, 200, 200]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect((await send(url, `/v1/responses/${ids[2]}`)).status).toBe(404);
  });

  it('stay with the target that made them, however weights are set', async () => {
    const started = await start(2);
    const { cluster, url } = started;
    cluster.put(modelServer('other', { workloadSelector: { matchLabels: { app: 'none' } } }));
    const id = idOf((await ask()).body);
    const targetModels = [
      { modelServerName: 'other', weight: 99 },
      { modelServerName: 'server', weight: 1 },
    ];
    cluster.put(modelRoute('route', 'server', { rules: [{ name: 'all', targetModels }] }));
    for (let index = 0; index < 5; index++) expect((await ask({ previous_response_id: id })).status).toBe(200);
    expect((await send(url, `/v1/responses/${id}`)).status).toBe(200);
  });

  it('are there for the tenant that made them alone', async () => {
    const auth = { required: true, apiKeys: { secretLabel: Labels.apiKeys, secrets: [], header: 'x-api-key' } };
    const { url, cluster } = await start(1, { config: routerConfig({ auth: auth as never }) });
    cluster.putSecret('default/keys', `${Labels.apiKeys}=true`, {
      red: JSON.stringify({ key: `sk-red-${'0'.repeat(20)}`, tenant: 'red' }),
      also: JSON.stringify({ key: `sk-also-red-${'0'.repeat(20)}`, tenant: 'red' }),
      blue: JSON.stringify({ key: `sk-blue-${'0'.repeat(20)}`, tenant: 'blue' }),
    });
    const key = (name: string) => ({ 'x-api-key': `sk-${name}-${'0'.repeat(20)}` });
    const id = idOf((await ask({}, key('red'))).body);
    const got = async (name: string) => (await send(url, `/v1/responses/${id}`, undefined, key(name))).status;
    expect([await got('red'), await got('also-red'), await got('blue')]).toEqual([200, 200, 404]);
    expect((await ask({ previous_response_id: id }, key('blue'))).status).toBe(400);
    expect((await send(url, `/v1/responses/${id}`, undefined, key('blue'), 'DELETE')).status).toBe(404);
    expect(await got('red')).toBe(200);
  });

  it('have no other methods and paths than these', async () => {
    const { url } = await start(1);
    const answers = [
      ['PUT', '/v1/responses/resp_1', 405],
      ['GET', '/v1/responses/resp_1/cancel', 405],
      ['GET', '/v1/responses/resp_1/input_items', 404],
      ['GET', '/v1/responses/resp.1', 404],
      ['GET', `/v1/responses/${'x'.repeat(129)}`, 404],
      ['GET', '/v1/responses/', 400],
      ['GET', '/v1/responses/..', 400],
    ] as const;
    for (const [method, path, status] of answers) {
      expect([path, (await send(url, path, undefined, {}, method)).status]).toEqual([path, status]);
    }
    expect(engines[0]!.received).toHaveLength(0);
  });
});
