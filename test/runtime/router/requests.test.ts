import { connect } from 'node:net';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter } from '../../helpers/router-harness';

let engine: TestEngine;
let router: TestRouter | undefined;

const ok: TestEngine['answer'] = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end('{"usage":{"prompt_tokens":3,"completion_tokens":2}}');
};

beforeAll(async () => {
  engine = await new TestEngine(ok).start();
});

afterEach(async () => {
  await router?.router.close();
  router = undefined;
  engine.received.length = 0;
  engine.answer = ok;
});

afterAll(() => engine.kill());

async function start(config = routerConfig(), server = {}): Promise<string> {
  router = await startTestRouter({ engines: [engine], config, server });
  return router.url;
}

function raw(url: string, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', () => undefined);
    socket.write(Buffer.from(text, 'latin1'));
  });
}

describe('every endpoint', () => {
  it('takes a body of its own kind and brings it to the engine as it came', async () => {
    const url = await start();
    const bodies: readonly (readonly [string, string])[] = [
      ['/v1/chat/completions', '{"model":"m","messages":[{"role":"user","content":"hi"}]}'],
      ['/v1/completions', '{"model":"m","prompt":"hi"}'],
      ['/v1/completions', '{"model":"m","prompt":["a","b"]}'],
      ['/v1/completions', '{"model":"m","prompt":[1,2,3]}'],
      ['/v1/completions', '{"model":"m","prompt":[[1,2],[3]]}'],
      ['/v1/responses', '{"model":"m","input":[{"role":"user","content":"hi"}],"instructions":"be short"}'],
      ['/v1/messages', '{"model":"m","max_tokens":5,"system":"s","messages":[{"role":"user","content":"hi"}]}'],
      ['/v1/messages/count_tokens', '{"model":"m","messages":[{"role":"user","content":"hi"}]}'],
      ['/v1/embeddings', '{"model":"m","input":["a","b"]}'],
      ['/v1/rerank', '{"model":"m","query":"q","documents":["a","b"]}'],
      ['/v1/score', '{"model":"m","text_1":"a","text_2":["b"]}'],
      ['/v1/audio/speech', '{"model":"m","input":"say this","voice":"x"}'],
      ['/tokenize', '{"model":"m","prompt":"hi"}'],
      ['/detokenize', '{"model":"m","tokens":[1,2,3]}'],
    ];
    for (const [path, body] of bodies) expect([path, (await send(url, path, body)).status]).toEqual([path, 200]);
    expect(engine.received.map(({ url: at, body }) => [at, body])).toEqual(bodies);
    // Each was weighed by its prompt: nothing counts as empty.
    expect(router!.records.every(({ input_tokens = 0 }) => input_tokens > 0)).toBe(true);
  });

  it('takes forms byte for byte, whose model may be named otherwise upstream', async () => {
    const audio = Buffer.from([0, 1, 254, 255, 13, 10, 45, 45]).toString('latin1');
    const form = (model: string): string =>
      `--X\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n${audio}\r\n` +
      `--X\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--X--\r\n`;
    const url = await start(routerConfig(), { model: 'openai/whisper-large-v3' });
    for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) {
      engine.received.length = 0;
      const answer = await send(url, path, Buffer.from(form('m'), 'latin1'), {
        'content-type': 'multipart/form-data; boundary=X',
      });
      expect([answer.status, engine.received[0]!.url]).toEqual([200, path]);
      expect(engine.received[0]!.body).toBe(Buffer.from(form('openai/whisper-large-v3'), 'latin1').toString());
      expect(engine.received[0]!.headers['content-type']).toBe('multipart/form-data; boundary=X');
    }
    const wrong = await send(url, '/v1/audio/transcriptions', chatBody());
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining('"code":"invalid_multipart"')]);
  });

  it('passes sound through as it is', async () => {
    const url = await start();
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.write(Buffer.from([255, 251, 1]));
      response.end(Buffer.from([2, 3]));
    };
    const answer = await send(url, '/v1/audio/speech', '{"model":"m","input":"x"}');
    expect([answer.status, answer.headers['content-type'], answer.isCut]).toEqual([200, 'audio/mpeg', false]);
  });

  it('knows its own prompt: a member of another API counts for nothing', async () => {
    const url = await start();
    await send(url, '/v1/chat/completions', chatBody());
    await send(url, '/v1/chat/completions', chatBody({ prompt: 'x'.repeat(40_000), input: 'x'.repeat(40_000) }));
    const [plain, padded] = await Promise.resolve(router!.records.map(({ expected_ttft_ms }) => expected_ttft_ms));
    expect(padded).toBeLessThan(2 * plain! + 5);
  });
});

describe('members that a route may allow', () => {
  it('pass for the models that the configuration names, and for no other', async () => {
    const config = routerConfig({ requests: { models: { m: { allowMembers: ['chat_template'] } } } });
    const url = await start(config);
    const body = chatBody({ chat_template: 'T', mm_processor_kwargs: { a: 1 }, cache_salt: 's' });
    await send(url, '/v1/chat/completions', body);
    expect(JSON.parse(engine.received[0]!.body)).toEqual({ ...JSON.parse(chatBody()), chat_template: 'T' });
    expect(
      (await send(url, '/v1/chat/completions', body.replace('"cache_salt"', '"chat_template":"U","cache_salt"'))).status,
    ).toBe(400);
    await router!.router.close();
    await send(await start(), '/v1/chat/completions', body);
    expect(JSON.parse(engine.received[1]!.body)).toEqual(JSON.parse(chatBody()));
  });

  it('and images from elsewhere likewise', async () => {
    const image = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://10.0.0.1/a.png' } }] }] };
    const url = await start(routerConfig({ requests: { media: 'dataUrlsOnly' } }));
    const refused = await send(url, '/v1/chat/completions', chatBody(image));
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('"code":"media_not_allowed"')]);
    expect(engine.received).toHaveLength(0);
    expect((await send(url, '/v1/chat/completions', chatBody())).status).toBe(200);
  });
});

describe('headers', () => {
  it('of hop-by-hop, internal and credential kinds end here, also those that Connection names; the rest pass', async () => {
    const url = await start();
    await send(url, '/v1/chat/completions', chatBody(), {
      connection: 'close, X-Secret, authorization',
      'x-secret': '1',
      authorization: 'Bearer x',
      cookie: 'a=b',
      te: 'trailers',
      'x-data-parallel-rank': '1',
      'x-kvasir-tenant': 'red',
      'x-prefiller-host-port': '1.2.3.4:5',
      'x-forwarded-for': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      origin: 'https://evil.example',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'x-request-id': '___prefill_addr_1.2.3.4:5___',
    });
    const { headers } = engine.received[0]!;
    expect(Object.keys(headers).sort()).toEqual(
      ['connection', 'content-length', 'content-type', 'host', 'traceparent', 'x-request-id'].sort(),
    );
    expect(headers['x-request-id']).not.toContain('prefill');
    expect(headers.host).toBe(`127.0.0.1:${engine.port}`);
  });

  it('of a proxy are believed when its address is trusted, and end with it', async () => {
    const told = { 'x-forwarded-for': '6.6.6.6', 'x-forwarded-proto': 'https', forwarded: 'for=6.6.6.6' };
    for (const [trustedProxies, expected] of [
      [['127.0.0.0/8'], { 'x-forwarded-for': '6.6.6.6, 127.0.0.1', 'x-forwarded-proto': 'https', forwarded: 'for=6.6.6.6' }],
      [['10.0.0.0/8', 'fd00::/8'], {}],
    ] as const) {
      engine.received.length = 0;
      const url = await start(routerConfig({ trustedProxies: trustedProxies as never }));
      await send(url, '/v1/chat/completions', chatBody(), told);
      const { headers } = engine.received[0]!;
      const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => /forwarded/.test(name)));
      expect(passed).toEqual(expected);
      await router!.router.close();
    }
  });

  it('refuses a trusted range that is none, by its place', async () => {
    await expect(start(routerConfig({ trustedProxies: ['10.0.0.1', '10.0.0.0/64'] as never }))).rejects.toThrow(
      'trustedProxies[1]: "10.0.0.0/64" is no address and no range; write an address such as 10.0.0.1, or a range such as 10.0.0.0/8 [config/invalid-value]',
    );
    router = undefined;
  });
});

describe('pages of other origins', () => {
  const preflight = {
    origin: 'https://chat.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type',
  };

  it('are told nothing unless the configuration names them, whatever an engine says', async () => {
    const url = await start();
    engine.answer = (_request, response) => response.writeHead(200, { 'access-control-allow-origin': '*' }).end('{}');
    const answer = await send(url, '/v1/chat/completions', chatBody(), { origin: 'https://chat.example' });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect((await send(url, '/v1/chat/completions', undefined, preflight, 'OPTIONS')).status).toBe(405);
  });

  it('are answered before credentials are asked for, on answers and on errors', async () => {
    const url = await start(routerConfig({ cors: { origins: ['https://chat.example'], maxAgeSeconds: 60 } as never }));
    const asked = await send(url, '/v1/chat/completions', undefined, preflight, 'OPTIONS');
    expect([asked.status, asked.headers]).toMatchObject([
      204,
      {
        'access-control-allow-origin': 'https://chat.example',
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '60',
        vary: 'origin',
      },
    ]);
    expect((await send(url, '/sleep', undefined, preflight, 'OPTIONS')).status).toBe(404);
    const other = await send(url, '/v1/chat/completions', undefined, { ...preflight, origin: 'https://evil.example' }, 'OPTIONS');
    expect(other.headers['access-control-allow-origin']).toBeUndefined();
    for (const body of [chatBody(), '{"model":"none"}']) {
      const answer = await send(url, '/v1/chat/completions', body, { origin: 'https://chat.example' });
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': 'https://chat.example',
        'access-control-expose-headers': 'x-request-id, retry-after',
      });
    }
    expect(engine.received).toHaveLength(1);
  });

  it('may be every one', async () => {
    const url = await start(routerConfig({ cors: { origins: ['*'], maxAgeSeconds: 600 } as never }));
    expect(
      (await send(url, '/v1/models', undefined, { origin: 'https://any.example' })).headers['access-control-allow-origin'],
    ).toBe('*');
  });
});

describe('HTTP that two readers could read differently', () => {
  const body = chatBody();
  const post = (headers: string, payload = body): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n${payload}`;
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

  it('is refused with 400, and the connection ends', async () => {
    const url = await start();
    const attacks: readonly (readonly [string, string])[] = [
      ['both lengths', post(`content-length: ${chunked.length}\r\ntransfer-encoding: chunked`, chunked)],
      ['two content lengths', post(`content-length: ${body.length}\r\ncontent-length: ${body.length + 1}`)],
      ['a signed length', post(`content-length: +${body.length}`)],
      ['a list of lengths', post(`content-length: ${body.length}, ${body.length}`)],
      ['a folded header', post(`content-length: ${body.length}\r\nx: a\r\n b`)],
      ['a bare return', post(`content-length: ${body.length}\r\nx: a\rb`)],
      ['a NUL', post(`content-length: ${body.length}\r\nx: a\0b`)],
      ['white space before a colon', post('transfer-encoding : chunked', chunked)],
      ['an unknown transfer encoding last', post('transfer-encoding: chunked, identity', chunked)],
      ['a chunk size that overflows', post('transfer-encoding: chunked', `ffffffffffffffff1\r\n${body}\r\n0\r\n\r\n`)],
      ['bare line feeds', post(`content-length: ${body.length}`).replaceAll('\r\n', '\n')],
      ['no host', `POST /v1/chat/completions HTTP/1.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`],
    ];
    for (const [what, bytes] of attacks) {
      const answer = await raw(url, `${bytes}POST /sleep HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`);
      expect([what, answer.slice(0, 13)]).toEqual([what, 'HTTP/1.1 400 ']);
      expect([what, answer.match(/^HTTP\/1\.1/gm)!.length]).toEqual([what, 1]);
    }
    expect(engine.received).toHaveLength(0);
  });

  it('a head that does not come is given up', async () => {
    const url = await start(routerConfig({ deadlines: { requestHeadMs: 100 } }));
    expect(await raw(url, 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx: a')).toMatch(/^HTTP\/1\.1 408 /);
  });
});
