import { messagesRequest } from '../../../../../runtime/router/providers/anthropic/messages-request';
import type { JsonFields } from '../../../../../runtime/router/providers/json-fields';

const translate = (chat: JsonFields): JsonFields => messagesRequest({ model: 'm', messages: [], ...chat }, 'claude');
const conversation = (...messages: readonly JsonFields[]): unknown => translate({ messages }).messages;

describe('a chat completion request as a messages request', () => {
  it('keeps what both have, and names the model as the provider does', () => {
    expect(
      translate({
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 7,
        temperature: 0.5,
        top_p: 0.9,
        stream: true,
        stop: ['a', 'b'],
        seed: 1,
        presence_penalty: 1,
        user: 'u-1',
        stream_options: { include_usage: true },
      }),
    ).toEqual({
      model: 'claude',
      max_tokens: 7,
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 0.5,
      top_p: 0.9,
      stream: true,
      stop_sequences: ['a', 'b'],
      metadata: { user_id: 'u-1' },
    });
  });

  it.each<[string, JsonFields, JsonFields]>([
    ['a limit of 4096 where the client sets none', {}, { max_tokens: 4096 }],
    ['the newer name of the limit', { max_completion_tokens: 5, max_tokens: 9 }, { max_tokens: 5 }],
    ['a temperature of at most 1', { temperature: 1.7 }, { max_tokens: 4096, temperature: 1 }],
    ['one stop text as a list', { stop: 'x' }, { max_tokens: 4096, stop_sequences: ['x'] }],
    ['no stop sequence of white space', { stop: ['\n', 'x'] }, { max_tokens: 4096, stop_sequences: ['x'] }],
    ['nulls as absent', { stop: null, tools: null, temperature: null, n: null }, { max_tokens: 4096 }],
    ['effort of reasoning', { reasoning_effort: 'high' }, { max_tokens: 4096, output_config: { effort: 'high' } }],
    ['no reasoning', { reasoning_effort: 'none' }, { max_tokens: 4096, thinking: { type: 'disabled' } }],
    [
      'a schema of the answer',
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } },
      { max_tokens: 4096, output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    ['text as its format', { response_format: { type: 'text' } }, { max_tokens: 4096 }],
  ])('has %s', (_, chat, expected) => {
    expect(translate(chat)).toEqual({ model: 'claude', messages: [], ...expected });
  });

  it('gathers system and developer messages in front', () => {
    const request = translate({
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'hi' },
        { role: 'developer', content: [{ type: 'text', text: 'and kind' }] },
      ],
    });
    expect(request).toMatchObject({ system: 'be brief\nand kind', messages: [{ role: 'user', content: 'hi' }] });
  });

  it('has images, inline or by address, and files', () => {
    const part = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'low' } });
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } };
    const content = [{ type: 'text', text: 'see' }, part('data:image/png;base64,iVBO'), part('https://x.example/a.png'), file];
    expect(conversation({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
          { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
        ],
      },
    ]);
  });

  it('brings calls of tools and all their results, in one turn of the user', () => {
    const call = (id: string, text: string) => ({ id, type: 'function', function: { name: 'f', arguments: text } });
    expect(
      conversation(
        { role: 'user', content: 'go' },
        { role: 'assistant', content: null, tool_calls: [call('a', '{"x":1}'), call('b', '')] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: '2' }] },
        { role: 'user', content: 'and now?' },
      ),
    ).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: '1' }] },
          { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: '2' }] },
          { type: 'text', text: 'and now?' },
        ],
      },
    ]);
  });

  it('leaves out texts that are empty, which the messages API refuses', () => {
    expect(conversation({ role: 'user', content: '' }, { role: 'assistant', content: [{ type: 'text', text: '' }] })).toEqual([]);
  });

  const tool = { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } };
  it.each<[unknown, JsonFields | undefined]>([
    [undefined, undefined],
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
  ])('has tools, and tool_choice %j as %j', (choice, expected) => {
    const request = translate({ tools: [tool], tool_choice: choice });
    expect(request.tools).toEqual([{ name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true }]);
    expect(request.tool_choice).toEqual(expected);
    const single = translate({ tools: [tool], tool_choice: choice, parallel_tool_calls: false }).tool_choice;
    expect(single).toEqual(
      expected?.type === 'none' ? expected : { ...(expected ?? { type: 'auto' }), disable_parallel_tool_use: true },
    );
  });

  it.each<[string, JsonFields]>([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['functions', { functions: [] }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['tools[0].type', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['tool_choice', { tool_choice: { type: 'allowed_tools' } }],
    ['messages[0].role', { messages: [{ role: 'critic', content: 'x' }] }],
    [
      'messages[0].content[1].type',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'input_audio' }] }] },
    ],
    ['messages[0].content[0].file', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f-1' } }] }] }],
    [
      'messages[0].tool_calls[0].function.arguments',
      {
        messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x' } }] }],
      },
    ],
  ])('is refused for %s, by name and with what to do', (param, chat) => {
    expect(() => translate(chat)).toThrow(
      expect.objectContaining({ code: 'untranslatable', status: 400, param, message: expect.stringContaining('leave it out') }),
    );
  });
});
