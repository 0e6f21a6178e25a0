import { chatCompletion } from '../../../../runtime/router/providers/anthropic/chat-completion';
import type { JsonFields } from '../../../../runtime/router/providers/json-fields';
import { message } from '../../../../runtime/router/providers/openai/message';

const choiceOf = (completion: JsonFields): JsonFields => (completion.choices as readonly JsonFields[])[0]!;

describe('a message as a chat completion', () => {
  const whole: JsonFields = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'It ' },
      { type: 'text', text: 'rains.' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { x: [1] } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 10, cache_creation_input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 7 },
  };

  it('has text, reasoning, calls and usage in their words', () => {
    expect(chatCompletion(whole, 1_700_000_000)).toEqual({
      id: 'msg_1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'claude',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'It rains.',
            refusal: null,
            reasoning: 'hm',
            tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"x":[1]}' } }],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 18, completion_tokens: 7, total_tokens: 25, prompt_tokens_details: { cached_tokens: 5 } },
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['tool_use', 'tool_calls'],
    ['something new', 'stop'],
  ])('that ended for %s ends for %s', (reason, expected) => {
    expect(choiceOf(chatCompletion({ ...whole, stop_reason: reason }, 0)).finish_reason).toBe(expected);
  });

  it('has null as content when it only calls tools', () => {
    const content = [{ type: 'tool_use', id: 'a', name: 'f' }];
    expect(choiceOf(chatCompletion({ ...whole, content }, 0)).message).toMatchObject({ content: null });
  });
});

describe('a chat completion as a message', () => {
  const completion = (choice: JsonFields): JsonFields => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt',
    choices: [{ index: 0, ...choice }],
    usage: { prompt_tokens: 18, completion_tokens: 7, total_tokens: 25, prompt_tokens_details: { cached_tokens: 5 } },
  });
  const call = (text: string) => ({ id: 'call_1', type: 'function', function: { name: 'f', arguments: text } });

  it('has text, calls and usage in their words', () => {
    const answer = { role: 'assistant', content: 'It rains.', tool_calls: [call('{"x":[1]}')] };
    expect(message(completion({ message: answer, finish_reason: 'tool_calls' }))).toEqual({
      id: 'chatcmpl-1',
      type: 'message',
      role: 'assistant',
      model: 'gpt',
      content: [
        { type: 'text', text: 'It rains.' },
        { type: 'tool_use', id: 'call_1', name: 'f', input: { x: [1] } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 13, cache_creation_input_tokens: 0, cache_read_input_tokens: 5, output_tokens: 7 },
    });
  });

  it.each<[JsonFields, string, string | null]>([
    [{ finish_reason: 'stop' }, 'end_turn', null],
    [{ finish_reason: 'stop', stop_reason: 'END' }, 'stop_sequence', 'END'],
    [{ finish_reason: 'stop', stop_reason: 151645 }, 'end_turn', null],
    [{ finish_reason: 'length' }, 'max_tokens', null],
    [{ finish_reason: 'content_filter' }, 'refusal', null],
    // What vLLM answers when the request names the tool.
    [{ finish_reason: 'stop', message: { tool_calls: [call('{}')] } }, 'tool_use', null],
  ])('that ended as %j ends for %s', (choice, reason, sequence) => {
    const answer = message(completion({ message: { content: 'x' }, ...choice }));
    expect([answer.stop_reason, answer.stop_sequence]).toEqual([reason, sequence]);
  });

  it('leaves out a call that was cut off at the limit, and throws for one that is broken otherwise', () => {
    const cut = { message: { content: 'x', tool_calls: [call('{"x":')] } };
    expect(message(completion({ ...cut, finish_reason: 'length' })).content).toEqual([{ type: 'text', text: 'x' }]);
    expect(() => message(completion({ ...cut, finish_reason: 'tool_calls' }))).toThrow(SyntaxError);
  });

  it('tells a refusal as text', () => {
    const refused = message(completion({ message: { content: null, refusal: 'no' }, finish_reason: 'stop' }));
    expect(refused.content).toEqual([{ type: 'text', text: 'no' }]);
  });
});
