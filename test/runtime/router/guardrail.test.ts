import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GuardrailConfig } from '../../../src/config/guardrail-config';
import { parseRouterConfig } from '../../../src/config/router-config';
import {
  chatBody,
  type ReceivedRequest,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';

const CHAT = '/v1/chat/completions';
const TLS = join(__dirname, '../../fixtures/tls');

/** What a question was, and how it is answered. */
interface Question {
  readonly phase: 'before' | 'after';
  readonly texts?: readonly string[];
  readonly isWhole?: boolean;
  readonly request?: { readonly messages?: readonly { readonly content: string }[] };
  readonly [name: string]: unknown;
}

let at: TestRouter;
let engine: TestEngine;
let guard: TestEngine;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  await until(() => at.router.load().activeRequests === 0, 'no request is left');
  expect(Object.values(at.router.load()).every((value) => value === 0)).toBe(true);
  for (const close of closers.splice(0).reverse()) await close();
});

const questions = (): readonly Question[] => guard.received.map(({ body }) => JSON.parse(body) as Question);

/** Allows everything without the word. */
function judge(_request: ReceivedRequest, response: ServerResponse): void {
  const isBad = /forbidden/.test(_request.body);
  response.end(JSON.stringify(isBad ? { action: 'refuse', message: 'that word is not said here' } : { action: 'allow' }));
}

const document = (content: string) => (_request: ReceivedRequest, response: ServerResponse) => {
  const choices = [{ index: 0, message: { role: 'assistant', content } }];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ choices, usage: { prompt_tokens: 1, completion_tokens: 2 } }));
};

const event = (content: string): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

async function start(
  guardrail: Partial<GuardrailConfig> = {},
  answer = document('hello'),
  tls?: ConstructorParameters<typeof TestEngine>[1],
) {
  engine = await new TestEngine(answer).start();
  guard = await new TestEngine(judge, tls).start();
  closers.push(
    () => engine.kill(),
    () => guard.kill(),
  );
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${guard.port}/check`;
  const decoded = parseRouterConfig(JSON.stringify({ guardrail: { url, ...guardrail }, accessLog: { enabled: false } }));
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  at = await startTestRouter({ engines: [engine], config: decoded.config });
  closers.push(() => at.router.close());
}

const ask = (extra: object = {}, path = CHAT) => send(at.url, path, chatBody(extra));

async function metric(name: string): Promise<readonly string[]> {
  const page = (await send(`http://127.0.0.1:${at.router.metricsAddress.port}`, '/metrics')).body;
  return page.split('\n').filter((line) => line.startsWith(`${name}{`));
}

describe('before', () => {
  it('an allowed request is served, and the service saw it as it came', async () => {
    await start();
    const answer = await ask({ seed: 1 });
    expect([answer.status, engine.received.length]).toEqual([200, 1]);
    expect(questions()).toEqual([
      {
        phase: 'before',
        requestId: answer.headers['x-request-id'],
        model: 'm',
        path: CHAT,
        request: { model: 'm', messages: [{ role: 'user', content: 'hello' }], seed: 1 },
      },
    ]);
    expect(await metric('kvasir_router_guardrail_verdicts_total')).toEqual([
      'kvasir_router_guardrail_verdicts_total{phase="before",verdict="allow"} 1',
    ]);
  });

  it('a refused request reaches no engine, and its client reads why', async () => {
    await start();
    const answer = await ask({ messages: [{ role: 'user', content: 'forbidden' }] });
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([
      400,
      expect.objectContaining({
        code: 'content_filter',
        message: 'the request was refused: that word is not said here; change what you ask for',
      }),
    ]);
    expect(engine.received).toEqual([]);
    expect(at.records[0]).toMatchObject({ status_code: 400 });
  });

  it('only the models that are named are judged', async () => {
    await start({ models: ['another'] });
    expect((await ask({ messages: [{ role: 'user', content: 'forbidden' }] })).status).toBe(200);
    expect(questions()).toEqual([]);
  });

  it.each([
    ['silent', (): void => undefined],
    ['one that fails', (_: ReceivedRequest, response: ServerResponse) => response.writeHead(500).end('{"action":"allow"}')],
    ['one that speaks otherwise', (_: ReceivedRequest, response: ServerResponse) => response.end('{"verdict":"fine"}')],
    ['one that speaks no JSON', (_: ReceivedRequest, response: ServerResponse) => response.end('fine')],
    ['one that says too much', (_: ReceivedRequest, response: ServerResponse) => response.end(`{"x":"${'x'.repeat(70_000)}"}`)],
  ])('of a service that is %s nothing is taken for a yes, unless the configuration says so', async (_name, answer) => {
    await start({ timeoutMs: 100 });
    guard.answer = answer as typeof judge;
    const refused = await ask();
    expect([refused.status, JSON.parse(refused.body).error.code, refused.headers['retry-after']]).toEqual([
      503,
      'guardrail_unavailable',
      '1',
    ]);
    expect(engine.received).toEqual([]);
    await at.router.reconfigure({
      kind: 'valid',
      config: { ...at.router.config, guardrail: { ...at.router.config.guardrail!, onFailure: 'allow' } },
    });
    expect((await ask()).status).toBe(200);
    expect(await metric('kvasir_router_guardrail_verdicts_total')).toEqual([
      'kvasir_router_guardrail_verdicts_total{phase="before",verdict="failure"} 2',
    ]);
  });

  it('a service behind TLS is asked with a token, both read from files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kvasir-guardrail-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'first\n');
    const tls = { key: readFileSync(join(TLS, 'server-key.pem'), 'utf8'), cert: readFileSync(join(TLS, 'server.pem'), 'utf8') };
    await start({ tokenFile, caFile: join(TLS, 'authority.pem') }, undefined, tls);
    expect((await ask()).status).toBe(200);
    writeFileSync(tokenFile, 'second\n');
    expect((await ask()).status).toBe(200);
    expect(guard.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  });
});

describe('after, a document', () => {
  it('reaches the client when it is allowed, byte for byte', async () => {
    await start({ phases: ['after'] });
    const answer = await ask();
    expect([answer.status, JSON.parse(answer.body).choices[0].message.content]).toEqual([200, 'hello']);
    expect(questions()).toEqual([expect.objectContaining({ phase: 'after', texts: ['hello'], isWhole: true })]);
  });

  it('that is refused is an error in the client’s dialect, and its tokens are counted', async () => {
    await start({ phases: ['after'] }, document('the forbidden word'));
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('the answer was refused')]);
    expect(answer.body).not.toContain('the forbidden word');
    expect(at.records[0]).toMatchObject({ status_code: 400, output_tokens: 2 });
  });

  it('without text is not asked about', async () => {
    await start({ phases: ['after'] }, (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: [{ embedding: [0.1, 0.2] }] }));
    });
    expect((await send(at.url, '/v1/embeddings', JSON.stringify({ model: 'm', input: 'x' }))).status).toBe(200);
    expect(questions()).toEqual([]);
  });

  it.each([
    ['refuse', 503],
    ['allow', 200],
  ] as const)('that is too long to be judged: %s', async (onFailure, status) => {
    await start({ phases: ['after'], answerBytes: 100, onFailure }, document('x'.repeat(200)));
    const answer = await ask();
    expect([answer.status, answer.body.includes('xxxx')]).toEqual([status, status === 200]);
    expect(questions()).toEqual([]);
  });

  it('in pieces is judged as a whole', async () => {
    await start({ phases: ['after'] }, (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.write('{"choices":[{"index":0,"text":"forb');
      setTimeout(() => response.end('idden"}]}'), 20);
    });
    expect((await ask()).status).toBe(400);
  });
});

describe('after, a stream', () => {
  const stream =
    (...pieces: readonly string[]) =>
    (_request: ReceivedRequest, response: ServerResponse): void => {
      response.setHeader('content-type', 'text/event-stream');
      const next = (index: number): void => {
        if (index === pieces.length) response.end();
        else {
          response.write(pieces[index]);
          setTimeout(() => next(index + 1), 5);
        }
      };
      next(0);
    };

  it('passes window by window, byte for byte, each judged with what was before it', async () => {
    const pieces = [event('one '), event('two '), event('three'), 'data: [DONE]\n\n'];
    await start({ phases: ['after'], streamWindowCharacters: 8 }, stream(...pieces));
    expect((await ask({ stream: true })).body).toBe(pieces.join(''));
    expect(questions().map(({ texts, isWhole }) => [texts, isWhole])).toEqual([
      [['one two '], false],
      [['one two three'], true],
    ]);
  });

  it('ends with an error event before the refused window, and its engine is told to stop', async () => {
    let isCut = false;
    await start({ phases: ['after'], streamWindowCharacters: 5 }, (request, response) => {
      response.on('close', () => {
        isCut = !response.writableFinished;
      });
      stream(event('hello '), event('forbidden '), ...Array.from({ length: 400 }, () => event('more ')))(request, response);
    });
    const answer = await ask({ stream: true });
    expect(answer.body.startsWith(event('hello '))).toBe(true);
    expect(answer.body.slice(event('hello ').length).trim()).toMatch(
      /^data: \{"error":\{.*the answer was refused.*"content_filter"\}\}$/,
    );
    await until(() => isCut, 'the engine is cut');
    expect(at.records[0]).toMatchObject({ status_code: 200 });
  });

  it('whose first window is refused is an error with a status', async () => {
    await start({ phases: ['after'] }, stream(event('for'), event('bidden'), 'data: [DONE]\n\n'));
    const answer = await ask({ stream: true });
    expect([answer.status, answer.headers['content-type']]).toEqual([400, 'application/json']);
  });

  it('lets nothing pass that is cut inside an event before the event is judged', async () => {
    const bad = event('forbidden');
    for (let cut = 1; cut < bad.length; cut += 7) {
      const pieces = [event('fine words '), bad.slice(0, cut), bad.slice(cut), 'data: [DONE]\n\n'];
      await start({ phases: ['after'], streamWindowCharacters: 2 }, stream(...pieces));
      expect((await ask({ stream: true })).body).not.toContain('forbidden"');
      await until(() => at.router.load().activeRequests === 0, 'no request is left');
      for (const close of closers.splice(0).reverse()) await close();
    }
  });

  it('text after the last whole event is judged too', async () => {
    await start({ phases: ['after'], streamWindowCharacters: 4 }, stream(event('fine'), event('forbidden').trimEnd()));
    expect((await ask({ stream: true })).body).not.toContain('forbidden"');
  });

  it('of choices that are told at the same time, each is a text of its own', async () => {
    const choice = (index: number, content: string) =>
      `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`;
    await start(
      { phases: ['after'] },
      stream(choice(0, 'a'), choice(1, 'x'), choice(0, 'b'), choice(1, 'y'), 'data: [DONE]\n\n'),
    );
    await ask({ stream: true, n: 2 });
    expect(questions().map(({ texts }) => texts)).toEqual([['ab', 'xy']]);
  });

  it('longer than a slow client reads it makes its engine wait, and arrives whole', async () => {
    const big = event('x'.repeat(64 * 1024));
    const events = 200;
    let written = 0;
    await start({ phases: ['after'], answerBytes: 2 ** 30, streamWindowCharacters: 200_000 }, (_request, response) => {
      response.setHeader('content-type', 'text/event-stream');
      const next = (): void => {
        while (written < events) {
          written += 1;
          if (!response.write(big)) {
            response.once('drain', next);
            return;
          }
        }
        response.end('data: [DONE]\n\n');
      };
      next();
    });
    const received = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${at.url}${CHAT}`, { method: 'POST', headers: { 'content-type': 'application/json' } });
      request.on('response', (response) => {
        let bytes = 0;
        setTimeout(() => {
          // The rest of it is in sockets and windows.
          expect(written).toBeLessThan(events);
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
          });
        }, 500);
        response.on('end', () => resolve(bytes));
        response.on('error', reject);
      });
      request.end(chatBody({ stream: true }));
    });
    expect(received).toBe(big.length * events + 'data: [DONE]\n\n'.length);
  });

  it('of a client that leaves is over', async () => {
    await start({ phases: ['after'], streamWindowCharacters: 1 }, stream(...Array.from({ length: 1_000 }, () => event('word '))));
    const request = httpRequest(`${at.url}${CHAT}`, { method: 'POST', headers: { 'content-type': 'application/json' } });
    request.on('error', () => undefined);
    request.on('response', (response) => response.once('data', () => request.destroy()));
    request.end(chatBody({ stream: true }));
    await until(() => at.records.length === 1, 'the request is over');
    await until(() => engine.active === 0, 'the engine is cut');
  });
});
