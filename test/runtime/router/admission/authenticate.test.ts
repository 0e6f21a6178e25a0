import { randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import type { Clock } from '../../../../runtime/lib/clock';
import { createLogger, silentLogger } from '../../../../runtime/lib/logger';
import { Metrics } from '../../../../runtime/lib/metrics';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import { createAuthentication } from '../../../../runtime/router/admission/authenticate';
import type { Identity } from '../../../../runtime/router/admission/identity';
import { RouterError } from '../../../../runtime/router/errors';
import { decodeRouterConfig, type RouterConfig } from '../../../../src/config/router-config';
import { Labels } from '../../../../src/labels';
import { ManifestFolder } from '../../../helpers/manifest-folder';
import { sendRaw } from '../../../helpers/raw-http';
import { chatBody, send, startTestRouter, TestEngine, type TestRouter, until } from '../../../helpers/router-harness';
import { AUDIENCE, ISSUER, TokenIssuer } from '../../../helpers/token-issuer';

const CHAT = '/v1/chat/completions';
const KEYS_LABEL = `${Labels.apiKeys}=true`;

/** A wall clock that a test can put forward; timers do not notice. */
class JumpingClock implements Clock {
  private readonly wall = wallClock();
  private aheadMs = 0;
  readonly after = this.wall.after.bind(this.wall);
  now = (): number => this.wall.now() + this.aheadMs;
  monotonic = (): number => this.wall.monotonic() + this.aheadMs;

  jump(ms: number): void {
    this.aheadMs += ms;
  }
}

let engine: TestEngine;
let issuer: TokenIssuer;
const routers: TestRouter[] = [];
/** Issuers of single tests: an open server would keep the process. */
const issuers: TokenIssuer[] = [];

beforeAll(async () => {
  engine = await new TestEngine((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  }).start();
  issuer = await TokenIssuer.start();
});

beforeEach(() => {
  engine.received.length = 0;
  issuer.fetches = 0;
});

afterEach(async () => {
  issuer.answer = undefined;
  await Promise.all(routers.splice(0).map(({ router }) => router.close()));
  await Promise.all(issuers.splice(0).map((each) => each.close()));
});

afterAll(async () => {
  await issuer?.close();
  await engine?.kill();
});

function configured(document: object): RouterConfig {
  const decoded = decodeRouterConfig({ accessLog: { enabled: false }, ...document });
  if (decoded.kind === 'invalid') throw new Error(decoded.findings[0]!.message);
  return decoded.config;
}

const tokensOf = (uri: string, more: object = {}) => ({ issuer: ISSUER, audiences: [AUDIENCE], jwksUri: uri, ...more });

async function start(
  auth: object,
  options: Partial<Parameters<typeof startTestRouter>[0]> & { readonly more?: object } = {},
): Promise<TestRouter> {
  const { more, ...rest } = options;
  const started = await startTestRouter({ engines: [engine], config: configured({ auth, ...more }), ...rest });
  routers.push(started);
  return started;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

interface Refusal {
  readonly message: string;
  readonly code: string;
  readonly type: string;
}
const refusalOf = (body: string): Refusal => (JSON.parse(body) as { error: Refusal }).error;

/** The router's own metrics page. */
async function metricsOf({ router }: TestRouter): Promise<string> {
  return (await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics')).body;
}

const KEY_A = 'sk-team-a-00000000000000001';
const KEY_B = 'sk-team-b-00000000000000002';

describe('tokens', () => {
  it('of the issuer let a request through, once for all its requests', async () => {
    const { url } = await start(tokensOf(issuer.jwksUri));
    const token = await issuer.sign();
    for (let n = 0; n < 3; n++) expect((await send(url, CHAT, chatBody(), bearer(token))).status).toBe(200);
    expect(engine.received).toHaveLength(3);
    expect(issuer.fetches).toBe(1);
  });

  it.each<[string, JWTPayload]>([
    ['for several audiences, one of which is ours', { aud: ['other', AUDIENCE] }],
    ['that ended half a minute ago, since clocks differ', { exp: Math.floor(Date.now() / 1000) - 30 }],
    ['that begin in half a minute', { nbf: Math.floor(Date.now() / 1000) + 30 }],
    ['that do not say when they were issued', { iat: undefined }],
  ])('%s are taken', async (_name, claims) => {
    const { url } = await start(tokensOf(issuer.jwksUri));
    expect((await send(url, CHAT, chatBody(), bearer(await issuer.sign(claims)))).status).toBe(200);
  });

  it('for any audience are taken where none is configured, and the scheme’s name may have any case', async () => {
    const { url } = await start(tokensOf(issuer.jwksUri, { audiences: [] }));
    const token = await issuer.sign({ aud: 'somebody' });
    expect((await send(url, CHAT, chatBody(), { authorization: `bEARER   ${token}` })).status).toBe(200);
  });
});

describe('tokens', () => {
  let started: TestRouter;
  beforeAll(async () => {
    started = await startTestRouter({ engines: [engine], config: configured({ auth: tokensOf(issuer.jwksUri) }) });
  });
  afterAll(() => started?.router.close());

  const now = (): number => Math.floor(Date.now() / 1000);
  /** Signed with the published key as if it were a shared secret. */
  const confused = (): Promise<string> =>
    new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: 'eve', exp: now() + 600 })
      .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
      .sign(Buffer.from(JSON.stringify(issuer.published.get('k1'))));
  const unsigned = (): string => new UnsecuredJWT({ iss: ISSUER, aud: AUDIENCE, sub: 'eve', exp: now() + 600 }).encode();
  const changed = async (): Promise<string> => {
    const [head, , signature] = (await issuer.sign()).split('.');
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: 'root', exp: now() + 600 };
    return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
  };
  const foreign = async (): Promise<string> => {
    const other = await TokenIssuer.start();
    await other.close();
    return other.sign();
  };

  it.each<[string, () => string | Promise<string>, RegExp]>([
    ['that expired', () => issuer.sign({ exp: now() - 90 }), /it has expired/],
    ['without an end', () => issuer.sign({ exp: undefined }), /it has no end/],
    ['that are not valid yet', () => issuer.sign({ nbf: now() + 90 }), /it is not valid yet/],
    ['issued in the future', () => issuer.sign({ iat: now() + 90 }), /it was issued in the future/],
    ['of another issuer', () => issuer.sign({ iss: `${ISSUER}2` }), /it is of another issuer/],
    ['of nobody', () => issuer.sign({ iss: undefined }), /it is of another issuer/],
    ['for another audience', () => issuer.sign({ aud: 'other' }), /it is for another audience/],
    ['for no audience', () => issuer.sign({ aud: undefined }), /it is for another audience/],
    ['without a subject', () => issuer.sign({ sub: undefined }), /it has no sub/],
    ['that name no key', () => issuer.sign({}, 'k1', { kid: undefined }), /its head names no key/],
    ['of an unknown key', () => issuer.sign({}, 'k1', { kid: 'k0' }), /it is signed with an unknown key/],
    ['signed by somebody else under a known name', foreign, /its signature is wrong/],
    ['that were changed', changed, /its signature is wrong/],
    ['without a signature (alg none)', unsigned, /its signature algorithm is not accepted/],
    ['signed with the public key as a secret (HS256)', confused, /its signature algorithm is not accepted/],
    ['that are none', () => 'sk-something', /it is malformed/],
    ['with claims that are no object', () => `${Buffer.from('{"alg":"ES256","kid":"k1"}').toString('base64url')}.W10.AA`, /it/],
    ['longer than 16 KiB', () => issuer.sign({ pad: 'x'.repeat(17_000) }), /it is longer than 16384 characters/],
  ])('%s are refused before a body is read', async (_name, make, reason) => {
    const answer = await send(started.url, CHAT, chatBody(), bearer(await make()));
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="kvasir", error="invalid_token"');
    expect(refusalOf(answer.body)).toMatchObject({
      code: 'invalid_token',
      type: 'invalid_request_error',
      message: expect.stringMatching(reason),
    });
    expect(engine.received).toHaveLength(0);
  });

  it('that were refused are counted', async () => {
    expect(await metricsOf(started)).toMatch(/kvasir_router_authentication_refusals_total\{code="invalid_token"\} \d+/);
  });

  it('with another algorithm than the configured ones are refused', async () => {
    const { url } = await start(tokensOf(issuer.jwksUri, { algorithms: ['RS256'] }));
    const answer = await send(url, CHAT, chatBody(), bearer(await issuer.sign()));
    expect([answer.status, refusalOf(answer.body).message]).toEqual([401, expect.stringContaining('algorithm is not accepted')]);
  });

  it.each([
    ['no Authorization', {}],
    ['another scheme', { authorization: 'Basic YTpi' }],
    ['no token', { authorization: 'Bearer' }],
    ['two tokens', { authorization: 'Bearer a b' }],
  ])('%s is asked for one', async (_name, headers: Record<string, string>) => {
    const { url } = started;
    const answer = await send(url, CHAT, chatBody(), headers);
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer realm="kvasir"']);
    expect(refusalOf(answer.body).code).toBe('missing_credentials');
    const anthropic = await send(url, '/v1/messages', chatBody(), headers);
    expect([anthropic.status, JSON.parse(anthropic.body)]).toEqual([
      401,
      { type: 'error', error: { type: 'authentication_error', message: expect.any(String) } },
    ]);
  });

  it('say which models may be used, and who pays, by the claims that the configuration names', async () => {
    const claims = { models: 'https://example.com/models', tenant: 'org' };
    const { url } = await start(tokensOf(issuer.jwksUri, { claims }));
    const with_ = async (models: unknown) =>
      (await send(url, CHAT, chatBody(), bearer(await issuer.sign({ 'https://example.com/models': models })))).status;
    expect([await with_('x m'), await with_(['m']), await with_(['*']), await with_('mm'), await with_(7)]).toEqual([
      200, 200, 200, 403, 403,
    ]);
    expect((await send(url, CHAT, chatBody(), bearer(await issuer.sign()))).status).toBe(403);
  });
});

describe('a stranger', () => {
  it('never gets 100 Continue, and its body is never taken', async () => {
    const { router } = await start(tokensOf(issuer.jwksUri));
    for (const credentials of ['', `authorization: Bearer ${await issuer.sign({ exp: 1 })}\r\n`]) {
      const answer = await sendRaw(
        router.address.port,
        `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\nexpect: 100-continue\r\n${credentials}\r\n`,
      );
      expect([answer.status, answer.headers.connection]).toEqual([401, 'close']);
    }
    expect(router.load()).toMatchObject({ bodyBytes: 0, permits: 0, activeRequests: 0 });
  });

  it('is refused on every path except health (B1: paths outside /v1 were open)', async () => {
    const { url } = await start(tokensOf(issuer.jwksUri), { more: { paths: ['/pooling', '/chat'] } });
    for (const path of ['/tokenize', '/pooling', '/chat', '/v1/embeddings', '/v1/messages', '/%761/chat/completions']) {
      expect([path, (await send(url, path, chatBody())).status]).toEqual([path, 401]);
    }
    for (const path of ['/v1/models', '/v1/models/m']) expect([path, (await send(url, path)).status]).toEqual([path, 401]);
    for (const path of ['/healthz', '/readyz']) expect([path, (await send(url, path)).status]).toEqual([path, 200]);
    expect(engine.received).toHaveLength(0);
  });

  it('who is not known needs no credentials where they are not required; wrong ones are refused still', async () => {
    const { url } = await start(tokensOf(issuer.jwksUri, { required: false }));
    expect((await send(url, CHAT, chatBody())).status).toBe(200);
    expect((await send(url, CHAT, chatBody(), bearer('nonsense'))).status).toBe(401);
  });
});

describe('B26: the issuer’s keys', () => {
  it('that cannot be had at the start make 503, not 401, and are had as soon as the issuer is back', async () => {
    const late = await TokenIssuer.start();
    issuers.push(late);
    const token = await late.sign();
    await late.close();
    const started = await start(tokensOf(late.jwksUri), { clock: wallClock(20) });
    const answer = await send(started.url, CHAT, chatBody(), bearer(token));
    expect([answer.status, answer.headers['retry-after'], refusalOf(answer.body).code]).toEqual([503, '1', 'auth_unavailable']);
    expect(answer.headers['www-authenticate']).toBeUndefined();
    expect(answer.body).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
    expect([started.router.isReady(), (await send(started.url, '/readyz')).status]).toEqual([false, 503]);
    await late.listen();
    await until(() => started.router.isReady(), 'the keys are there');
    expect((await send(started.url, CHAT, chatBody(), bearer(token))).status).toBe(200);
    expect(await metricsOf(started)).toMatch(/kvasir_router_jwks_fetches_total\{outcome="failed"\} [1-9]/);
  });

  it('are waited for by requests that come while they are fetched first', async () => {
    let release: (() => void) | undefined;
    issuer.answer = (response) => {
      release = () => response.end(JSON.stringify({ keys: [...issuer.published.values()] }));
    };
    const { url } = await start(tokensOf(issuer.jwksUri));
    const answers = Promise.all([1, 2, 3].map(async () => send(url, CHAT, chatBody(), bearer(await issuer.sign()))));
    await until(() => release !== undefined, 'the fetch');
    release!();
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(issuer.fetches).toBe(1);
  });

  it('that never come end the wait at the timeout with 503', async () => {
    issuer.answer = () => undefined;
    const { url } = await start(tokensOf(issuer.jwksUri, { jwks: { timeoutMs: 100 } }));
    expect((await send(url, CHAT, chatBody(), bearer(await issuer.sign()))).status).toBe(503);
  });

  it('that are new are noticed with the first token that names one', async () => {
    const clock = new JumpingClock();
    const { url } = await start(tokensOf(issuer.jwksUri), { clock });
    expect((await send(url, CHAT, chatBody(), bearer(await issuer.sign()))).status).toBe(200);
    await issuer.addKey('rotated', 'RS256');
    clock.jump(30_000);
    expect((await send(url, CHAT, chatBody(), bearer(await issuer.sign({}, 'rotated')))).status).toBe(200);
    expect(issuer.fetches).toBe(2);
  });

  it('are not fetched more often for tokens with made-up names of keys', async () => {
    const clock = new JumpingClock();
    const { url } = await start(tokensOf(issuer.jwksUri), { clock });
    const flood = () =>
      Promise.all(
        Array.from({ length: 100 }, async () =>
          send(url, CHAT, chatBody(), bearer(await issuer.sign({}, 'k1', { kid: randomUUID() }))),
        ),
      );
    expect(new Set((await flood()).map(({ status }) => status))).toEqual(new Set([401]));
    expect(issuer.fetches).toBe(1);
    clock.jump(30_000);
    await flood();
    expect(issuer.fetches).toBe(2);
    expect((await send(url, CHAT, chatBody(), bearer(await issuer.sign()))).status).toBe(200);
  });

  it.each<[string, (response: Parameters<NonNullable<TokenIssuer['answer']>>[0]) => void]>([
    ['is down', (response) => response.destroy()],
    ['answers with an error', (response) => response.writeHead(500).end('{"keys":[]}')],
    ['answers with something else', (response) => response.end('<html>')],
    ['answers with no key', (response) => response.end('{"keys":[]}')],
    ['answers with a shared secret', (response) => response.end('{"keys":[{"kty":"oct","kid":"k1","k":"AAAA"}]}')],
  ])('of before stay when the issuer %s', async (_name, answer) => {
    const clock = new JumpingClock();
    const started = await start(tokensOf(issuer.jwksUri), { clock });
    const first = await issuer.sign();
    expect((await send(started.url, CHAT, chatBody(), bearer(first))).status).toBe(200);
    issuer.answer = answer;
    clock.jump(30_000);
    const unknown = await send(started.url, CHAT, chatBody(), bearer(await issuer.sign({}, 'k1', { kid: 'k0' })));
    expect([unknown.status, issuer.fetches]).toEqual([401, 2]);
    const again = await send(started.url, CHAT, chatBody(), bearer(await issuer.sign({ sub: 'bob' })));
    expect(again.status).toBe(200);
    expect(await metricsOf(started)).toContain('kvasir_router_jwks_fetches_total{outcome="failed"} 1');
  });
});

describe('B27: credentials', () => {
  it('end at the router, under whatever name they came', async () => {
    const started = await start({ ...tokensOf(issuer.jwksUri), apiKeys: { header: 'x-team-key' } });
    started.cluster.putSecret('system/keys', KEYS_LABEL, { a: KEY_A });
    const token = await issuer.sign();
    const all = { 'x-team-key': KEY_A, ...bearer(token), cookie: `t=${token}`, 'proxy-authorization': token, 'api-key': KEY_A };
    expect((await send(started.url, CHAT, chatBody(), all)).status).toBe(200);
    expect((await send(started.url, CHAT, chatBody(), { 'X-Team-Key': KEY_A, 'X-Other': 'kept' })).status).toBe(200);
    const received = JSON.stringify(engine.received.map(({ headers }) => headers));
    expect(engine.received).toHaveLength(2);
    expect(received).not.toContain(KEY_A);
    expect(received).not.toContain(token);
    expect(received).toContain('kept');
  });
});

describe('API keys', () => {
  const route = { modelName: 'm', loraAdapters: ['m-lora'] };

  async function keyed(data: Readonly<Record<string, string>>, apiKeys: object = {}): Promise<TestRouter> {
    const started = await start({ apiKeys }, { route });
    started.cluster.putSecret('system/keys', KEYS_LABEL, data);
    return started;
  }

  it('come as OpenAI’s clients send them, and as Anthropic’s do', async () => {
    const { url } = await keyed({ a: `${KEY_A}\n`, b: JSON.stringify({ key: KEY_B }) });
    expect((await send(url, CHAT, chatBody(), bearer(KEY_A))).status).toBe(200);
    expect((await send(url, '/v1/messages', chatBody(), { 'x-api-key': KEY_B })).status).toBe(200);
  });

  it('that nobody has are refused, in the client’s dialect', async () => {
    const { url } = await keyed({ a: KEY_A });
    for (const headers of [bearer(KEY_B), { 'x-api-key': KEY_B }, { 'x-api-key': '' }, bearer(KEY_A.slice(0, -1))]) {
      const answer = await send(url, CHAT, chatBody(), headers as Record<string, string>);
      expect([answer.status, refusalOf(answer.body).code]).toEqual([401, 'invalid_api_key']);
      expect(answer.headers['www-authenticate']).toContain('invalid_token');
    }
    const anthropic = await send(url, '/v1/messages', chatBody(), { 'x-api-key': KEY_B });
    expect(JSON.parse(anthropic.body)).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
    expect(engine.received).toHaveLength(0);
  });

  it('count from when their Secret has them until it has them no more', async () => {
    const started = await keyed({});
    const status = async () => (await send(started.url, CHAT, chatBody(), bearer(KEY_A))).status;
    expect(await status()).toBe(401);
    started.cluster.putSecret('system/more', KEYS_LABEL, { a: KEY_A });
    expect(await status()).toBe(200);
    expect(await metricsOf(started)).toContain('kvasir_router_api_keys 1');
    started.cluster.putSecret('system/more', 'other=true', { a: KEY_A });
    expect(await status()).toBe(401);
    started.cluster.putSecret('system/more', KEYS_LABEL, { a: KEY_A });
    expect(await status()).toBe(200);
    started.cluster.putSecret('system/more', KEYS_LABEL, undefined);
    expect(await status()).toBe(401);
  });

  it('are read from a folder of manifests, and follow its files', async () => {
    const folder = new ManifestFolder();
    const secret = (stringData: Readonly<Record<string, string>>) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'keys', namespace: 'system', labels: { [Labels.apiKeys]: 'true' } },
      stringData,
    });
    await folder.put(secret({ a: KEY_A }));
    const cluster = await folder.open();
    const { config } = decodeRouterConfig({ auth: { apiKeys: {} } }) as { config: RouterConfig };
    const metrics = new Metrics();
    const made = createAuthentication({
      auth: config.auth,
      secrets: cluster.secrets,
      clock: folder.clock,
      metrics,
      log: silentLogger(),
    });
    const whose = (key: string) => (made.authenticate({ headers: bearer(key) }) as Identity).user;
    expect(whose(KEY_A)).toBe('a');
    await folder.put(secret({ b: KEY_B }));
    expect(whose(KEY_B)).toBe('b');
    expect(() => whose(KEY_A)).toThrow(RouterError);
    made.close();
    await folder.close();
  });

  it('count only from the Secrets that are named', async () => {
    const started = await keyed({ a: KEY_A }, { secrets: ['system/keys'] });
    started.cluster.putSecret('tenant/keys', KEYS_LABEL, { b: KEY_B });
    expect((await send(started.url, CHAT, chatBody(), bearer(KEY_A))).status).toBe(200);
    expect((await send(started.url, CHAT, chatBody(), bearer(KEY_B))).status).toBe(401);
  });

  it('with models may ask for those, and see no others', async () => {
    const { url } = await keyed({
      a: JSON.stringify({ key: KEY_A, models: ['m'] }),
      b: JSON.stringify({ key: KEY_B, models: ['*'] }),
    });
    const ask = async (model: string, key: string) => send(url, CHAT, chatBody({ model }), bearer(key));
    expect([(await ask('m', KEY_A)).status, (await ask('m-lora', KEY_B)).status]).toEqual([200, 200]);
    const [adapter, nowhere] = [await ask('m-lora', KEY_A), await ask('nowhere', KEY_A)];
    expect([adapter.status, adapter.body]).toEqual([403, nowhere.body]);
    expect(JSON.parse(adapter.body)).toEqual({
      error: {
        message: 'these credentials do not include this model; name a model of /v1/models',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_allowed',
      },
    });
    expect((await ask('nowhere', KEY_B)).status).toBe(404);
    const list = async (key: string) =>
      (JSON.parse((await send(url, '/v1/models', undefined, bearer(key))).body) as { data: { id: string }[] }).data.map(
        ({ id }) => id,
      );
    expect([await list(KEY_A), await list(KEY_B)]).toEqual([['m'], ['m', 'm-lora']]);
    expect((await send(url, '/v1/models/m-lora', undefined, bearer(KEY_A))).status).toBe(404);
    expect((await send(url, '/v1/models/m', undefined, bearer(KEY_A))).status).toBe(200);
  });

  it('and tokens live side by side', async () => {
    const started = await start({ ...tokensOf(issuer.jwksUri), apiKeys: {} });
    started.cluster.putSecret('system/keys', KEYS_LABEL, { a: KEY_A });
    expect((await send(started.url, CHAT, chatBody(), bearer(KEY_A))).status).toBe(200);
    expect((await send(started.url, CHAT, chatBody(), bearer(await issuer.sign()))).status).toBe(200);
    expect(refusalOf((await send(started.url, CHAT, chatBody(), bearer(KEY_B))).body).code).toBe('invalid_token');
  });

  it('and tokens are in no log, no metric and no page', async () => {
    const lines: string[] = [];
    const sink = { write: (line: string) => void lines.push(line) };
    const started = await start(
      { ...tokensOf(issuer.jwksUri), apiKeys: {} },
      {
        more: { accessLog: { enabled: true, format: 'json' } },
        logs: { log: createLogger('router', 'trace', sink), accessLogDestination: sink },
      },
    );
    const short = 'too-short-a-key';
    const both = JSON.stringify({ key: KEY_B, modles: ['m'] });
    started.cluster.putSecret('system/keys', KEYS_LABEL, { a: KEY_A, twin: KEY_A, short, both, text: `{"key": "${KEY_B}"` });
    const token = await issuer.sign();
    const expired = await issuer.sign({ exp: 1 });
    const answers: string[] = [];
    for (const credential of [KEY_A, KEY_B, token, expired, short]) {
      answers.push((await send(started.url, CHAT, chatBody(), bearer(credential))).body);
      answers.push((await send(started.url, CHAT, chatBody(), { 'x-api-key': credential })).body);
    }
    await until(() => lines.filter((line) => line.includes('"status_code"')).length === 10, 'ten lines of the access log');
    const debug = `http://127.0.0.1:${started.router.debugAddress.port}/debug`;
    for (const page of ['findings', 'endpoints', 'decisions', 'config_dump/modelroutes', 'config_dump/pods']) {
      answers.push((await send(debug, `/${page}`)).body);
    }
    const seen = [...lines, ...answers, await metricsOf(started)].join('\n');
    for (const secret of [KEY_A, KEY_B, token, expired, short]) expect(seen).not.toContain(secret);
    const findings = JSON.parse((await send(debug, '/findings')).body) as { findings: { code: string; field: string }[] };
    expect(findings.findings.map(({ code, field }) => `${field} ${code}`)).toEqual([
      'both auth/unusable-key',
      'short auth/unusable-key',
      'text auth/unusable-key',
      'twin auth/duplicate-key',
    ]);
    expect(lines.filter((line) => line.includes('auth/unusable-key'))).toHaveLength(3);
  });
});
