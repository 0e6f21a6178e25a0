import type { ServerResponse } from 'node:http';
import { createLogger } from '../../../../runtime/lib/logger';
import {
  AUTHORITY_FILE,
  addProvider,
  CREDENTIAL_LABEL,
  type ProviderRouterOptions,
  providerObject,
  startProviderRouter,
  testProvider,
} from '../../../helpers/provider-harness';
import type { ReceivedRequest, TestEngine, TestRouter } from '../../../helpers/router-harness';
import { chatBody, TestEngine as Engine, routerConfig, send, until } from '../../../helpers/router-harness';
import { eventsOfText } from '../../../helpers/translate-stream';

type Fields = Readonly<Record<string, unknown>>;
type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

const engines: TestEngine[] = [];
const routers: TestRouter[] = [];

async function provider(answer: Answer): Promise<TestEngine> {
  const made = await testProvider(answer);
  engines.push(made);
  return made;
}

async function engine(answer: Answer): Promise<TestEngine> {
  const made = await new Engine(answer).start();
  engines.push(made);
  return made;
}

async function router(options: ProviderRouterOptions = {}): Promise<TestRouter> {
  const made = await startProviderRouter(options);
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

const json =
  (status: number, body: object, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello', refusal: null }, finish_reason: 'stop', logprobs: null }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, prompt_tokens_details: { cached_tokens: 4 } },
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 2 },
};
const messageEvents: readonly Fields[] = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hel' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const named = (event: Fields): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const streams =
  (...events: readonly string[]): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const event of events) response.write(event);
    response.end();
  };
const chunk = (delta: Fields, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usageChunk = `data: ${JSON.stringify({ id: 'c', choices: [], usage: completion.usage })}\n\n`;
const messagesBody = (extra: object = {}): string =>
  JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }], ...extra });
const errorOf = (body: string): Fields => (JSON.parse(body) as { error: Fields }).error;

describe('a provider that speaks the client’s API', () => {
  it('gets the request byte for byte but for the model, with its own credential and little else of the client', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router();
    addProvider(at, cloud, { model: 'gpt', headers: { 'x-team': 'a' } });
    const body = '{ "model":"m", "n" : 1e0,\n"priority":1, "messages":[],"big":12345678901234567890 }';
    const answer = await send(at.url, '/v1/chat/completions?a=b', body, {
      authorization: 'Bearer client',
      'x-api-key': 'client',
      cookie: 'c=1',
      'x-internal': 'secret',
      traceparent: '00-1-2-01',
      'x-request-id': 'mine',
    });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual(completion);
    const [received] = cloud.received;
    expect(received!.url).toBe('/v1/chat/completions?a=b');
    expect(received!.body).toBe('{ "model":"gpt", "n" : 1e0,\n "messages":[],"big":12345678901234567890 }');
    const { 'x-request-id': id, ...headers } = received!.headers;
    expect(headers).toEqual({
      host: `127.0.0.1:${cloud.port}`,
      connection: 'keep-alive',
      'content-length': String(received!.body.length),
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'kvasir-router',
      traceparent: '00-1-2-01',
      'x-team': 'a',
      authorization: 'Bearer sk-cloud',
    });
    expect(id).not.toBe('mine');
    expect(answer.headers['x-request-id']).toBe('mine');
  });

  it('is in the metrics and the access log as a provider, with the usage that it tells', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router();
    addProvider(at, cloud, { model: 'gpt' });
    await send(at.url, '/v1/chat/completions', chatBody());
    await until(() => at.records.length === 1, 'the request is logged');
    const [record] = at.records;
    expect(record).toMatchObject({
      status_code: 200,
      model_name: 'm',
      model_route: 'default/route',
      backend_type: 'external_provider',
      backend_name: 'default/cloud',
      upstream_model: 'gpt',
      input_tokens: 9,
      output_tokens: 2,
      cached_tokens: 4,
    });
    expect(record?.selected_pod).toBeUndefined();
    expect(record?.predicted_cached_tokens).toBeUndefined();
    const metrics = await send(`http://127.0.0.1:${at.router.metricsAddress.port}`, '/metrics');
    expect(metrics.body).toMatch(
      /kthena_router_requests_total\{.*status_code="200".*backend_type="external_provider",backend_name="default\/cloud",upstream_model="gpt"\} 1/,
    );
    expect(metrics.body).toMatch(
      /kthena_router_active_upstream_requests\{model_server="none",.*backend_name="default\/cloud".*\} 0/,
    );
  });

  it('streams through, and a client that did not ask for usage sees none', async () => {
    const cloud = await provider(streams(chunk({ content: 'x' }), chunk({}, 'stop'), usageChunk, 'data: [DONE]\n\n'));
    const at = await router();
    addProvider(at, cloud);
    const answer = await send(at.url, '/v1/chat/completions', chatBody({ stream: true }));
    expect(answer.body).toBe(`${chunk({ content: 'x' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
    expect(JSON.parse(cloud.received[0]!.body)).toMatchObject({ stream_options: { include_usage: true } });
    await until(() => at.records.length === 1, 'the request is logged');
    expect(at.records[0]).toMatchObject({ output_tokens: 2, stream: true });
  });

  it('gets messages with the version that the client speaks, by x-api-key', async () => {
    const cloud = await provider(streams(...messageEvents.map(named)));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic', path: '/v1' });
    const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'b' };
    const answer = await send(at.url, '/v1/messages', messagesBody({ stream: true }), headers);
    expect(answer.body).toBe(messageEvents.map(named).join(''));
    expect(cloud.received[0]!.url).toBe('/v1/messages');
    expect(cloud.received[0]!.headers).toMatchObject({ ...headers, 'x-api-key': 'sk-cloud' });
    expect(cloud.received[0]!.headers).not.toHaveProperty('authorization');
    await until(() => at.records.length === 1, 'the request is logged');
    expect(at.records[0]).toMatchObject({ input_tokens: 9, cached_tokens: 4, output_tokens: 2 });
  });

  it.each(['/v1/completions', '/v1/responses', '/v1/embeddings'])('serves %s', async (path) => {
    const cloud = await provider(json(200, { ok: true }));
    const at = await router();
    addProvider(at, cloud, { path: '/v1beta/openai/' });
    expect((await send(at.url, path, '{"model":"m","input":"x"}')).status).toBe(200);
    expect(cloud.received[0]!.url).toBe(`/v1beta/openai${path.slice(3)}`);
  });

  it('keeps its connection, and answers without the names of its account', async () => {
    const headers = {
      'set-cookie': '__cf_bm=1',
      'openai-organization': 'acme',
      'alt-svc': 'h3=":443"',
      'x-ratelimit-limit-tokens': '9',
    };
    let connections = 0;
    const cloud = await provider(json(200, completion, headers));
    const at = await router();
    addProvider(at, cloud);
    const ports = new Set<number>();
    const answer = cloud.answer;
    cloud.answer = (request, response, incoming) => {
      ports.add(incoming.socket.remotePort!);
      connections = ports.size;
      answer(request, response, incoming);
    };
    await send(at.url, '/v1/chat/completions', chatBody());
    const second = await send(at.url, '/v1/chat/completions', chatBody());
    expect(connections).toBe(1);
    expect(Object.keys(second.headers).sort()).toEqual([
      'connection',
      'content-type',
      'date',
      'transfer-encoding',
      'x-ratelimit-limit-tokens',
      'x-request-id',
    ]);
  });
});

describe('a provider that speaks the other API', () => {
  it('answers chat completions by messages', async () => {
    const cloud = await provider(json(200, message));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic', model: 'claude' });
    const answer = await send(at.url, '/v1/chat/completions?beta=1', chatBody({ max_tokens: 3 }), {
      'anthropic-version': '2026-10-21',
    });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ choices: [{ message: { content: 'hello' } }], usage: completion.usage });
    expect(Number(answer.headers['content-length'])).toBe(answer.body.length);
    const [received] = cloud.received;
    expect(received!.url).toBe('/v1/messages');
    expect(received!.headers['anthropic-version']).toBe('2023-06-01');
    expect(JSON.parse(received!.body)).toEqual({
      model: 'claude',
      max_tokens: 3,
      messages: [{ role: 'user', content: 'hello' }],
    });
    await until(() => at.records.length === 1, 'the request is logged');
    expect(at.records[0]).toMatchObject({ input_tokens: 9, cached_tokens: 4, output_tokens: 2, upstream_model: 'claude' });
  });

  it('streams chat completions from messages', async () => {
    const cloud = await provider(streams(...messageEvents.map(named)));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const body = chatBody({ stream: true, stream_options: { include_usage: true } });
    const answer = await send(at.url, '/v1/chat/completions', body);
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const events = eventsOfText(answer.body);
    const texts = events.map(
      (event) => ((event as Fields).choices as readonly { delta: Fields }[] | undefined)?.[0]?.delta.content,
    );
    expect(texts.join('')).toBe('hello');
    expect(events.at(-2)).toMatchObject({ usage: completion.usage });
    expect(events.at(-1)).toBe('[DONE]');
  });

  it('answers messages by chat completions, whole and streaming', async () => {
    const cloud = await provider((request, response) => {
      const { stream } = JSON.parse(request.body) as { stream?: boolean };
      const events = [
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: 'hello' }),
        chunk({}, 'stop'),
        usageChunk,
        'data: [DONE]\n\n',
      ];
      (stream === true ? streams(...events) : json(200, completion))(request, response);
    });
    const at = await router();
    addProvider(at, cloud, { model: 'gpt' });
    const whole = await send(at.url, '/v1/messages', messagesBody({ system: 'be brief' }));
    expect(JSON.parse(whole.body)).toMatchObject({ type: 'message', content: message.content, usage: message.usage });
    expect(JSON.parse(cloud.received[0]!.body)).toEqual({
      model: 'gpt',
      max_tokens: 5,
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
      ],
    });
    const streamed = await send(at.url, '/v1/messages', messagesBody({ stream: true }));
    const events = eventsOfText(streamed.body) as readonly Fields[];
    expect(events.map(({ type }) => type)).toEqual(messageEvents.map(({ type }) => type).filter((_, i) => i !== 3));
    expect(events.at(-2)).toMatchObject({ usage: message.usage });
  });

  it('is not asked for what cannot be translated', async () => {
    const cloud = await provider(json(200, message));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const answer = await send(at.url, '/v1/chat/completions', chatBody({ n: 2 }));
    expect([answer.status, errorOf(answer.body)]).toEqual([
      400,
      { message: expect.stringContaining('n: '), type: 'invalid_request_error', param: 'n', code: 'untranslatable' },
    ]);
    expect(cloud.received).toEqual([]);
  });

  it('that answers something else than its protocol is a bad gateway', async () => {
    const cloud = await provider((_request, response) => response.end('<html>'));
    const at = await router({ config: routerConfig({ providers: { caFile: AUTHORITY_FILE }, retry: { attempts: 0 } }) });
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const answer = await send(at.url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).code]).toEqual([502, 'provider_answer']);
  });

  it('that streams something else ends the stream with an error', async () => {
    const cloud = await provider(streams(named(messageEvents[0]!), 'data: {broken\n\n', named(messageEvents[6]!)));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const answer = await send(at.url, '/v1/chat/completions', chatBody({ stream: true }));
    expect(eventsOfText(answer.body).at(-1)).toMatchObject({ error: { code: 'provider_answer' } });
    await until(() => at.records.length === 1, 'the request is logged');
    expect(at.records[0]).toMatchObject({ error: { type: 'upstream_lost' } });
  });

  it('that breaks off ends the stream with an error in the client’s dialect', async () => {
    const cloud = await provider((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'x' }), () => response.destroy());
    });
    const at = await router();
    addProvider(at, cloud);
    const answer = await send(at.url, '/v1/messages', messagesBody({ stream: true }));
    expect(eventsOfText(answer.body).at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    expect(answer.body).not.toContain('message_stop');
  });

  it('stops when the client leaves', async () => {
    const cloud = await provider((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(named(messageEvents[0]!));
    });
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const controller = new AbortController();
    const answer = await fetch(`${at.url}/v1/chat/completions`, {
      method: 'POST',
      body: chatBody({ stream: true }),
      signal: controller.signal,
    });
    expect(answer.status).toBe(200);
    expect(cloud.active).toBe(1);
    controller.abort();
    await until(() => cloud.active === 0, 'the provider is told');
  });
});

describe('a provider’s error', () => {
  const anthropic = (type: string, text: string): object => ({
    type: 'error',
    error: { type, message: text },
    request_id: 'req_1',
  });

  it.each([
    ['/v1/chat/completions', chatBody(), { message: 'too long', type: 'invalid_request_error', param: null, code: 400 }],
    ['/v1/messages', messagesBody(), { message: 'too long', type: 'invalid_request_error' }],
  ])('reaches a client of %s in its dialect', async (path, body, error) => {
    const cloud = await provider(json(400, anthropic('invalid_request_error', 'too long')));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const answer = await send(at.url, path, body);
    expect([answer.status, errorOf(answer.body)]).toEqual([400, { ...error, code: path === '/v1/messages' ? undefined : null }]);
    expect(cloud.received).toHaveLength(1);
  });

  it('of its limit is not tried again where there is nobody else, and says when to come back', async () => {
    const cloud = await provider(json(429, anthropic('rate_limit_error', 'slow down'), { 'retry-after': '7' }));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const answer = await send(at.url, '/v1/chat/completions', chatBody());
    expect([answer.status, answer.headers['retry-after'], errorOf(answer.body).message]).toEqual([429, '7', 'slow down']);
    await until(() => at.records.length === 1, 'the request is logged');
    expect(at.records[0]).toMatchObject({
      status_code: 429,
      upstream_status_code: 429,
      error_origin: 'upstream',
      error: { type: 'upstream_response', message: 'provider default/cloud returned HTTP 429' },
    });
    expect(cloud.received).toHaveLength(1);
  });

  it.each([
    ['/v1/chat/completions', chatBody(), 503],
    ['/v1/messages', messagesBody(), 529],
  ])('of being overloaded is tried again, and told to a client of %s by a status that it knows', async (path, body, status) => {
    const cloud = await provider(json(529, anthropic('overloaded_error', 'Overloaded')));
    const at = await router();
    addProvider(at, cloud, { providerType: 'Anthropic' });
    const answer = await send(at.url, path, body);
    expect([answer.status, errorOf(answer.body)]).toEqual([status, expect.objectContaining({ type: 'overloaded_error' })]);
    expect(cloud.received).toHaveLength(3);
  });

  it.each([401, 403])('%d is the operator’s business, and none of it reaches the client or a log', async (status) => {
    const logged: string[] = [];
    const cloud = await provider(
      json(status, { error: { message: 'Incorrect API key provided: sk-cl*ud', type: 'x', param: null, code: 'y' } }),
    );
    const sink = { write: (line: string) => void logged.push(line) };
    const at = await router({
      config: routerConfig({ providers: { caFile: AUTHORITY_FILE }, retry: { intervalMs: 1 }, accessLog: { enabled: true } }),
      logs: { log: createLogger('router', 'trace', sink), accessLogDestination: sink },
    });
    addProvider(at, cloud);
    const answer = await send(at.url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).code]).toEqual([502, 'provider_refused']);
    const dump = await send(`http://127.0.0.1:${at.router.debugAddress.port}`, '/debug/decisions');
    await until(() => logged.length > 0, 'the request is logged');
    for (const text of [answer.body, dump.body, ...logged]) expect(text).not.toContain('sk-c');
  });

  it('that is a redirect is not followed', async () => {
    const cloud = await provider((_request, response) => response.writeHead(307, { location: 'https://x.example/' }).end());
    const at = await router();
    addProvider(at, cloud);
    const answer = await send(at.url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).code, answer.headers.location]).toEqual([502, 'provider_answer', undefined]);
  });
});

describe('a provider that is not ready', () => {
  const findings = async (at: TestRouter): Promise<string> =>
    (await send(`http://127.0.0.1:${at.router.debugAddress.port}`, '/debug/findings')).body;

  it.each<[string, (at: TestRouter) => void, string]>([
    ['no Secret', () => undefined, 'there is no Secret default/cloud-secret with the label'],
    [
      'a Secret without the label',
      (at) => at.cluster.putSecret('default/cloud-secret', 'other=true', { token: 'x' }),
      'there is no Secret',
    ],
    [
      'a Secret without the key',
      (at) => at.cluster.putSecret('default/cloud-secret', CREDENTIAL_LABEL, { other: 'x' }),
      'has nothing under token',
    ],
    [
      'an empty value',
      (at) => at.cluster.putSecret('default/cloud-secret', CREDENTIAL_LABEL, { token: ' \n' }),
      'has nothing under token',
    ],
    [
      'a value of two lines',
      (at) => at.cluster.putSecret('default/cloud-secret', CREDENTIAL_LABEL, { token: 'sk-a\nsk-b' }),
      'cannot stand in a header',
    ],
  ])('for %s answers 503, and the operator can read why', async (_, prepare, why) => {
    const cloud = await provider(json(200, completion));
    const at = await router();
    at.cluster.put(providerObject('cloud', `https://127.0.0.1:${cloud.port}`));
    prepare(at);
    const answer = await send(at.url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).code, answer.headers['retry-after']]).toEqual([503, 'provider_not_ready', '5']);
    expect(await findings(at)).toContain(why);
    expect(at.records.at(-1)).toMatchObject({ error_origin: 'router', error: { type: 'provider_config' } });
    expect(await findings(at)).not.toContain('sk-');
    at.cluster.putSecret('default/cloud-secret', CREDENTIAL_LABEL, { token: 'sk-new' });
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
    expect(cloud.received[0]!.headers.authorization).toBe('Bearer sk-new');
    expect(await findings(at)).not.toContain('provider-not-ready');
  });

  it('is dumped without the values of its headers', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router();
    addProvider(at, cloud, { headers: { 'x-secret': 'hidden' } });
    const dump = await send(`http://127.0.0.1:${at.router.debugAddress.port}`, '/debug/config_dump/externalmodelproviders');
    expect(JSON.parse(dump.body)).toMatchObject({
      externalmodelproviders: [{ name: 'cloud', namespace: 'default', spec: { providerType: 'OpenAI', headers: ['x-secret'] } }],
    });
    expect(dump.body).not.toMatch(/hidden|sk-/);
  });

  it('needs no credential where none is configured', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router();
    const object = providerObject('cloud', `https://127.0.0.1:${cloud.port}`);
    const { auth: _, ...spec } = (object as unknown as { readonly spec: Fields }).spec;
    at.cluster.put({ ...object, spec } as typeof object);
    expect((await send(at.url, '/v1/chat/completions', chatBody(), { authorization: 'Bearer client' })).status).toBe(200);
    expect(cloud.received[0]!.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['OpenAI', '/v1/rerank'],
    ['OpenAI', '/v1/messages/count_tokens'],
    ['Anthropic', '/v1/embeddings'],
    ['Anthropic', '/v1/responses'],
  ] as const)('has no path of its own: %s and %s', async (providerType, path) => {
    const cloud = await provider(json(200, completion));
    const at = await router();
    addProvider(at, cloud, { providerType });
    const answer = await send(at.url, path, '{"model":"m","input":"x"}');
    expect(answer.status).toBe(400);
    expect(errorOf(answer.body).message).toContain(`provider type "${providerType}" does not support path "${path}"`);
  });

  it('whose certificate nobody vouches for is not trusted, unless the operator says so', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router({ config: routerConfig({ retry: { attempts: 0 } }) });
    addProvider(at, cloud);
    const answer = await send(at.url, '/v1/chat/completions', chatBody());
    expect([answer.status, errorOf(answer.body).code]).toEqual([503, 'upstream_unavailable']);
    expect(cloud.received).toEqual([]);
    addProvider(at, cloud, { insecureSkipVerify: true });
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
  });
});

it.each([
  ['/nowhere/ca.pem', 'cannot be read'],
  [__filename, 'holds no certificate'],
])('a router does not start with the authorities of %s', async (caFile, why) => {
  const start = startProviderRouter({ config: routerConfig({ providers: { caFile } }) });
  await expect(start).rejects.toMatchObject({ code: 'config/provider-authorities', message: expect.stringContaining(why) });
});

describe('a rule with several targets', () => {
  const both = [
    { modelServerName: 'server', weight: 50 },
    { externalModelProviderName: 'cloud', weight: 50 },
  ];
  const fixed = (target: 'server' | 'cloud') => [
    { modelServerName: 'server', weight: target === 'server' ? 100 : 1 },
    { externalModelProviderName: 'cloud', weight: target === 'cloud' ? 100 : 1 },
  ];

  it('draws between engines and providers by weight', async () => {
    const cloud = await provider(json(200, completion));
    const local = await engine(json(200, completion));
    const at = await router({ engines: [local], targets: both });
    addProvider(at, cloud);
    for (let i = 0; i < 60; i++) await send(at.url, '/v1/chat/completions', chatBody());
    // Two-sided 99.9 % of a fair coin.
    expect(cloud.received.length).toBeGreaterThan(16);
    expect(local.received.length).toBeGreaterThan(16);
  });

  it.each<[string, Answer]>([
    ['resets', (_request, response) => void response.destroy()],
    ['is over its limit', json(429, { error: { message: 'slow down' } })],
    ['is overloaded', json(529, { type: 'error', error: { type: 'overloaded_error', message: 'x' } })],
    ['refuses the credential', json(401, { error: { message: 'no' } })],
    ['answers what cannot be read', json(302, {})],
  ])('goes to the engines when the provider %s', async (_, answer) => {
    const cloud = await provider(answer);
    const local = await engine(json(200, completion));
    const at = await router({ engines: [local], targets: fixed('cloud') });
    addProvider(at, cloud);
    for (let i = 0; i < 4; i++) expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
    expect(cloud.received.length).toBeGreaterThan(0);
    await until(() => at.records.length === 4, 'the requests are logged');
    for (const record of at.records) expect(record).toMatchObject({ backend_type: 'model_server', selected_pod: 'pod-0' });
  });

  it('goes to the engines when the provider is not there, not ready, or has no such path', async () => {
    const cloud = await provider(json(200, completion));
    const local = await engine(json(200, completion));
    const at = await router({ engines: [local], targets: fixed('cloud') });
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
    at.cluster.put(providerObject('cloud', `https://127.0.0.1:${cloud.port}`));
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
    addProvider(at, cloud);
    expect((await send(at.url, '/v1/rerank', '{"model":"m","query":"x"}')).status).toBe(200);
    expect([cloud.received.length, local.received.length]).toEqual([0, 3]);
  });

  it('goes to the provider when the engines have nobody, and the error is theirs when it cannot', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router({ targets: fixed('server') });
    addProvider(at, cloud, { model: 'gpt' });
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
    await until(() => at.records.length === 1, 'the request is logged');
    expect(at.records[0]).toMatchObject({ backend_type: 'external_provider', upstream_model: 'gpt' });
    const rerank = await send(at.url, '/v1/rerank', '{"model":"m","query":"x"}');
    expect([rerank.status, errorOf(rerank.body).code]).toEqual([503, 'no_endpoints']);
  });

  it('never goes to a target of weight 0', async () => {
    const cloud = await provider(json(200, completion));
    const at = await router({
      targets: [
        { modelServerName: 'server', weight: 100 },
        { externalModelProviderName: 'cloud', weight: 0 },
      ],
    });
    addProvider(at, cloud);
    expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(503);
    expect(cloud.received).toEqual([]);
  });

  it('leaves a provider alone that keeps failing, while somebody else serves', async () => {
    const cloud = await provider(json(500, { error: { message: 'x' } }));
    const local = await engine(json(200, completion));
    const at = await router({
      engines: [local],
      targets: fixed('cloud'),
      config: routerConfig({ providers: { caFile: AUTHORITY_FILE }, retry: { intervalMs: 1, budgetRatio: 1 } }),
    });
    addProvider(at, cloud);
    for (let i = 0; i < 20; i++) expect((await send(at.url, '/v1/chat/completions', chatBody())).status).toBe(200);
    expect(cloud.received).toHaveLength(5);
  });

  it('gives the other provider the same request in its own API', async () => {
    const first = await provider(json(500, { type: 'error', error: { type: 'api_error', message: 'x' } }));
    const second = await provider(json(200, completion));
    const at = await router({
      targets: [
        { externalModelProviderName: 'a', weight: 100 },
        { externalModelProviderName: 'b', weight: 1 },
      ],
    });
    addProvider(at, first, { name: 'a', providerType: 'Anthropic', model: 'claude' });
    addProvider(at, second, { name: 'b', model: 'gpt' });
    const answer = await send(at.url, '/v1/messages', messagesBody());
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'message', model: 'gpt' });
    expect(JSON.parse(first.received[0]!.body)).toMatchObject({ model: 'claude' });
    expect(second.received[0]!.url).toBe('/v1/chat/completions');
    expect(second.received[0]!.headers.authorization).toBe('Bearer sk-b');
    expect(second.received[0]!.headers).not.toHaveProperty('x-api-key');
  });
});
