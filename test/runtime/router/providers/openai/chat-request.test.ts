import type { JsonFields } from '../../../../../runtime/router/providers/json-fields';
import { chatRequest } from '../../../../../runtime/router/providers/openai/chat-request';

const translate = (request: JsonFields): JsonFields =>
  chatRequest({ model: 'm', max_tokens: 9, messages: [], ...request }, { model: 'gpt', limitMember: 'max_completion_tokens' });
const conversation = (...messages: readonly JsonFields[]): unknown => translate({ messages }).messages;

describe('a messages request as a chat completion request', () => {
  it('keeps what both have, and asks a stream for its usage', () => {
    expect(
      translate({
        system: [
          { type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } },
          { type: 'text', text: 'and kind' },
        ],
        messages: [{ role: 'user', content: 'hi' }],
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['a'],
        metadata: { user_id: 'u-1' },
        thinking: { type: 'adaptive' },
        output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
        stream: true,
      }),
    ).toEqual({
      model: 'gpt',
      max_completion_tokens: 9,
      messages: [
        { role: 'system', content: 'be brief\nand kind' },
        { role: 'user', content: 'hi' },
      ],
      temperature: 0.5,
      top_p: 0.9,
      stop: ['a'],
      user: 'u-1',
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' }, strict: true } },
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('names the limit as providers do that only imitate OpenAI', () => {
    expect(chatRequest({ max_tokens: 9, messages: [] }, { model: 'x', limitMember: 'max_tokens' })).toEqual({
      model: 'x',
      messages: [],
      max_tokens: 9,
    });
  });

  it('has pictures and documents', () => {
    const image = (source: JsonFields) => ({ type: 'image', source });
    const content = [
      image({ type: 'base64', media_type: 'image/png', data: 'iVBO' }),
      image({ type: 'url', url: 'https://x.example/a.png' }),
      { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
    ];
    expect(conversation({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
          { type: 'text', text: 'words' },
        ],
      },
    ]);
  });

  it('has calls of tools, their results before the rest of the turn, and no thinking', () => {
    expect(
      conversation(
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'text', text: 'ok' },
            { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'here' },
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [
                { type: 'text', text: '1' },
                { type: 'image', source: { type: 'url', url: 'https://x.example/b.png' } },
              ],
            },
            { type: 'tool_result', tool_use_id: 'b', content: 'two', is_error: true },
          ],
        },
      ),
    ).toEqual([
      {
        role: 'assistant',
        content: 'ok',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'here' },
          { type: 'image_url', image_url: { url: 'https://x.example/b.png' } },
        ],
      },
    ]);
  });

  it.each<[JsonFields, unknown, boolean | undefined]>([
    [{ type: 'auto' }, 'auto', undefined],
    [{ type: 'any', disable_parallel_tool_use: true }, 'required', false],
    [{ type: 'none' }, 'none', undefined],
    [{ type: 'tool', name: 'f' }, { type: 'function', function: { name: 'f' } }, undefined],
  ])('has tools, and tool_choice %j as %j', (choice, expected, parallel) => {
    const tools = [{ name: 'f', description: 'd', input_schema: { type: 'object' } }];
    const request = translate({ tools, tool_choice: choice });
    expect(request.tools).toEqual([
      { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } },
    ]);
    expect([request.tool_choice, request.parallel_tool_calls]).toEqual([expected, parallel]);
  });

  it.each<[string, JsonFields]>([
    ['container', { container: 'c-1' }],
    ['tools[0].type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['tool_choice.type', { tool_choice: { type: 'other' } }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'search_result' }] }] }],
    [
      'messages[0].content[0].source.type',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file' } }] }] },
    ],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
  ])('is refused for %s, by name', (param, request) => {
    expect(() => translate(request)).toThrow(expect.objectContaining({ code: 'untranslatable', param }));
  });
});
