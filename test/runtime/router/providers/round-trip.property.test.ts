import fc from 'fast-check';
import { chatCompletion } from '../../../../runtime/router/providers/anthropic/chat-completion';
import { ChatStream } from '../../../../runtime/router/providers/anthropic/chat-stream';
import { messagesRequest } from '../../../../runtime/router/providers/anthropic/messages-request';
import type { JsonFields } from '../../../../runtime/router/providers/json-fields';
import { chatRequest } from '../../../../runtime/router/providers/openai/chat-request';
import { message } from '../../../../runtime/router/providers/openai/message';
import { MessageStream } from '../../../../runtime/router/providers/openai/message-stream';
import { eventsOfText, translateStream } from '../../../helpers/translate-stream';

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const json = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as object);
const call = fc.record({ id: fc.uuid(), name: fc.stringMatching(/^[a-z]{1,8}$/), input: json });
const toolCall = call.map(({ id, name, input }) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
}));
const image = fc
  .oneof(
    fc.constant('https://x.example/a.png'),
    fc.base64String({ minLength: 4 }).map((data) => `data:image/png;base64,${data}`),
  )
  .map((url) => ({ type: 'image_url', image_url: { url } }));

/** Turns in their plainest form, one message a side, so that there is one way to write each conversation. */
const userTurn = fc.oneof(
  text.map((content) => ({ role: 'user', content })),
  fc.tuple(text, image).map(([words, picture]) => ({ role: 'user', content: [{ type: 'text', text: words }, picture] })),
);
const assistantTurn = fc.oneof(
  text.map((content) => ({ role: 'assistant', content })),
  fc
    .tuple(fc.option(text), fc.array(toolCall, { minLength: 1, maxLength: 3 }))
    .map(([content, tool_calls]) => ({ role: 'assistant', content, tool_calls })),
);
const exchange = fc.tuple(userTurn, assistantTurn).map((turns): JsonFields[] => [...turns]);
const tool = fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), description: text, parameters: json });

const chat = fc.record(
  {
    system: text,
    exchanges: fc.array(exchange, { maxLength: 4 }),
    last: userTurn,
    max_tokens: fc.integer({ min: 1, max: 10_000 }),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    stop: fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 3 }),
    user: text,
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    tool_choice: fc.constantFrom('auto', 'required', 'none', { type: 'function', function: { name: 'f' } }),
  },
  { requiredKeys: ['exchanges', 'last', 'max_tokens'] },
);

describe('a request that goes to the other API and back', () => {
  it('is what it was', () => {
    fc.assert(
      fc.property(chat, ({ system, exchanges, last, tools, ...rest }) => {
        const request: JsonFields = {
          model: 'm',
          messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...exchanges.flat(), last],
          ...(tools === undefined ? {} : { tools: tools.map((each) => ({ type: 'function', function: each })) }),
          ...rest,
        };
        const there = messagesRequest(request, 'claude');
        expect(chatRequest(there, { model: 'm', limitMember: 'max_tokens' })).toEqual(request);
      }),
    );
  });
});

const usage = fc.record({ cached: fc.nat(1000), fresh: fc.nat(1000), output: fc.nat(1000) }).map(({ cached, fresh, output }) => ({
  prompt_tokens: cached + fresh,
  completion_tokens: output,
  total_tokens: cached + fresh + output,
  prompt_tokens_details: { cached_tokens: cached },
}));
const ending = fc.constantFrom('stop', 'length', 'content_filter');

describe('an answer that goes to the other API and back', () => {
  it('is what it was, as a document', () => {
    fc.assert(
      fc.property(text, fc.array(toolCall, { maxLength: 3 }), ending, usage, (content, calls, reason, used) => {
        const answer = { role: 'assistant', content, refusal: null, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
        const finish_reason = calls.length === 0 || reason !== 'stop' ? reason : 'tool_calls';
        const completion = {
          id: 'c-1',
          object: 'chat.completion',
          created: 5,
          model: 'gpt',
          choices: [{ index: 0, message: answer, logprobs: null, finish_reason }],
          usage: used,
        };
        expect(chatCompletion(message(completion), 5)).toEqual(completion);
      }),
    );
  });

  it('says the same, as a stream', () => {
    const pieces = fc.array(text, { minLength: 1, maxLength: 5 });
    const calls = fc.array(fc.record({ id: fc.uuid(), name: fc.stringMatching(/^[a-z]{1,8}$/), pieces }), { maxLength: 3 });
    fc.assert(
      fc.property(fc.option(pieces), calls, usage, fc.nat(), (words, called, used, at) => {
        const chunk = (delta: JsonFields, finish_reason: string | null = null): JsonFields => ({
          id: 'c-1',
          object: 'chat.completion.chunk',
          created: 5,
          model: 'gpt',
          choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        });
        const chunks = [
          chunk({ role: 'assistant', content: '' }),
          ...(words ?? []).map((content) => chunk({ content })),
          ...called.flatMap(({ id, name, pieces: parts }, index) => [
            chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
            ...parts.map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
          ]),
          chunk({}, called.length === 0 ? 'stop' : 'tool_calls'),
          { ...chunk({}), choices: [], usage: used },
        ];
        const stream = Buffer.from(
          [...chunks.map((each) => JSON.stringify(each)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
        );
        const cut = at % stream.length;
        const there = translateStream(new MessageStream(), [stream.subarray(0, cut), stream.subarray(cut)]);
        const back = translateStream(new ChatStream({ createdSeconds: 5, includesUsage: true }), [Buffer.from(there)]);
        expect(eventsOfText(back)).toEqual([...chunks, '[DONE]']);
      }),
    );
  });
});
