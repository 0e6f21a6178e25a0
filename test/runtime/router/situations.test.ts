import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { recordedAnswer } from '../../helpers/recorded-answer';
import {
  chatBody,
  pod,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';

let engine: TestEngine;
/** With the default configuration; what needs another one starts its own. */
let shared: TestRouter;
let router: TestRouter | undefined;

const ok: TestEngine['answer'] = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"usage":{"prompt_tokens":3,"completion_tokens":2}}');
};

beforeAll(async () => {
  engine = await new TestEngine(ok).start();
  shared = await startTestRouter({ engines: [engine], config: routerConfig({ retry: { intervalMs: 1 } }) });
});

afterEach(async () => {
  await router?.router.close();
  router = undefined;
  engine.received.length = 0;
  engine.answer = ok;
});

afterAll(async () => {
  await shared.router.close();
  await engine.kill();
});

describe('what Kthena’s router answers itself', () => {
  // Appendix B of its specification, with the status that the situation deserves.
  it.each([
    ['no JSON', '{"model":', 400, 'invalid_json'],
    ['trailing garbage', `${chatBody()} x`, 400, 'invalid_json'],
    ['a second value', `${chatBody()}{}`, 400, 'invalid_json'],
    ['an empty body', '', 400, 'invalid_json'],
    ['an array', '[]', 400, 'invalid_json'],
    ['no model', '{"messages":[]}', 400, 'missing_model'],
    ['a blank model', '{"model":" "}', 400, 'missing_model'],
    ['an unknown model', '{"model":"none","messages":[]}', 404, 'model_not_found'],
    ['a model of 100,000 characters', chatBody({ model: 'x'.repeat(100_000) }), 404, 'model_not_found'],
  ])('%s', async (_what, body, status, code) => {
    const answer = await send(shared.url, '/v1/chat/completions', body);
    expect([answer.status, (JSON.parse(answer.body) as { error: { code: string } }).error.code]).toEqual([status, code]);
    expect(answer.body.length).toBeLessThan(2_000);
    expect(engine.received).toHaveLength(0);
  });

  it('no prompt: the engine’s own 400, as recorded, is not tried again', async () => {
    const recorded = recordedAnswer('vllm-0.32.0', 'err_missing_messages');
    engine.answer = (_request, response) => response.writeHead(recorded.status, { ...recorded.headers }).end(recorded.body);
    const answer = await send(shared.url, '/v1/chat/completions', '{"model":"m"}');
    expect([answer.status, answer.body]).toEqual([400, recorded.body.toString()]);
    expect(engine.received).toHaveLength(1);
  });

  it.each([
    [
      'no route rule matches',
      { rules: [{ name: 'a', modelMatch: { headers: { x: { exact: '1' } } }, targetModels: [{ modelServerName: 'server' }] }] },
      404,
      'route_not_found',
    ],
    [
      'the ModelServer is missing',
      { rules: [{ name: 'a', targetModels: [{ modelServerName: 'none' }] }] },
      404,
      'backend_not_found',
    ],
    [
      'the provider is missing',
      { rules: [{ name: 'a', targetModels: [{ externalModelProviderName: 'none' }] }] },
      404,
      'backend_not_found',
    ],
  ])('%s', async (_what, route, status, code) => {
    router = await startTestRouter({ engines: [engine], config: routerConfig(), route: route as never });
    const answer = await send(router.url, '/v1/chat/completions', chatBody());
    expect([answer.status, (JSON.parse(answer.body) as { error: { code: string } }).error.code]).toEqual([status, code]);
  });

  it('no pods: 503 with Retry-After', async () => {
    router = await startTestRouter({ engines: [], config: routerConfig() });
    const answer = await send(router.url, '/v1/chat/completions', chatBody());
    expect([answer.status, answer.headers['retry-after'], answer.body]).toEqual([
      503,
      '5',
      expect.stringContaining('no_endpoints'),
    ]);
  });

  it('every pod filtered out: 503 with Retry-After, never 400', async () => {
    const busy = createServer((_request, response) => response.end('vllm:num_requests_waiting{model_name="m"} 99\n'));
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', () => resolve()));
    const scheduler = {
      pluginConfig: [{ name: 'least-request', args: { maxWaitingRequests: 10 } }],
      plugins: { Filter: { enabled: ['least-request'] }, Score: { enabled: [{ name: 'random', weight: 1 }] } },
    };
    router = await startTestRouter({ engines: [], config: routerConfig({ scheduler }) });
    router.cluster.put(pod('busy', 'server', (busy.address() as AddressInfo).port));
    await until(() => router!.router.endpoints.all().some(({ waiting }) => waiting === 99), 'the pod was scraped');
    const answer = await send(router.url, '/v1/chat/completions', chatBody());
    expect([answer.status, answer.headers['retry-after'], answer.body]).toEqual([
      503,
      '1',
      expect.stringContaining('no_capacity'),
    ]);
    await new Promise((resolve) => busy.close(resolve));
  });

  it('every pod unreachable: 503, and the engine’s last answer where there was one', async () => {
    const gone = await new TestEngine(ok).start();
    await gone.kill();
    router = await startTestRouter({ engines: [gone], config: routerConfig({ retry: { intervalMs: 1 } }) });
    const answer = await send(router.url, '/v1/chat/completions', chatBody());
    expect([answer.status, answer.body]).toEqual([503, expect.stringContaining('upstream_unavailable')]);
    engine.answer = (_request, response) =>
      response.writeHead(429, { 'retry-after': '7' }).end('{"object":"error","message":"busy","type":"TooMany","code":429}');
    const last = await send(shared.url, '/v1/chat/completions', chatBody());
    expect([last.status, last.headers['retry-after'], JSON.parse(last.body)]).toMatchObject([
      429,
      '7',
      { error: { message: 'busy' } },
    ]);
  });
});
