import type { ServerResponse } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { addProvider, CREDENTIAL_LABEL, providerObject, startProviderRouter, testProvider } from '../../helpers/provider-harness';
import { recordedAnswer } from '../../helpers/recorded-answer';
import { modelRoute, modelServer, type ReceivedRequest, TestEngine, type TestRouter, until } from '../../helpers/router-harness';

type Answer = (request: ReceivedRequest, response: ServerResponse) => void;
type Fields = Readonly<Record<string, unknown>>;

/** Models of the one router of these tests: pods of an engine, and a provider of each kind. */
const LOCAL = 'tiny';
const CLAUDE = 'claude';
const GPT = 'gpt';

const recorded =
  (name: string): Answer =>
  (_request, response) => {
    const { status, headers, body } = recordedAnswer('vllm-0.32.0', name);
    const { 'transfer-encoding': _chunked, 'content-length': _length, ...rest } = headers;
    response.writeHead(status, rest);
    for (let at = 0; at < body.length; at += 50) response.write(body.subarray(at, at + 50));
    response.end();
  };
const json =
  (status: number, body: object, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
const events =
  (...texts: readonly string[]): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const text of texts) response.write(text);
    response.end();
  };
const named = (event: Fields): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const data = (document: Fields | string): string =>
  `data: ${typeof document === 'string' ? document : JSON.stringify(document)}\n\n`;

let engine: TestEngine;
let anthropicProvider: TestEngine;
let openaiProvider: TestEngine;
let at: TestRouter;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  const nothing: Answer = (_request, response) => response.destroy();
  engine = await new TestEngine(nothing).start();
  anthropicProvider = await testProvider(nothing);
  openaiProvider = await testProvider(nothing);
  at = await startProviderRouter({ engines: [engine], targets: [{ modelServerName: 'server' }] });
  const { cluster } = at;
  cluster.put(modelServer('server', { model: LOCAL }));
  cluster.put(modelRoute('local', 'server', { modelName: LOCAL }));
  for (const [model, name] of [
    [CLAUDE, 'anthropic'],
    [GPT, 'openai'],
  ] as const) {
    const rules = [{ targetModels: [{ externalModelProviderName: name, weight: 100 }] }];
    cluster.put(modelRoute(name, '', { modelName: model, rules }));
  }
  addProvider(at, anthropicProvider, { name: 'anthropic', providerType: 'Anthropic' });
  addProvider(at, openaiProvider, { name: 'openai' });
  openai = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: 'client', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: at.url, apiKey: 'client', maxRetries: 0 });
});

afterAll(async () => {
  await until(() => at.router.load().activeRequests === 0, 'every request is over');
  expect(at.router.load()).toEqual({ permits: 0, bodyBytes: 0, exchanges: 0, activeRequests: 0, reservedLimits: 0, queued: 0 });
  await at.router.close();
  for (const each of [engine, anthropicProvider, openaiProvider]) await each.kill();
});

const hello = [{ role: 'user' as const, content: 'hello' }];
const weather = {
  name: 'weather',
  description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

/** What each side of the translation says of one call of a tool. */
const claudeCalls = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: CLAUDE,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Let me see.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"city":' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '"Oslo"}' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: 'message_stop' },
].map(named);
const gptChunk = (delta: Fields, finish_reason: string | null = null): Fields => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: GPT,
  choices: [{ index: 0, delta, finish_reason }],
});
const gptCalls = [
  gptChunk({ role: 'assistant', content: 'Let me see.' }),
  gptChunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":' } }] }),
  gptChunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
  gptChunk({}, 'tool_calls'),
  { ...gptChunk({}), choices: [], usage: { prompt_tokens: 10, completion_tokens: 12, total_tokens: 22 } },
  '[DONE]',
].map(data);

describe('the official OpenAI client', () => {
  it('lists models', async () => {
    const ids: string[] = [];
    for await (const { id } of openai.models.list()) ids.push(id);
    expect(ids).toEqual([CLAUDE, GPT, 'm', LOCAL]);
    expect((await openai.models.retrieve(LOCAL)).id).toBe(LOCAL);
  });

  it('chats with an engine', async () => {
    engine.answer = recorded('chat');
    const completion = await openai.chat.completions.create({ model: LOCAL, messages: hello });
    expect(completion.choices[0]!.message.content).not.toBe('');
    expect(completion.usage!.total_tokens).toBe(completion.usage!.prompt_tokens + completion.usage!.completion_tokens);
    expect(engine.received.at(-1)!.headers).not.toHaveProperty('authorization');
  });

  it('streams from an engine, with usage when it asks', async () => {
    engine.answer = recorded('chat_stream_usage');
    const options = { include_usage: true };
    const stream = await openai.chat.completions.create({ model: LOCAL, messages: hello, stream: true, stream_options: options });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.at(-1)!.usage!.completion_tokens).toBeGreaterThan(0);
    expect(chunks.some(({ choices }) => choices[0]?.finish_reason === 'length')).toBe(true);
  });

  it('streams without usage when it does not ask', async () => {
    engine.answer = recorded('chat_stream_usage');
    const stream = await openai.chat.completions.create({ model: LOCAL, messages: hello, stream: true });
    for await (const chunk of stream) expect(chunk.choices).toHaveLength(1);
  });

  it('gathers the calls of tools that an engine streams', async () => {
    engine.answer = recorded('chat_tools_required_stream');
    const stream = openai.chat.completions.stream({
      model: LOCAL,
      messages: hello,
      tools: [{ type: 'function', function: weather }],
      tool_choice: 'required',
    });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]!.message.tool_calls![0]).toMatchObject({
      type: 'function',
      function: { name: expect.any(String) },
    });
  });

  it('gathers the calls of tools that a messages provider streams, and brings the results back', async () => {
    anthropicProvider.answer = events(...claudeCalls);
    const tools = [{ type: 'function' as const, function: weather }];
    const stream = openai.chat.completions.stream({
      model: CLAUDE,
      messages: hello,
      tools,
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    const { message, finish_reason } = choices[0]!;
    expect([finish_reason, message.content, usage]).toEqual([
      'tool_calls',
      'Let me see.',
      expect.objectContaining({ prompt_tokens: 10, completion_tokens: 12 }),
    ]);
    expect(message.tool_calls![0]).toMatchObject({ id: 'toolu_1', function: { name: 'weather', arguments: '{"city":"Oslo"}' } });

    anthropicProvider.answer = json(200, {
      id: 'msg_2',
      type: 'message',
      role: 'assistant',
      model: CLAUDE,
      content: [{ type: 'text', text: 'It rains.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 20, output_tokens: 3 },
    });
    const second = await openai.chat.completions.create({
      model: CLAUDE,
      messages: [...hello, message, { role: 'tool', tool_call_id: 'toolu_1', content: 'rain' }],
      tools,
    });
    expect(second.choices[0]!.message.content).toBe('It rains.');
    expect((JSON.parse(anthropicProvider.received.at(-1)!.body) as { messages: unknown }).messages).toEqual([
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'rain' }] }] },
    ]);
  });

  it('embeds by a provider, in the base64 that it asks for', async () => {
    const embedding = Buffer.from(new Float32Array([0.5, -1.25]).buffer).toString('base64');
    openaiProvider.answer = json(200, {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding }],
      model: GPT,
      usage: { prompt_tokens: 2, total_tokens: 2 },
    });
    const answer = await openai.embeddings.create({ model: GPT, input: ['hello'] });
    expect(answer.data[0]!.embedding).toEqual([0.5, -1.25]);
    expect(JSON.parse(openaiProvider.received.at(-1)!.body)).toMatchObject({ encoding_format: 'base64' });
  });

  it('gets responses of an engine, whole and streaming', async () => {
    engine.answer = recorded('responses');
    const response = await openai.responses.create({ model: LOCAL, input: 'hello' });
    expect(response.object).toBe('response');
    engine.answer = recorded('responses_stream');
    const types: string[] = [];
    for await (const event of await openai.responses.create({ model: LOCAL, input: 'hello', stream: true }))
      types.push(event.type);
    expect(types[0]).toBe('response.created');
    expect(['response.completed', 'response.incomplete']).toContain(types.at(-1));
  });

  it('knows the errors of the router, of an engine and of a messages provider by their classes', async () => {
    const ask = (model: string) => openai.chat.completions.create({ model, messages: hello });
    await expect(ask('nope')).rejects.toMatchObject({
      constructor: OpenAI.NotFoundError,
      code: 'model_not_found',
      param: 'model',
    });
    engine.answer = recorded('err_prompt_too_long_chat');
    await expect(ask(LOCAL)).rejects.toMatchObject({ constructor: OpenAI.BadRequestError, status: 400 });
    anthropicProvider.answer = json(400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'max_tokens: too large' },
    });
    await expect(ask(CLAUDE)).rejects.toMatchObject({
      constructor: OpenAI.BadRequestError,
      type: 'invalid_request_error',
      message: expect.stringContaining('max_tokens: too large'),
    });
  });

  it('sees the error that ends a stream', async () => {
    anthropicProvider.answer = events(
      ...claudeCalls.slice(0, 3),
      named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    );
    const stream = await openai.chat.completions.create({ model: CLAUDE, messages: hello, stream: true });
    const read = async () => {
      let text = '';
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      return text;
    };
    await expect(read()).rejects.toMatchObject({ constructor: OpenAI.APIError, type: 'overloaded_error' });
  });

  it.each([
    ['an engine', LOCAL, () => engine, data(gptChunk({ content: 'x' }))],
    ['a messages provider', CLAUDE, () => anthropicProvider, claudeCalls[0]! + claudeCalls[2]!],
  ])('stops %s when it is aborted', async (_, model, upstream, first) => {
    upstream().answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(first);
    };
    const stream = await openai.chat.completions.create({ model, messages: hello, stream: true });
    for await (const chunk of stream) {
      expect(chunk.choices).toHaveLength(1);
      expect(upstream().active).toBe(1);
      break;
    }
    await until(() => upstream().active === 0, 'the upstream is told');
  });

  it('tries again by itself when the provider’s limit is over', async () => {
    const answers = [json(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '5' }), recorded('chat')];
    openaiProvider.answer = (request, response) => answers.shift()!(request, response);
    const completion = await openai.chat.completions.create({ model: GPT, messages: hello }, { maxRetries: 1 });
    expect(completion.object).toBe('chat.completion');
    expect(answers).toEqual([]);
  });
});

describe('the official Anthropic client', () => {
  const ask = { max_tokens: 50, messages: hello };
  const tools = [{ name: 'weather', description: 'Weather of a city', input_schema: { type: 'object' as const } }];

  it('gets messages of an engine, whole and streaming', async () => {
    engine.answer = recorded('messages');
    const message = await anthropic.messages.create({ model: LOCAL, ...ask });
    expect(message.content[0]).toMatchObject({ type: 'text' });
    expect(engine.received.at(-1)!.headers).not.toHaveProperty('x-api-key');
    engine.answer = recorded('messages_stream');
    const final = await anthropic.messages.stream({ model: LOCAL, ...ask }).finalMessage();
    expect(final).toMatchObject({
      content: [{ type: 'text', text: ' shiftult def' }],
      usage: { input_tokens: 22, output_tokens: 4 },
    });
  });

  it('gets messages and counts of tokens of a messages provider', async () => {
    anthropicProvider.answer = events(...claudeCalls);
    const final = await anthropic.messages.stream({ model: CLAUDE, ...ask, tools }).finalMessage();
    expect(final.content[1]).toMatchObject({ type: 'tool_use', id: 'toolu_1', input: { city: 'Oslo' } });
    const { headers } = anthropicProvider.received.at(-1)!;
    expect(headers).toMatchObject({ 'x-api-key': 'sk-anthropic', 'anthropic-version': '2026-10-21' });
    expect(headers).not.toHaveProperty('authorization');
    anthropicProvider.answer = json(200, { input_tokens: 14 });
    expect(await anthropic.messages.countTokens({ model: CLAUDE, messages: hello })).toMatchObject({ input_tokens: 14 });
  });

  it('gathers the calls of tools that a chat provider streams, and brings the results back', async () => {
    openaiProvider.answer = events(...gptCalls);
    const final = await anthropic.messages.stream({ model: GPT, ...ask, tools }).finalMessage();
    expect(final).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } },
      ],
      usage: { input_tokens: 10, output_tokens: 12 },
    });

    openaiProvider.answer = json(200, {
      ...gptChunk({}),
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'It rains.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 },
    });
    const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBO' } };
    const second = await anthropic.messages.create({
      model: GPT,
      ...ask,
      tools,
      messages: [
        ...hello,
        { role: 'assistant', content: final.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'rain' }, image] },
      ],
    });
    expect(second).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text', text: 'It rains.' }] });
    expect((JSON.parse(openaiProvider.received.at(-1)!.body) as { messages: unknown }).messages).toEqual([
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }] },
    ]);
  });

  it('knows the errors of the router, of an engine and of a chat provider by their classes', async () => {
    const create = (model: string) => anthropic.messages.create({ model, ...ask });
    await expect(create('nope')).rejects.toMatchObject({ constructor: Anthropic.NotFoundError, type: 'not_found_error' });
    engine.answer = recorded('messages_bad_model');
    await expect(create(LOCAL)).rejects.toMatchObject({ constructor: Anthropic.NotFoundError, status: 404 });
    openaiProvider.answer = json(400, {
      error: { message: 'too long', type: 'invalid_request_error', param: 'messages', code: 'x' },
    });
    await expect(create(GPT)).rejects.toMatchObject({ constructor: Anthropic.BadRequestError, type: 'invalid_request_error' });
    at.cluster.putSecret('default/openai-secret', CREDENTIAL_LABEL, undefined);
    await expect(create(GPT)).rejects.toMatchObject({ status: 503, type: 'overloaded_error' });
    addProvider(at, openaiProvider, { name: 'openai' });
  });

  it('sees the error that ends a stream', async () => {
    openaiProvider.answer = events(...gptCalls.slice(0, 1), data({ error: { message: 'broken' } }));
    await expect(anthropic.messages.stream({ model: GPT, ...ask }).finalMessage()).rejects.toMatchObject({ type: 'api_error' });
  });

  it('stops a chat provider when it is aborted', async () => {
    openaiProvider.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(gptCalls[0]!);
    };
    const stream = await anthropic.messages.create({ model: GPT, ...ask, stream: true });
    for await (const event of stream) {
      if (event.type !== 'content_block_delta') continue;
      expect(openaiProvider.active).toBe(1);
      break;
    }
    await until(() => openaiProvider.active === 0, 'the provider is told');
  });

  it('tries again by itself when the provider’s limit is over', async () => {
    const limit = json(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '5' });
    const answers = [limit, events(...gptCalls)];
    openaiProvider.answer = (request, response) => answers.shift()!(request, response);
    const stream = await anthropic.messages.create({ model: GPT, ...ask, stream: true }, { maxRetries: 1 });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.at(-1)).toBe('message_stop');
    expect(answers).toEqual([]);
  });
});

it('a provider that is taken away is no model of the router any more', async () => {
  at.cluster.put(
    modelRoute('gone', '', {
      modelName: 'gone',
      rules: [{ targetModels: [{ externalModelProviderName: 'gone', weight: 100 }] }],
    }),
  );
  at.cluster.put(providerObject('gone', `https://127.0.0.1:${openaiProvider.port}`));
  at.cluster.remove('ExternalModelProvider', 'default', 'gone');
  const ask = openai.chat.completions.create({ model: 'gone', messages: hello });
  await expect(ask).rejects.toMatchObject({ constructor: OpenAI.NotFoundError, code: 'backend_not_found' });
});
