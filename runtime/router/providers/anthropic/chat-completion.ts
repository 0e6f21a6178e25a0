import { elementsOf, fieldsOf, type JsonFields } from '../json-fields';
import { chatUsage } from './chat-usage';
import { finishReason } from './finish-reason';

/**
 * A message as a chat completion. Thinking is told in `reasoning`, as engines do; blocks of the provider's own tools are left out.
 *
 * @param createdSeconds epoch.
 */
export function chatCompletion(message: JsonFields, createdSeconds: number): JsonFields {
  const blocks = elementsOf(message.content).map(fieldsOf);
  const joined = (type: string, member: string): string =>
    blocks.flatMap((block) => (block.type === type ? [String(block[member] ?? '')] : [])).join('');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCallOf);
  const text = joined('text', 'text');
  const reasoning = joined('thinking', 'thinking');
  return {
    id: message.id,
    object: 'chat.completion',
    created: createdSeconds,
    model: message.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' && calls.length > 0 ? null : text,
          refusal: null,
          ...(reasoning === '' ? {} : { reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(message.stop_reason),
      },
    ],
    usage: chatUsage(message.usage),
  };
}

function toolCallOf({ id, name, input }: JsonFields): JsonFields {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}
