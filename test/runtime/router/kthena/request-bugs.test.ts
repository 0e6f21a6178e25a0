import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { KubeObject } from '../../../../src/api/meta';
import { FIXTURES } from '../../../helpers/example-objects';
import { type ManifestRouter, type ManifestRouterOptions, startManifestRouter } from '../../../helpers/manifest-router';
import { recordedAnswer } from '../../../helpers/recorded-answer';
import { chatBody, modelRoute, modelServer, pod, send, TestEngine, until } from '../../../helpers/router-harness';

const CHAT = '/v1/chat/completions';
const DONE = { object: 'chat.completion', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } };
const ok: TestEngine['answer'] = (_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(DONE));
};

describe("Bugs of Kthena's router that requests meet, each with the right behaviour", () => {
  let at: ManifestRouter;
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function engines(...answers: readonly TestEngine['answer'][]): Promise<readonly TestEngine[]> {
    const started = await Promise.all(answers.map((answer) => new TestEngine(answer).start()));
    closers.push(() => Promise.all(started.map((engine) => engine.kill())));
    return started;
  }

  const podsOf = (started: readonly Pick<TestEngine, 'port'>[]): readonly KubeObject[] =>
    started.map(({ port }, i) => pod(`pod-${i}`, 'server', port));

  async function start(
    behind: readonly Pick<TestEngine, 'port'>[],
    server: Parameters<typeof modelServer>[1] = {},
    more: Partial<ManifestRouterOptions> = {},
  ): Promise<void> {
    const objects = [modelServer('server', server), modelRoute('route', 'server'), ...podsOf(behind)];
    const started = await startManifestRouter({ objects, ...more });
    closers.push(() => started.close());
    at = started;
  }

  const total = (started: readonly TestEngine[]): number => started.reduce((sum, { received }) => sum + received.length, 0);

  it('B2: an engine’s 400 goes to the client as it is, after one attempt, and its 404 and 422 too', async () => {
    const recorded = recordedAnswer('vllm-0.32.0', 'err_missing_messages');
    for (const [status, body] of [
      [400, recorded.body.toString()],
      [404, '{"error":{"message":"no such thing","type":"NotFoundError","param":null,"code":404}}'],
      [422, '{"error":{"message":"not that","type":"Unprocessable","param":null,"code":422}}'],
    ] as const) {
      const answer: TestEngine['answer'] = (_request, response) =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      const started = await engines(answer, answer, answer);
      await start(started);
      const got = await send(at.url, CHAT, chatBody());
      expect([got.status, JSON.parse(got.body), total(started)]).toEqual([status, JSON.parse(body), 1]);
    }
  });

  it('B2: when every attempt failed, the client gets the last answer of an engine, not a 503 of the router', async () => {
    const busy: TestEngine['answer'] = (_request, response) =>
      void response.writeHead(429, { 'retry-after': '7' }).end('{"error":{"message":"busy","type":"TooMany","code":429}}');
    const started = await engines(busy, busy);
    await start(started);
    const got = await send(at.url, CHAT, chatBody());
    expect([got.status, got.headers['retry-after'], got.body]).toEqual([429, '7', expect.stringContaining('busy')]);
    expect(total(started)).toBe(2);
  });

  it('B3: a router that is told to end withdraws readiness first, and lets a stream run to its end', async () => {
    let finish = (): void => undefined;
    const started = await engines((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
      finish = () =>
        response.end('data: {"choices":[{"index":0,"delta":{"content":"z"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    });
    await start(started, {}, { config: 'drain: {announceMs: 300}' });
    const answer = at.chat('m', { stream: true });
    await until(() => started[0]!.active === 1, 'the stream is under way');
    const drained = at.router.drain(10_000);
    expect((await send(at.url, '/readyz')).status).toBe(503);
    await until(() => at.router.load().activeRequests === 1, 'the stream is still there');
    finish();
    expect(await answer).toMatchObject({ status: 200, isCut: false, body: expect.stringMatching(/"z"[\s\S]*\[DONE\]/) });
    await drained;
  });

  it('B12: overload is 503 with Retry-After, never 400', async () => {
    const started = await engines(ok);
    started[0]!.metricsPage = 'vllm:num_requests_waiting{model_name="m"} 99\n';
    const scheduler = 'scheduler: {plugins: {Filter: {enabled: [least-request]}, Score: {enabled: [{name: random, weight: 1}]}}}';
    await start(started, {}, { config: scheduler });
    await until(() => at.router.endpoints.all()[0]?.waiting === 99, 'the pod was scraped');
    const got = await send(at.url, CHAT, chatBody());
    expect([got.status, got.headers['retry-after'], total(started)]).toEqual([503, expect.stringMatching(/^\d+$/), 0]);
    expect(await at.metric('kthena_router_requests_total', 'error_type="scheduling"', 'status_code="503"')).toBe(1);
  });

  it('B19: a ModelServer’s retry is obeyed: none with 0 attempts, and two more with 2', async () => {
    const busy: TestEngine['answer'] = (_request, response) => void response.writeHead(429).end('{}');
    for (const attempts of [0, 2]) {
      const started = await engines(busy, busy, busy, busy, busy);
      const trafficPolicy = { retry: { attempts, retryInterval: '1ms' } } as never;
      await start(started, { trafficPolicy }, { config: 'retry: {budgetRatio: 1}' });
      expect((await send(at.url, CHAT, chatBody())).status).toBe(429);
      expect([attempts, total(started)]).toEqual([attempts, attempts + 1]);
    }
  });

  it('B20: an engine whose ModelServer says https is asked over TLS, for its metrics too', async () => {
    const file = (name: string): string => join(FIXTURES, 'tls', name);
    const key = readFileSync(file('server-key.pem'), 'utf8');
    const engine = await new TestEngine(ok, { key, cert: readFileSync(file('server.pem'), 'utf8') }).start();
    closers.push(() => engine.kill());
    engine.metricsPage = 'vllm:num_requests_waiting{model_name="m"} 3\n';
    const workloadPort = { port: 8000, protocol: 'https' } as const;
    await start([engine], { workloadPort }, { config: `engineTls: {caFile: "${file('authority.pem')}", serverName: localhost}` });
    expect((await send(at.url, CHAT, chatBody())).status).toBe(200);
    expect(engine.received).toHaveLength(1);
    await until(() => at.router.endpoints.all()[0]?.waiting === 3, 'the engine is scraped');
  });

  it('B22: a body goes on byte for byte but for its model, on every path, and stream options are merged', async () => {
    const started = await engines(ok);
    await start(started, { model: 'served' });
    const bodies: readonly (readonly [path: string, body: string])[] = [
      [CHAT, '{ "z":1.0, "model" : "m","a":"<&>\\u00e9", "n":12345678901234567890,"messages":[] }'],
      ['/v1/embeddings', '{"input":"x","model":"m"}'],
      ['/v1/responses', '{"input":"x","model":"m","store":false}'],
      ['/v1/messages', '{"max_tokens":1,"model":"m","messages":[]}'],
    ];
    for (const [path, body] of bodies) {
      await send(at.url, path, body);
      expect(started[0]!.received.at(-1)!.body).toBe(body.replace('"m"', '"served"'));
    }
    await send(at.url, CHAT, '{"model":"m","messages":[],"stream":true,"stream_options":{"continuous_usage_stats":true}}');
    const { stream_options: options } = JSON.parse(started[0]!.received.at(-1)!.body) as { stream_options: object };
    expect(options).toEqual({ continuous_usage_stats: true, include_usage: true });
    for (const path of ['/v1/responses', '/v1/messages']) {
      await send(at.url, path, '{"model":"m","input":"x","messages":[],"max_tokens":1,"stream":true}');
      expect(started[0]!.received.at(-1)!.body).not.toContain('stream_options');
    }
  });

  it('B25: connections to engines are used again under concurrency, and a proxy of the environment is not', async () => {
    let connections = 0;
    const server: Server = createServer((message, response) => {
      message.resume();
      if (message.method === 'GET') return void response.end('{}');
      setTimeout(() => response.end(JSON.stringify(DONE)), 5);
    });
    server.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const variables = ['HTTP_PROXY', 'http_proxy'];
    const before = variables.map((name) => process.env[name]);
    for (const name of variables) process.env[name] = 'http://127.0.0.1:9';
    closers.push(() => {
      for (const [i, name] of variables.entries()) {
        if (before[i] === undefined) delete process.env[name];
        else process.env[name] = before[i];
      }
    });
    await start([server.address() as AddressInfo]);
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all(Array.from({ length: 16 }, () => send(at.url, CHAT, chatBody())));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
    // 128 requests, 16 at a time, and those of scrapes.
    expect(connections).toBeLessThan(40);
  });

  it('B33: the access log names the pod that served, after another one failed, and no error of a request that was served', async () => {
    const failing: TestEngine['answer'] = (_request, response) => void response.writeHead(503).end('{}');
    const started = await engines(failing, ok);
    await start(started, {}, { config: 'retry: {budgetRatio: 1, intervalMs: 1}' });
    for (let i = 0; i < 20 && started[0]!.received.length === 0; i++) await send(at.url, CHAT, chatBody());
    expect(started[0]!.received.length).toBeGreaterThan(0);
    for (const line of at.log) expect(line).toMatch(/ 200 model_name=.* selected_pod=pod-1 /);
    expect(at.log.join('\n')).not.toContain('error=');
    expect(Object.keys(at.counts('upstream_attempts'))).toContain('2');
  });

  it('B38: made-up paths make no series of their own', async () => {
    const started = await engines(ok);
    await start(started);
    for (let i = 0; i < 30; i++) {
      expect((await send(at.url, `/v1/made-up-${i}`, chatBody())).status).toBe(404);
      await send(at.url, `${CHAT}?made-up=${i}`, chatBody());
      await send(at.url, `/v1/responses/made-up-${i}`);
    }
    const { host, port } = at.router.metricsAddress;
    expect((await send(`http://${host}:${port}`, '/metrics')).body).not.toContain('made-up');
  });

  it('B40: prompts of every form and paths of every kind are served, and texts are estimated by more than their characters', async () => {
    const started = await engines(ok);
    await start(started, {}, { config: 'accessLog: {format: text}' });
    const requests: readonly (readonly [path: string, body: object])[] = [
      ['/v1/completions', { prompt: ['one', 'two'] }],
      ['/v1/completions', { prompt: [1, 2, 3] }],
      ['/v1/completions', { prompt: [[1, 2], [3]] }],
      ['/v1/rerank', { query: 'q', documents: ['a', 'b'] }],
      ['/v1/score', { text_1: 'a', text_2: 'b' }],
      ['/v1/embeddings', { input: [[1, 2, 3]] }],
      ['/v1/audio/speech', { input: 'say this', voice: 'v' }],
      ['/tokenize', { prompt: 'how many?' }],
    ];
    for (const [path, body] of requests) {
      const { status } = await send(at.url, path, JSON.stringify({ model: 'm', ...body }));
      expect([path, status]).toEqual([path, 200]);
    }
    // Usage of the engine would replace the estimate.
    started[0]!.answer = (_request, response) => void response.setHeader('content-type', 'application/json').end('{}');
    const estimate = async (messages: readonly object[]): Promise<number> => {
      await send(at.url, CHAT, JSON.stringify({ model: 'm', messages }));
      return Number(/ tokens=(\d+)\//.exec(at.log.at(-1)!)![1]);
    };
    const chinese = await estimate([{ role: 'user', content: '你'.repeat(1_000) }]);
    expect(chinese).toBeGreaterThan(500);
    expect(chinese).toBeLessThan(1_500);
    const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(4_000)}` } };
    const withPicture = await estimate([{ role: 'user', content: [picture] }]);
    expect(withPicture).toBeGreaterThan(100);
    const call = { type: 'function', function: { name: 'f', arguments: JSON.stringify({ text: 'word '.repeat(400) }) } };
    expect(await estimate([{ role: 'assistant', tool_calls: [call] }])).toBeGreaterThan(300);
  });

  it('B42: heads and bodies that come slowly or are too large are ended, and others are served meanwhile', async () => {
    const started = await engines(ok);
    await start(started, {}, { config: 'deadlines: {requestBodyMs: 200}\nlimits: {bodyBytes: 1000}' });
    const { port } = at.router.address;
    const slow = new Promise<number>((resolve, reject) => {
      const request = httpRequest({ port, method: 'POST', path: CHAT, headers: { 'content-length': '500' } });
      request.on('response', (response: IncomingMessage) => resolve(response.statusCode!));
      request.on('error', reject);
      request.write('{');
    });
    expect((await send(at.url, CHAT, chatBody())).status).toBe(200);
    expect(await slow).toBe(408);
    expect((await send(at.url, CHAT, chatBody({ x: 'x'.repeat(2_000) }))).status).toBe(413);
  });
});
