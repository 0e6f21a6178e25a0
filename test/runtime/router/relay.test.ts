import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { recordedAnswer, recordedRequestBody } from '../../helpers/recorded-answer';
import {
  chatBody,
  type ReceivedRequest,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';

type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

const engines: TestEngine[] = [];
const routers: TestRouter[] = [];

async function engine(answer: Answer): Promise<TestEngine> {
  const made = await new TestEngine(answer).start();
  engines.push(made);
  return made;
}

async function router(options: Parameters<typeof startTestRouter>[0]): Promise<TestRouter> {
  const made = await startTestRouter(options);
  routers.push(made);
  return made;
}

afterEach(async () => {
  for (const { router: each } of routers.splice(0)) {
    await until(() => each.load().activeRequests === 0, 'every request is over');
    expect(each.load()).toEqual({ permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0, reservedLimits: 0, queued: 0 });
    expect(each.endpoints.all().map(({ inFlight }) => inFlight)).toEqual(each.endpoints.all().map(() => 0));
    await each.close();
  }
  for (const each of engines.splice(0)) await each.kill();
});

const json: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}');
};
const status =
  (code: number, body = `{"error":{"message":"said ${code}","type":"X","param":null,"code":${code}}}`): Answer =>
  (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(body);
  };
const reset: Answer = (_request, response) => response.socket?.resetAndDestroy();
const silence: Answer = () => undefined;
const event = (document: object): string => `data: ${JSON.stringify(document)}\n\n`;
const token = event({ choices: [{ delta: { content: 'x' } }] });
const sse = (response: ServerResponse): ServerResponse => response.writeHead(200, { 'content-type': 'text/event-stream' });

function errorOf(body: string): { message: string; type: string; code: unknown } {
  return (JSON.parse(body) as { error: { message: string; type: string; code: unknown } }).error;
}

describe('a recorded exchange', () => {
  it.each([
    'chat',
    'chat_stream',
    'chat_stream_usage',
    'messages',
    'messages_stream',
    'responses',
    'responses_stream',
    'err_unknown_model_chat',
    'messages_bad_model',
  ])('%s reaches the client as the engine answered it', async (name) => {
    const recorded = recordedAnswer('vllm-0.32.0', name);
    const upstream = await engine((_request, response) => {
      const { 'transfer-encoding': _chunked, ...headers } = recorded.headers;
      response.writeHead(recorded.status, headers);
      for (let at = 0; at < recorded.body.length; at += 100) response.write(recorded.body.subarray(at, at + 100));
      response.end();
    });
    const { url } = await router({ engines: [upstream], route: { modelName: 'tiny' }, server: { model: 'tiny' } });
    const path = name.startsWith('messages')
      ? '/v1/messages'
      : name.startsWith('responses')
        ? '/v1/responses'
        : '/v1/chat/completions';
    const body = recordedRequestBody('vllm-0.32.0', name).replace('"nope"', '"tiny"');
    const answer = await send(url, path, body);
    expect({ status: answer.status, body: answer.body }).toEqual({ status: recorded.status, body: recorded.body.toString() });
    expect(answer.headers['content-type']).toBe(recorded.headers['content-type']);
  });
});

describe('what an engine gets', () => {
  it('is the received bytes with the model rewritten, a fresh request id, and none of the headers that stay here', async () => {
    const upstream = await engine(json);
    const { url } = await router({ engines: [upstream], server: { model: 'real/model' } });
    const body = '{ "model" : "m", "big":12345678901234567890, "x":"\\u00e9", "priority":1 ,"messages":[]}';
    const answer = await send(url, '/v1/chat/completions?a=b', body, {
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'accept-encoding': 'gzip',
      connection: 'x-hop, keep-alive',
      'x-hop': '1',
      'x-data-parallel-rank': '3',
      'x-forwarded-for': '1.2.3.4',
      'x-request-id': 'mine',
      traceparent: '00-1-2-01',
      'user-agent': 'test',
    });
    expect(answer.headers['x-request-id']).toBe('mine');
    const [received] = upstream.received;
    expect(received!.body).toBe('{ "model" : "real/model", "big":12345678901234567890, "x":"\\u00e9", "messages":[]}');
    expect(received!.url).toBe('/v1/chat/completions?a=b');
    const { 'x-request-id': id, host, ...headers } = received!.headers;
    expect(id).not.toBe('mine');
    expect(host).toBe(`127.0.0.1:${upstream.port}`);
    expect(headers).toEqual({
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(received!.body)),
      traceparent: '00-1-2-01',
      'user-agent': 'test',
    });
  });

  it('keeps the name of an adapter', async () => {
    const upstream = await engine(json);
    const { url } = await router({ engines: [upstream], route: { loraAdapters: ['lora-a'] } });
    await send(url, '/v1/chat/completions', '{"model":"lora-a","messages":[]}');
    expect(upstream.received[0]!.body).toBe('{"model":"lora-a","messages":[]}');
  });

  it('asks for usage that the client does not get to see', async () => {
    const upstream = await engine((_request, response) => {
      sse(response).end(`${token}${event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } })}data: [DONE]\n\n`);
    });
    const { url, records } = await router({ engines: [upstream] });
    const answer = await send(url, '/v1/chat/completions', chatBody({ stream: true }));
    expect(upstream.received[0]!.body).toContain('"stream_options":{"include_usage":true}');
    expect(answer.body).toBe(`${token}data: [DONE]\n\n`);
    await until(() => records.length === 1, 'the record');
    expect(records[0]).toMatchObject({ input_tokens: 5, output_tokens: 1, stream: true });
  });
});

describe('another endpoint is tried', () => {
  const failing: readonly [string, Answer][] = [
    ['a reset after the body was sent', reset],
    ['500', status(500)],
    ['429', status(429)],
    ['the words of a draining engine', status(500, '{"error":{"message":"cannot schedule new futures after shutdown"}}')],
    [
      '200 and then an error event',
      (_request, response) => sse(response).end(`${event({ error: { message: 'dead', code: 500 } })}data: [DONE]\n\n`),
    ],
    ['an empty stream', (_request, response) => sse(response).end()],
    ['no answer in time', silence],
  ];

  it.each(failing)('after %s, and the client sees one good answer', async (_name, answer) => {
    let failed = 0;
    const bad: Answer = (request, response) => {
      failed += 1;
      answer(request, response);
    };
    // The first request decides which engine is bad, so that it is always met.
    let badPort: number | undefined;
    const either =
      (port: () => number): Answer =>
      (request, response) => {
        badPort ??= port();
        (badPort === port() ? bad : json)(request, response);
      };
    const first: TestEngine = await engine(either(() => first.port));
    const second: TestEngine = await engine(either(() => second.port));
    const { url, records } = await router({ engines: [first, second], server: { trafficPolicy: { timeout: '300ms' } } });
    const result = await send(url, '/v1/chat/completions', chatBody({ stream: true }));
    expect(result.status).toBe(200);
    expect(result.body).toContain('"prompt_tokens":3');
    expect(failed).toBe(1);
    await until(() => records.length === 1, 'the record');
    expect(records[0]).toMatchObject({ status_code: 200, upstream_attempts: 2 });
  });

  it('after a refused connection', async () => {
    const dead = await engine(json);
    const alive = await engine(json);
    const { url } = await router({ engines: [dead, alive] });
    await dead.kill();
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(url, '/v1/chat/completions', chatBody())));
    expect(answers.map(({ status: code }) => code)).toEqual(Array(8).fill(200));
  });

  it('not more than once after the body was sent, and a body that broke two connections is refused from then on', async () => {
    const upstreams = [await engine(reset), await engine(reset), await engine(reset)];
    const { url } = await router({ engines: upstreams });
    const first = await send(url, '/v1/chat/completions', chatBody());
    expect([first.status, errorOf(first.body).code]).toEqual([502, 'upstream_lost']);
    expect(upstreams.flatMap(({ received }) => received)).toHaveLength(2);
    const second = await send(url, '/v1/chat/completions', chatBody());
    expect([second.status, errorOf(second.body).code]).toEqual([503, 'quarantined']);
    expect(upstreams.flatMap(({ received }) => received)).toHaveLength(2);
  });

  it('never for a client error, which keeps its status and message', async () => {
    const upstreams = [await engine(status(422)), await engine(status(422))];
    const { url } = await router({ engines: upstreams });
    const answer = await send(url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).message]).toEqual([422, 'said 422']);
    expect(upstreams.flatMap(({ received }) => received)).toHaveLength(1);
  });

  it('as often as the ModelServer says: never with attempts 0', async () => {
    const upstreams = [await engine(status(503)), await engine(status(503))];
    const { url } = await router({
      engines: upstreams,
      server: { trafficPolicy: { retry: { attempts: 0, retryInterval: '1ms' } } },
    });
    const answer = await send(url, '/v1/chat/completions', chatBody());
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(upstreams.flatMap(({ received }) => received)).toHaveLength(1);
  });

  it('and not to an endpoint before the time that it asked for, while another has room', async () => {
    const busy = await engine((_request, response) => response.writeHead(503, { 'retry-after': '20' }).end('{}'));
    const upstreams = [busy, await engine(json)];
    const { url } = await router({ engines: upstreams });
    const ask = async (): Promise<void> => {
      expect((await send(url, '/v1/chat/completions', chatBody())).status).toBe(200);
    };
    while (busy.received.length === 0) await ask();
    // Longer than the 250 ms of one that asks for nothing.
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (let sent = 0; sent < 20; sent++) await ask();
    expect(busy.received).toHaveLength(1);
  });

  it('on the same endpoint when an idle connection was closed in the moment of its use', async () => {
    let answers = 0;
    const upstream: TestEngine = await engine((request, response) => {
      answers += 1;
      if (answers === 2) upstream.resetConnections();
      else json(request, response);
    });
    const { url, records } = await router({ engines: [upstream] });
    await send(url, '/v1/chat/completions', chatBody());
    const second = await send(url, '/v1/chat/completions', chatBody());
    expect(second.status).toBe(200);
    expect(answers).toBe(3);
    await until(() => records.length === 2, 'the records');
    expect(records[1]).toMatchObject({ upstream_attempts: 1 });
  });
});

describe('an answer that breaks off', () => {
  it.each([
    ['/v1/chat/completions', (body: string) => errorOf(body.slice(body.lastIndexOf('data: ') + 6)).code],
    ['/v1/messages', (body: string) => errorOf(body.slice(body.lastIndexOf('data: ') + 6)).type],
  ])('ends a stream of %s with an error event and no [DONE]', async (path, read) => {
    const upstream = await engine((_request, response) => {
      sse(response).write(token);
      setTimeout(() => response.socket?.resetAndDestroy(), 30);
    });
    const { url, records } = await router({ engines: [upstream] });
    const answer = await send(url, path, chatBody({ stream: true }));
    expect(answer.isCut).toBe(false);
    expect(answer.body.startsWith(token)).toBe(true);
    expect(answer.body).not.toContain('[DONE]');
    expect(read(answer.body)).toMatch(/upstream_lost|api_error/);
    await until(() => records.length === 1, 'the record');
    expect(records[0]!.error?.type).toBe('upstream_lost');
  });

  it('ends a stream that its engine closed without [DONE] with an error event', async () => {
    const upstream = await engine((_request, response) => void sse(response).end(token));
    const { url } = await router({ engines: [upstream] });
    const answer = await send(url, '/v1/chat/completions', chatBody({ stream: true }));
    expect(answer.body).toContain('"code":"upstream_lost"');
  });

  it('ends a stream that went silent', async () => {
    const upstream = await engine((_request, response) => void sse(response).write(token));
    const { url } = await router({ engines: [upstream], config: routerConfig({ deadlines: { idleMs: 150 } }) });
    const answer = await send(url, '/v1/chat/completions', chatBody({ stream: true }));
    expect(answer.body).toContain('"code":"upstream_timeout"');
    await until(() => upstream.active === 0, 'the engine was let go');
  });

  it('cuts a document, so that its client sees that a part is missing', async () => {
    const upstream = await engine((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"a":');
      setTimeout(() => response.socket?.resetAndDestroy(), 30);
    });
    const { url } = await router({ engines: [upstream] });
    expect((await send(url, '/v1/chat/completions', chatBody())).isCut).toBe(true);
  });
});

describe('a client', () => {
  it.each([
    ['streams', true, (response: ServerResponse) => void sse(response).write(token)],
    ['waits', false, () => undefined],
  ] as const)('that %s and leaves frees the engine at once', async (_name, stream, begin) => {
    const upstream = await engine((_request, response) => begin(response));
    const { url, records } = await router({ engines: [upstream] });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const body = chatBody({ stream });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => upstream.active === 1, 'the engine works');
    const left = Date.now();
    socket.destroy();
    await until(() => upstream.active === 0, 'the engine was let go', 1_000);
    expect(Date.now() - left).toBeLessThan(500);
    await until(() => records.length === 1, 'the record');
    expect(records[0]).toMatchObject({ status_code: 499, error: { type: 'client_closed' } });
  });

  it('that reads slowly holds the engine back, and gets every byte', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const total = 400;
    let sent = 0;
    const upstream = await engine((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      const pump = (): void => {
        while (sent < total) {
          sent += 1;
          if (!response.write(chunk)) {
            response.once('drain', pump);
            return;
          }
        }
        response.end();
      };
      pump();
    });
    const { url } = await router({ engines: [upstream] });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const body = chatBody();
    socket.pause();
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => sent > 0, 'the engine answers');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sent).toBeLessThan(total);
    let received = 0;
    socket.on('data', (data) => {
      received += data.length;
    });
    socket.resume();
    await new Promise((resolve) => socket.on('close', resolve));
    expect(sent).toBe(total);
    expect(received).toBeGreaterThan(total * chunk.length);
  });

  it('that never reads is treated as gone', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const upstream = await engine((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      for (let index = 0; index < 30; index++) response.write(chunk);
    });
    const { url } = await router({ engines: [upstream], config: routerConfig({ deadlines: { idleMs: 200 } }) });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const body = chatBody();
    socket.pause();
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until(() => upstream.active === 1, 'the engine works');
    await until(() => upstream.active === 0, 'the engine was let go');
    socket.destroy();
  });

  it('that never reads the ends of its answers loses its connection', async () => {
    const answer = JSON.stringify({ object: 'x', text: 'x'.repeat(60_000) });
    const upstream = await engine((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(answer.length) }).end(answer);
    });
    const config = routerConfig({ deadlines: { idleMs: 200 } });
    const { url, records } = await router({ engines: [upstream], config });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    const body = chatBody();
    const asked = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    // More than the system keeps for a reader: then answers that are complete stay in the router.
    for (let sent = 0; sent < 400; sent++) socket.write(asked);
    let isClosed = false;
    socket.once('close', () => {
      isClosed = true;
    });
    await until(() => records.length > 20, 'answers are complete');
    // A client that only ever writes learns of the end by writing.
    const poke = setInterval(() => socket.write('\r\n'), 20);
    await until(() => isClosed, 'the connection ends').finally(() => clearInterval(poke));
  });

  it('gets no answer later than the total deadline', async () => {
    const upstream = await engine(silence);
    const { url } = await router({ engines: [upstream], config: routerConfig({ deadlines: { totalMs: 200 } }) });
    const answer = await send(url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).code]).toEqual([504, 'upstream_timeout']);
  });
});

describe('a pod that is gone', () => {
  it('ends its streams with an error event as soon as the cluster says so', async () => {
    const upstream = await engine((_request, response) => void sse(response).write(token));
    const { url, cluster } = await router({ engines: [upstream] });
    const answer = send(url, '/v1/chat/completions', chatBody({ stream: true }));
    await until(() => upstream.active === 1, 'the engine works');
    await new Promise((resolve) => setTimeout(resolve, 50));
    cluster.remove('Pod', 'default', 'pod-0');
    expect((await answer).body).toContain('"code":"upstream_lost"');
  });
});
