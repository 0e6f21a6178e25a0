import { connect } from 'node:net';
import { silentLogger } from '../../../runtime/lib/logger';
import { systemRandom } from '../../../runtime/lib/random';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { formatAccessText } from '../../../runtime/router/observability/access-record';
import { startRouter } from '../../../runtime/router/router';
import { KvasirError } from '../../../src/errors';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter, until } from '../../helpers/router-harness';

let engine: TestEngine;
let router: TestRouter;

const answerJson = '{"usage":{"prompt_tokens":3,"completion_tokens":2}}';

beforeEach(async () => {
  engine = await new TestEngine((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answerJson);
  }).start();
});

afterEach(async () => {
  await router.router.close();
  await engine.kill();
});

async function start(config = routerConfig(), route = {}): Promise<string> {
  router = await startTestRouter({ engines: [engine], config, route });
  return router.url;
}

/** Sends bytes as they are and returns everything that comes back until the connection ends. */
function raw(url: string, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.on('close', () => resolve(text));
    socket.on('error', () => undefined);
    socket.write(bytes);
  });
}

const errorOf = (body: string): { message: string; type: string; code: string } =>
  (JSON.parse(body) as { error: { message: string; type: string; code: string } }).error;

describe('paths', () => {
  it.each([
    ['GET', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['POST', '/v1/models', 405, 'method_not_allowed'],
    ['POST', '/v1/load_lora_adapter', 404, 'unknown_path'],
    ['POST', '/sleep', 404, 'unknown_path'],
    ['POST', '/reset_prefix_cache', 404, 'unknown_path'],
    ['GET', '/metrics', 404, 'unknown_path'],
    ['POST', '//v1/chat/completions', 400, 'invalid_path'],
    ['POST', '/v1//chat/completions', 400, 'invalid_path'],
    ['POST', '/v1/./chat/completions', 400, 'invalid_path'],
    ['POST', '/v1/chat/../chat/completions', 400, 'invalid_path'],
    ['POST', '/v1/%2e%2e/sleep', 400, 'invalid_path'],
    ['POST', '/v1%2fchat/completions', 400, 'invalid_path'],
    ['POST', '/v1/chat/completions%00', 400, 'invalid_path'],
    ['POST', '/v1/chat/completions/', 400, 'invalid_path'],
    ['POST', '/v1/chat/completions%ff', 400, 'invalid_path'],
  ])('%s %s → %i %s', async (method, path, status, code) => {
    const url = await start();
    const text = await raw(url, `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    expect(text).toContain(`HTTP/1.1 ${status} `);
    expect(errorOf(text.slice(text.indexOf('\r\n\r\n') + 4)).code).toBe(code);
    expect(engine.received).toHaveLength(0);
  });

  it('one escaped letter is the same path, decoded once', async () => {
    const url = await start();
    const body = chatBody();
    const head = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    expect(await raw(url, head('/v1/ch%61t/completions'))).toContain('200 OK');
    expect(await raw(url, head('/v1/ch%2561t/completions'))).toContain('404 Not Found');
    expect(engine.received.map((each) => each.url)).toEqual(['/v1/chat/completions']);
  });

  it('more of them by configuration', async () => {
    const url = await start(routerConfig({ paths: ['/pooling'] }));
    expect((await send(url, '/pooling', chatBody())).status).toBe(200);
  });
});

describe('models', () => {
  it('are listed from the routes, adapters with their parent, and found by a name with a slash', async () => {
    const url = await start(routerConfig(), { modelName: 'Qwen/Q', loraAdapters: ['lora-a'] });
    const list = JSON.parse((await send(url, '/v1/models')).body) as { data: object[] };
    const base = { object: 'model', created: 0, owned_by: 'kthena' };
    expect(list).toEqual({
      object: 'list',
      data: [
        { id: 'Qwen/Q', ...base },
        { id: 'lora-a', ...base, parent: 'Qwen/Q' },
      ],
    });
    expect(JSON.parse((await send(url, '/v1/models/Qwen/Q')).body)).toEqual({ id: 'Qwen/Q', ...base });
    const missing = await send(url, '/v1/models/none');
    expect([missing.status, errorOf(missing.body).code]).toEqual([404, 'model_not_found']);
  });
});

describe('bodies', () => {
  it('over the limit are refused before they are read, announced or not', async () => {
    const url = await start(routerConfig({ limits: { bodyBytes: 1_000 } }));
    const announced = await raw(url, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n');
    expect(announced).toContain('HTTP/1.1 413 ');
    expect(announced.toLowerCase()).toContain('connection: close');
    const chunk = 'x'.repeat(600);
    const chunked = await raw(
      url,
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n258\r\n${chunk}\r\n258\r\n${chunk}\r\n0\r\n\r\n`,
    );
    expect(chunked).toContain('HTTP/1.1 413 ');
    expect(router.router.load().bodyBytes).toBe(0);
  });

  it('share a budget: what does not fit now is 503 with Retry-After', async () => {
    const url = await start(routerConfig({ limits: { bodyBudgetBytes: 100 } }));
    const answer = await send(url, '/v1/chat/completions', chatBody({ user: 'x'.repeat(200) }));
    expect([answer.status, answer.headers['retry-after'], errorOf(answer.body).code]).toEqual([503, '1', 'body_budget']);
    expect((await send(url, '/v1/chat/completions', chatBody())).status).toBe(200);
  });

  it('that do not arrive are given up', async () => {
    const url = await start(routerConfig({ deadlines: { requestBodyMs: 100 } }));
    expect(await raw(url, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc')).toContain(
      'HTTP/1.1 408 ',
    );
  });

  it('may come in chunks', async () => {
    const url = await start();
    const body = chatBody();
    const half = body.length >> 1;
    const parts = [body.slice(0, half), body.slice(half)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('');
    const text = await raw(
      url,
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${parts}0\r\n\r\n`,
    );
    expect(text).toContain('HTTP/1.1 200 ');
    expect(engine.received[0]!.body).toBe(body);
  });

  it('wait for 100 Continue until the head was found good', async () => {
    const url = await start();
    const body = chatBody();
    const head = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`;
    expect(await raw(url, `${head('/v1/chat/completions')}${body}`)).toMatch(/^HTTP\/1\.1 100 Continue[\s\S]*HTTP\/1\.1 200 /);
    expect(await raw(url, head('/sleep'))).toMatch(/^HTTP\/1\.1 404 /);
  });

  it.each([
    ['content-encoding: gzip', 415],
    ['content-length: 5\r\ntransfer-encoding: chunked', 400],
    ['x: a\r\n b', 400],
    ['x: a\rb', 400],
  ])('with the header %j are refused with %i', async (header, status) => {
    const url = await start();
    const length = header.includes('content-length') ? '' : 'content-length: 0\r\n';
    expect(
      await raw(url, `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${length}${header}\r\nconnection: close\r\n\r\n0\r\n\r\n`),
    ).toContain(`HTTP/1.1 ${status} `);
    expect(engine.received).toHaveLength(0);
  });
});

describe('errors', () => {
  it('have the dialect of the path', async () => {
    const url = await start();
    const openai = await send(url, '/v1/chat/completions', '{"model":"none"}');
    expect([openai.status, JSON.parse(openai.body)]).toMatchObject([
      404,
      { error: { type: 'invalid_request_error', param: 'model', code: 'model_not_found' } },
    ]);
    const anthropic = await send(url, '/v1/messages', '{"model":"none"}');
    expect([anthropic.status, JSON.parse(anthropic.body)]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' } },
    ]);
  });

  it('of a server without pods are 503 with Retry-After, never 400', async () => {
    const url = await start();
    router.cluster.remove('Pod', 'default', 'pod-0');
    const answer = await send(url, '/v1/chat/completions', chatBody());
    expect([answer.status, answer.headers['retry-after'], errorOf(answer.body).code]).toEqual([503, '5', 'no_endpoints']);
  });

  it('of a second router on the same port are one line that names it', async () => {
    const url = await start();
    const any = { host: '127.0.0.1', port: 0 };
    const second = startRouter({
      cluster: router.cluster,
      clock: wallClock(),
      random: systemRandom,
      config: routerConfig(),
      listen: { host: '127.0.0.1', port: Number(new URL(url).port) },
      metricsListen: any,
      debugListen: any,
      log: silentLogger(),
    });
    const error = await second.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(KvasirError);
    expect((error as KvasirError).message).toBe(
      `--listen: another process listens on 127.0.0.1:${new URL(url).port}; stop it, or give another host:port [listen/address-in-use]`,
    );
  });
});

describe('what people see', () => {
  it('metrics carry Kthena’s names and count what happened', async () => {
    const url = await start();
    await send(url, '/v1/chat/completions', chatBody());
    await send(url, '/v1/chat/completions', '{"model":"none"}');
    const { body } = await send(`http://127.0.0.1:${router.router.metricsAddress.port}`, '/metrics');
    const destination =
      'model_route="default/route",backend_type="model_server",backend_name="default/server",upstream_model="m"';
    expect(body).toContain(
      `kthena_router_requests_total{model="m",path="/v1/chat/completions",status_code="200",error_type="successful_request",${destination}} 1`,
    );
    expect(body).toContain(
      'kthena_router_requests_total{model="unknown",path="/v1/chat/completions",status_code="404",error_type="route_not_found"',
    );
    expect(body).toContain(`token_type="output",${destination}} 2`);
    expect(body).toMatch(/kthena_router_active_requests 0\n/);
    expect(body).toMatch(/kthena_router_active_upstream_requests\{.*\} 0\n/);
  });

  it('the access log has Kthena’s text form', async () => {
    const url = await start();
    await send(url, '/v1/chat/completions', chatBody(), { 'x-request-id': 'id-1' });
    await until(() => router.records.length === 1, 'the record');
    expect(formatAccessText(router.records[0]!)).toMatch(
      /^\[\d{4}-\d\d-\d\dT[\d:.]+Z\] "POST \/v1\/chat\/completions HTTP\/1\.1" 200 model_name=m model_route=default\/route model_server=default\/server selected_pod=pod-0 request_id=id-1 backend_type=model_server backend_name=default\/server upstream_model=m upstream_status_code=200 upstream_attempts=1 tokens=3\/2 timings=\d+ms\(\d+\+\d+\+\d+\) selected_by=\w+ .*expected_ttft_ms=\d+/,
    );
  });

  it('the debug port dumps routes, servers and pods, and the last decisions', async () => {
    const url = await start();
    await send(url, '/v1/chat/completions', chatBody());
    const debug = async (path: string): Promise<unknown> =>
      JSON.parse((await send(`http://127.0.0.1:${router.router.debugAddress.port}`, path)).body);
    expect(await debug('/debug/config_dump/modelroutes')).toMatchObject({
      modelroutes: [{ name: 'route', namespace: 'default' }],
    });
    expect(await debug('/debug/config_dump/modelservers')).toMatchObject({
      modelservers: [{ name: 'server', associatedPods: ['default/pod-0'] }],
    });
    expect(await debug('/debug/config_dump/namespaces/default/pods/pod-0')).toMatchObject({
      name: 'pod-0',
      modelServers: ['default/server'],
      podInfo: { podIP: '127.0.0.1' },
    });
    expect(await debug('/debug/config_dump/namespaces/default/modelroutes/none')).toEqual({ error: 'ModelRoute not found' });
    expect(await debug('/debug/decisions')).toMatchObject({
      decisions: [{ model: 'm', explanation: { candidates: [{ endpoint: 'default/pod-0#uid-pod-0' }] } }],
    });
  });

  it('a decision is told in a header only where the configuration allows it', async () => {
    const url = await start(routerConfig({ explain: { header: true } }));
    const answer = await send(url, '/v1/chat/completions', chatBody(), { 'x-kvasir-explain': '1' });
    expect(JSON.parse(answer.headers['x-kvasir-decision'] as string)).toMatchObject({
      endpoint: 'default/pod-0#uid-pod-0',
      profile: 'expected-latency',
    });
    expect((await send(url, '/v1/chat/completions', chatBody())).headers['x-kvasir-decision']).toBeUndefined();
  });
});

describe('leaving', () => {
  it('withdraws readiness, serves on, lets streams end, and closes', async () => {
    const event = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n';
    let end = (): void => undefined;
    engine.answer = (request, response) => {
      response.writeHead(200, { 'content-type': request.body.includes('"stream"') ? 'text/event-stream' : 'application/json' });
      if (!request.body.includes('"stream"')) {
        response.end(answerJson);
        return;
      }
      response.write(event);
      end = () => response.end('data: [DONE]\n\n');
    };
    const url = await start(routerConfig({ drain: { announceMs: 300 } }));
    const stream = send(url, '/v1/chat/completions', chatBody({ stream: true }));
    await until(() => engine.active === 1, 'the stream runs');
    const drained = router.router.drain(10_000);
    expect((await send(url, '/readyz')).status).toBe(503);
    expect((await send(url, '/healthz')).status).toBe(200);
    const late = await send(url, '/v1/chat/completions', chatBody(), { connection: 'keep-alive' });
    expect([late.status, late.headers.connection]).toEqual([200, 'close']);
    await new Promise((resolve) => setTimeout(resolve, 400));
    await expect(send(url, '/v1/chat/completions', chatBody())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    end();
    expect((await stream).body).toBe(`${event}data: [DONE]\n\n`);
    await drained;
  });

  it('cuts streams at the deadline with an error event', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":"x"}}]}\n\n');
    };
    const url = await start(routerConfig({ drain: { announceMs: 10 } }));
    const stream = send(url, '/v1/chat/completions', chatBody({ stream: true }));
    await until(() => engine.active === 1, 'the stream runs');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await router.router.drain(100);
    expect((await stream).body).toContain('"code":"shutting_down"');
    await until(() => engine.active === 0, 'the engine was let go');
  });
});
