import { ChatStream } from '../../../../runtime/router/providers/anthropic/chat-stream';
import { MessageStream } from '../../../../runtime/router/providers/openai/message-stream';
import { recordedAnswer } from '../../../helpers/recorded-answer';
import { splits } from '../../../helpers/splits';
import { eventsOfText, translateStream } from '../../../helpers/translate-stream';

type Fields = Readonly<Record<string, unknown>>;

const messagesStream = (...events: readonly Fields[]): Buffer =>
  Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
const chatStream = (...chunks: readonly (Fields | string)[]): Buffer =>
  Buffer.from(chunks.map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`).join(''));

const asChat = (chunks: readonly Buffer[], includesUsage = true): string =>
  translateStream(new ChatStream({ createdSeconds: 1, includesUsage }), chunks);
const asMessages = (chunks: readonly Buffer[]): string => translateStream(new MessageStream(), chunks);

/** Thinking, a text and two calls, as the provider's documentation shows each of them. */
const THOUGHTFUL = messagesStream(
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'EqQB' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Grüße' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"x": ' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
  { type: 'content_block_stop', index: 2 },
  { type: 'content_block_start', index: 3, content_block: { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} } },
  { type: 'content_block_stop', index: 3 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 15 } },
  { type: 'message_stop' },
);

describe('a messages stream as a chat completion', () => {
  it('has a chunk for each piece of text, reasoning and arguments, then the reason, the usage and the end', () => {
    const stream = asChat([THOUGHTFUL]);
    const events = eventsOfText(stream);
    const deltas = events.flatMap((event) => ((event as Fields).choices as readonly Fields[] | undefined) ?? []);
    expect(deltas.map(({ delta, finish_reason }) => [delta, finish_reason])).toEqual([
      [{ role: 'assistant', content: '' }, null],
      [{ reasoning: 'hm' }, null],
      [{ content: 'Grüße' }, null],
      [{ tool_calls: [{ index: 0, id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '' } }] }, null],
      [{ tool_calls: [{ index: 0, function: { arguments: '{"x": ' } }] }, null],
      [{ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }, null],
      [{ tool_calls: [{ index: 1, id: 'toolu_2', type: 'function', function: { name: 'g', arguments: '' } }] }, null],
      [{}, 'tool_calls'],
    ]);
    expect(events.at(-2)).toEqual({
      id: 'msg_1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'claude',
      choices: [],
      usage: { prompt_tokens: 14, completion_tokens: 15, total_tokens: 29, prompt_tokens_details: { cached_tokens: 4 } },
    });
    expect(events.at(-1)).toBe('[DONE]');
    expect(stream).toContain(': ping\n\n');
  });

  it('has no usage for a client that did not ask', () => {
    expect(asChat([THOUGHTFUL], false)).not.toContain('"usage"');
  });

  it('is the same wherever it is cut', () => {
    const expected = asChat([THOUGHTFUL]);
    for (const chunks of splits(THOUGHTFUL)) expect(asChat(chunks)).toBe(expected);
  });

  it('is made of what a real engine streams', () => {
    const { body } = recordedAnswer('vllm-0.32.0', 'messages_stream');
    const events = eventsOfText(asChat([body])) as readonly Fields[];
    expect(events.slice(0, -2).map((event) => (event.choices as readonly Fields[])[0]!.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: ' shift' },
      { content: 'ult' },
      { content: ' def' },
      {},
    ]);
    expect(events.at(-2)).toMatchObject({ usage: { prompt_tokens: 22, completion_tokens: 4 } });
  });

  it('tells an error in their shape, and does not end as if nothing had happened', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const stream = asChat([messagesStream(error, { type: 'message_stop' })]);
    expect(eventsOfText(stream)).toEqual([
      { error: { message: 'Overloaded', type: 'overloaded_error', param: null, code: 'overloaded_error' } },
    ]);
  });
});

describe('a chat completion stream as messages', () => {
  const chunk = (delta: Fields, finish: string | null = null, more: Fields = {}): Fields => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt',
    choices: [{ index: 0, delta, finish_reason: finish, ...more }],
  });
  const usage = { prompt_tokens: 14, completion_tokens: 15, total_tokens: 29, prompt_tokens_details: { cached_tokens: 4 } };
  const busy = chatStream(
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'Grüße' }),
    chunk({ content: '!' }),
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
    chunk({ tool_calls: [{ index: 1, id: 'call_2', type: 'function', function: { name: 'g', arguments: '{}' } }] }),
    chunk({}, 'tool_calls'),
    { ...chunk({}), choices: [], usage },
    '[DONE]',
  );

  it('has a block for the text and for each call, opened and closed in turn', () => {
    expect(eventsOfText(asMessages([busy]))).toEqual([
      {
        type: 'message_start',
        message: {
          id: 'chatcmpl-1',
          type: 'message',
          role: 'assistant',
          model: 'gpt',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '!' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'call_1', name: 'f', input: {} } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"x":' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '1}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'call_2', name: 'g', input: {} } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 4, output_tokens: 15 },
      },
      { type: 'message_stop' },
    ]);
  });

  it('is the same wherever it is cut', () => {
    const expected = asMessages([busy]);
    for (const chunks of splits(busy)) expect(asMessages(chunks)).toBe(expected);
  });

  it.each([
    ['chat_stream_usage', ['text'], 'max_tokens'],
    ['chat_tools_required_stream', ['tool_use', 'tool_use'], 'max_tokens'],
    ['chat_tools_named_stream', ['tool_use'], 'tool_use'],
  ])('is made of what a real engine streams: %s', (name, blocks, reason) => {
    const events = eventsOfText(asMessages([recordedAnswer('vllm-0.32.0', name).body])) as readonly Fields[];
    const started = events.filter(({ type }) => type === 'content_block_start');
    expect(started.map(({ content_block }) => (content_block as Fields).type)).toEqual(blocks);
    expect(events.at(-2)).toMatchObject({ type: 'message_delta', delta: { stop_reason: reason } });
    expect(events.at(-1)).toEqual({ type: 'message_stop' });
  });

  it('names every event as the official client reads it', () => {
    const names = [...asMessages([busy]).matchAll(/^event: (.*)\ndata: \{"type":"(.*?)"/gm)];
    expect(names.length).toBe(14);
    for (const [, name, type] of names) expect(name).toBe(type);
  });

  it('tells an error in their shape, and does not end as if nothing had happened', () => {
    const stream = asMessages([
      chatStream(chunk({ content: 'x' }), { error: { message: 'broken', type: 'server_error' } }, '[DONE]'),
    ]);
    expect(eventsOfText(stream).at(-1)).toEqual({ type: 'error', error: { type: 'api_error', message: 'broken' } });
    expect(stream).not.toContain('message_stop');
  });
});
