import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { get as getHttps } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { Value } from '@sinclair/typebox/value';
import { type TlsConfig, tlsSchema } from '../../../src/config/tls-config';
import { answerOf, ask, openHttp2, post, tlsFixture } from '../../helpers/http2-client';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter, until } from '../../helpers/router-harness';

const CHAT = '/v1/chat/completions';
const ca = readFileSync(tlsFixture('authority.pem'));
const answerJson = '{"usage":{"prompt_tokens":3,"completion_tokens":2}}';

let engine: TestEngine;
let router: TestRouter;
let session: ClientHttp2Session;

function tlsConfig(extra: object = {}): TlsConfig {
  return Value.Default(tlsSchema, {
    certFile: tlsFixture('server.pem'),
    keyFile: tlsFixture('server-key.pem'),
    ...extra,
  }) as TlsConfig;
}

async function start(config: Parameters<typeof routerConfig>[0] = {}, settings = {}): Promise<number> {
  router = await startTestRouter({ engines: [engine], config: routerConfig({ tls: tlsConfig(), ...config }) });
  const { port } = router.router.address;
  session = await openHttp2(port, { settings });
  return port;
}

const metric = async (name: string): Promise<number> => {
  const page = (await send(`http://127.0.0.1:${router.router.metricsAddress.port}`, '/metrics')).body;
  return Number(
    page
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.split(' ')
      .at(-1),
  );
};

const nothingHeld = { permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0, queued: 0, reservedLimits: 0 };

const event = (text: string): string => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;

beforeEach(async () => {
  engine = await new TestEngine((_request, response) => {
    response.writeHead(200, [
      'content-type',
      'application/json',
      'content-length',
      String(answerJson.length),
      'x-name',
      'caf\u00e9',
      'set-cookie',
      'a=1',
      'set-cookie',
      'b=2',
    ]);
    // As bytes: Node writes a head that goes with text in the text's encoding.
    response.end(Buffer.from(answerJson));
  }).start();
});

afterEach(async () => {
  session?.destroy();
  await router.router.close();
  await engine.kill();
});

describe('a request over HTTP/2', () => {
  it('reaches the engine as one of HTTP/1 does, and its answer comes back', async () => {
    await start();
    const body = chatBody();
    const headers = post(CHAT, { 'x-mine': 'caf\u00e9', cookie: ['a=1', 'b=2'], te: 'trailers', authorization: 'Bearer secret' });
    const answer = await ask(session, headers, body);
    expect([answer.status, answer.body, answer.rstCode]).toEqual([200, answerJson, 0]);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(answerJson.length),
      'x-name': 'caf\u00e9',
      'set-cookie': ['a=1', 'b=2'],
      'x-request-id': expect.any(String),
    });
    const [got] = engine.received;
    expect(got!.body).toBe(body);
    expect(got!.headers).toEqual({
      host: expect.stringContaining('127.0.0.1'),
      connection: 'keep-alive',
      'content-length': String(body.length),
      'content-type': 'application/json',
      'x-mine': 'caf\u00e9',
      'x-request-id': expect.any(String),
    });
    expect(router.records.at(-1)).toMatchObject({ protocol: 'HTTP/2.0', status_code: 200 });
    await until(() => router.router.load().activeRequests === 0, 'its end');
    expect(router.router.load()).toEqual(nothingHeld);
  });

  it('streams as the engine writes, to the end', async () => {
    let more: () => void = () => undefined;
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event('one'));
      more = () => response.end(`${event('two')}data: [DONE]\n\n`);
    };
    await start();
    const stream = session.request(post(CHAT));
    const done = answerOf(stream);
    stream.end(chatBody({ stream: true }));
    const first = await new Promise<Buffer>((resolve) => stream.once('data', resolve));
    expect(first.toString()).toBe(event('one'));
    more();
    expect((await done).body).toBe(`${event('one')}${event('two')}data: [DONE]\n\n`);
  });

  it('that its client takes back ends at the engine, and the connection goes on', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event('one'));
    };
    await start();
    const stream = session.request(post(CHAT));
    const done = answerOf(stream);
    stream.end(chatBody({ stream: true }));
    await new Promise((resolve) => stream.once('data', resolve));
    expect(engine.active).toBe(1);
    stream.close(constants.NGHTTP2_CANCEL);
    await done;
    await until(() => engine.active === 0, 'the engine is told');
    await until(() => router.router.load().activeRequests === 0, 'the router is done');
    expect(router.router.load()).toEqual(nothingHeld);
    expect((await ask(session, { ':path': '/v1/models' })).status).toBe(200);
  });

  it('shares its connection with many others, whose answers do not mix', async () => {
    engine.answer = ({ body }, response) => {
      const { user } = JSON.parse(body) as { user: string };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event(user));
      setTimeout(() => response.end('data: [DONE]\n\n'), 20);
    };
    await start();
    const users = Array.from({ length: 200 }, (_, index) => `user-${index}`);
    const answers = await Promise.all(users.map((user) => ask(session, post(CHAT), chatBody({ stream: true, user }))));
    expect(answers.map(({ body }) => body)).toEqual(users.map((user) => `${event(user)}data: [DONE]\n\n`));
  });

  it('waits its turn beyond the streams that a connection may have', async () => {
    let peak = 0;
    engine.answer = (_request, response) => {
      peak = Math.max(peak, engine.active);
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(answerJson);
      }, 10);
    };
    await start({ tls: tlsConfig({ http2: { maxConcurrentStreams: 3 } }) });
    expect(session.remoteSettings).toMatchObject({
      maxConcurrentStreams: 3,
      initialWindowSize: 2 ** 20,
      maxHeaderListSize: 65_536,
    });
    const answers = await Promise.all(Array.from({ length: 9 }, () => ask(session, post(CHAT), chatBody())));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(peak).toBeLessThanOrEqual(3);
  });

  it('with a large body needs no round trip for each 64 KiB', async () => {
    await start();
    const body = chatBody({ user: 'x'.repeat(4 * 2 ** 20) });
    expect((await ask(session, post(CHAT), body)).status).toBe(200);
    expect(engine.received[0]!.body).toHaveLength(body.length);
  });

  it('that waits for 100 Continue is told to go on', async () => {
    await start();
    const stream = session.request(post(CHAT, { expect: '100-continue' }));
    const done = answerOf(stream);
    await new Promise((resolve) => stream.once('continue', () => resolve(stream.end(chatBody()))));
    expect((await done).status).toBe(200);
  });

  it('with trailers is served without them', async () => {
    await start();
    const stream = session.request(post(CHAT), { waitForTrailers: true });
    const done = answerOf(stream);
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-late': '1' }));
    stream.end(chatBody());
    expect((await done).status).toBe(200);
    expect(engine.received[0]!.headers).not.toHaveProperty('x-late');
  });
});

describe('health and preflights', () => {
  it('are answered over HTTP/2 too', async () => {
    await start({ cors: { origins: ['*'], maxAgeSeconds: 600 } });
    expect(await ask(session, { ':path': '/healthz' })).toMatchObject({ status: 200, body: '{"message":"ok"}' });
    expect((await ask(session, { ':path': '/readyz' })).status).toBe(200);
    const preflight = await ask(session, { ':method': 'OPTIONS', ':path': CHAT, origin: 'https://a.example' });
    expect([preflight.status, preflight.headers['access-control-allow-methods']]).toEqual([204, 'POST']);
  });
});

describe('what is refused', () => {
  const errorOf = (body: string): string => (JSON.parse(body) as { error: { code: string } }).error.code;

  it.each([
    [{ ':method': 'HEAD', ':path': CHAT }, 405],
    [{ ':method': 'GET', ':path': '/v1/%2e%2e/sleep' }, 400],
    [{ ':method': 'GET', ':path': '/nothing' }, 404],
    [{ ':method': 'GET', ':path': '/v1/models', ':authority': 'localhost', host: 'other.example' }, 400],
    [{ ':method': 'GET', ':path': '/v1/models', expect: 'the-moon' }, 417],
  ])('%j → %i', async (headers, status) => {
    await start();
    expect((await ask(session, headers)).status).toBe(status);
    expect((await ask(session, { ':path': '/v1/models' })).status).toBe(200);
  });

  it('a body over the limit is answered before it is read, and its client stops sending it', async () => {
    const port = await start({ limits: { bodyBytes: 1_000 }, drain: { announceMs: 800 } });
    const stream = session.request(post(CHAT));
    const done = answerOf(stream);
    stream.write(Buffer.alloc(2 ** 20));
    const answer = await done;
    expect([answer.status, errorOf(answer.body), answer.rstCode]).toEqual([413, 'body_too_large', constants.NGHTTP2_NO_ERROR]);
    expect(answer.headers).not.toHaveProperty('connection');
    expect(router.router.load().bodyBytes).toBe(0);
    expect((await ask(session, { ':path': '/v1/models' })).status).toBe(200);
    // Nothing is left of it: a drain sends the connection away as one that is idle, while it still takes others.
    const away = new Promise((resolve) => session.on('goaway', resolve));
    const drained = router.router.drain(5_000);
    await away;
    (await openHttp2(port)).destroy();
    await drained;
  });

  it('a body that is not as long as it says ends its stream, and reaches no engine', async () => {
    await start();
    const answer = await ask(session, post(CHAT, { 'content-length': '10' }), chatBody());
    expect(answer.rstCode).toBe(constants.NGHTTP2_PROTOCOL_ERROR);
    expect(engine.received).toHaveLength(0);
    await until(() => router.router.load().activeRequests === 0, 'its end');
  });

  it('a head over 64 KiB ends its stream, and the others go on', async () => {
    await start();
    const answer = await ask(session, {
      ':path': '/v1/models',
      ...Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-${index}`, 'y'.repeat(4_000)])),
    });
    expect(answer.status).toBeUndefined();
    expect(answer.rstCode).not.toBe(0);
    expect((await ask(session, { ':path': '/v1/models' })).status).toBe(200);
  });

  it('requests that are taken back as soon as they are made, without end: the connection is ended, others are not', async () => {
    engine.answer = () => undefined;
    const port = await start();
    const other = await openHttp2(port);
    // What it is told may be lost, since it goes on sending while the connection is closed.
    const ended = new Promise((resolve) => session.on('close', resolve));
    for (let count = 0; count < 30 && !session.destroyed; count += 1) {
      const streams = Array.from({ length: 50 }, () => {
        const stream = session.request(post(CHAT));
        stream.on('error', () => undefined);
        stream.end(chatBody());
        return stream;
      });
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await ended;
    expect(await metric('kvasir_router_http2_floods_total')).toBe(1);
    await until(() => engine.active === 0 && router.router.load().activeRequests === 0, 'nothing is left');
    expect(router.router.load()).toEqual(nothingHeld);
    expect((await ask(other, { ':path': '/v1/models' })).status).toBe(200);
    other.destroy();
  });

  it('pings without end', async () => {
    await start({}, {});
    const goaway = new Promise<number>((resolve) => session.on('goaway', resolve));
    for (let count = 0; count < 400 && !session.destroyed; count += 1) {
      await new Promise<void>((resolve) => {
        if (!session.ping(() => resolve())) resolve();
      }).catch(() => undefined);
    }
    expect(await goaway).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it('a connection that says nothing after its handshake', async () => {
    const port = await start({ deadlines: { requestHeadMs: 100 } });
    const socket = connectTls({ port, host: 'localhost', ca, ALPNProtocols: ['h2'] });
    socket.on('error', () => undefined);
    socket.resume();
    await new Promise((resolve) => socket.on('close', resolve));
    expect(session.destroyed).toBe(false);
  });
});

describe('a client that stops reading', () => {
  it('pauses the engine, and goes on where it was', async () => {
    const total = 8 * 2 ** 20;
    let written = 0;
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': String(total) });
      const more = (): void => {
        while (written < total) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    };
    await start();
    const stream = session.request(post('/v1/audio/speech'));
    let received = 0;
    stream.end(chatBody());
    await new Promise((resolve) => stream.once('response', resolve));
    let last = -1;
    await until(() => {
      const isStill = written === last;
      last = written;
      return isStill && written > 0;
    }, 'the engine pauses');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(written).toBeLessThan(total);
    stream.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await new Promise((resolve) => stream.once('close', resolve));
    expect(received).toBe(total);
  });

  it('is taken for gone after the idle deadline, and the engine is free', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = (): void => {
        while (!response.destroyed && response.write(event('x'.repeat(10_000))));
      };
      response.on('drain', more);
      more();
    };
    await start({ deadlines: { idleMs: 200 } });
    const stream = session.request(post(CHAT));
    stream.on('error', () => undefined);
    stream.end(chatBody({ stream: true }));
    await new Promise((resolve) => stream.once('response', resolve));
    expect(engine.active).toBe(1);
    await until(() => engine.active === 0, 'the engine is free');
    await until(() => router.router.load().activeRequests === 0, 'the router is done');
    await until(() => stream.destroyed || stream.closed, 'its stream is ended');
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    expect((await ask(session, { ':path': '/v1/models' })).status).toBe(200);
  });
});

describe('an engine that breaks off', () => {
  it('a document: its stream ends with an error', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"a":', () => response.destroy());
    };
    await start();
    const answer = await ask(session, post(CHAT), chatBody());
    expect([answer.status, answer.rstCode]).toEqual([200, constants.NGHTTP2_INTERNAL_ERROR]);
  });
});

describe('a drain', () => {
  it('lets streams finish, sends idle connections away at once, and takes no request on old ones', async () => {
    let finish: () => void = () => undefined;
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event('one'));
      finish = () => response.end('data: [DONE]\n\n');
    };
    const port = await start({ drain: { announceMs: 50 } });
    const idle = await openHttp2(port);
    const idleAway = new Promise<number>((resolve) => idle.on('goaway', resolve));
    const busyAway = new Promise<number>((resolve) => session.on('goaway', resolve));
    const stream = session.request(post(CHAT));
    const done = answerOf(stream);
    stream.end(chatBody({ stream: true }));
    await new Promise((resolve) => stream.once('data', resolve));
    const drained = router.router.drain(10_000);
    expect(await idleAway).toBe(constants.NGHTTP2_NO_ERROR);
    expect(await busyAway).toBe(constants.NGHTTP2_NO_ERROR);
    expect(() => session.request(post(CHAT))).toThrow();
    finish();
    expect(await done).toMatchObject({ body: `${event('one')}data: [DONE]\n\n`, rstCode: 0 });
    await drained;
    expect(session.destroyed || session.closed).toBe(true);
  });

  it('cuts what still runs at its deadline with an error event', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event('one'));
    };
    await start({ drain: { announceMs: 0 } });
    const stream = session.request(post(CHAT));
    const done = answerOf(stream);
    stream.end(chatBody({ stream: true }));
    await new Promise((resolve) => stream.once('data', resolve));
    await router.router.drain(100);
    expect((await done).body).toContain('shutting_down');
  });
});

describe('HTTP/1.1 over TLS', () => {
  const get = (port: number, path: string, options: object = {}): Promise<{ status: number; headers: object }> =>
    new Promise((resolve, reject) => {
      getHttps({ host: 'localhost', port, path, ca, agent: false, ...options }, (response) => {
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers }));
      }).on('error', reject);
    });

  const raw = (port: number, bytes: string): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      const socket = connectTls({ port, host: 'localhost', ca, ALPNProtocols: ['http/1.1'] }, () => socket.write(bytes));
      socket.on('data', (chunk) => {
        text += chunk.toString();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text));
    });

  it('is served where a client does not ask for HTTP/2, with the same rules', async () => {
    const port = await start();
    expect((await get(port, '/v1/models')).status).toBe(200);
    expect((await get(port, '/healthz')).status).toBe(200);
    expect(await raw(port, 'GET /v1/models HTTP/1.1\r\nhost: x\r\n folded: x\r\n\r\n')).toContain('HTTP/1.1 400 ');
    expect(await raw(port, 'GET /v1/models HTTP/1.1\r\n\r\n')).toContain('HTTP/1.1 400 ');
    expect(router.records.at(-1)).toMatchObject({ protocol: 'HTTP/1.1' });
  });

  it('plain HTTP to the port is not answered, and counted', async () => {
    const port = await start();
    await expect(send(`http://127.0.0.1:${port}`, '/v1/models')).rejects.toThrow();
    expect(await metric('kvasir_router_tls_handshake_failures_total')).toBe(1);
  });

  it('HTTP/2 without TLS is not spoken', async () => {
    const port = await start();
    const plain = connectHttp2(`http://127.0.0.1:${port}`);
    let hasSettings = false;
    plain.on('error', () => undefined);
    plain.on('remoteSettings', () => {
      hasSettings = true;
    });
    await new Promise((resolve) => plain.on('close', resolve));
    expect(hasSettings).toBe(false);
  });
});
