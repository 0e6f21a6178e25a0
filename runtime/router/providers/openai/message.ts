import { elementsOf, fieldsOf, type JsonFields, stringOf } from '../json-fields';
import { messageUsage } from './message-usage';
import { messageEnd } from './stop-reason';

/**
 * A chat completion as a message.
 *
 * @throws SyntaxError when the arguments of a call are no JSON, unless the answer ended at its limit: such a call is left out.
 */
export function message(completion: JsonFields): JsonFields {
  const choice = fieldsOf(elementsOf(completion.choices)[0]);
  const answer = fieldsOf(choice.message);
  const texts = [answer.content, answer.refusal].flatMap((text) => {
    const found = stringOf(text) ?? '';
    return found === '' ? [] : [{ type: 'text', text: found }];
  });
  const calls = elementsOf(answer.tool_calls).flatMap((call) => toolUse(fieldsOf(call), choice.finish_reason === 'length'));
  return {
    id: completion.id,
    type: 'message',
    role: 'assistant',
    model: completion.model,
    content: [...texts, ...calls],
    ...messageEnd(choice, calls.length > 0),
    usage: messageUsage(completion.usage),
  };
}

function toolUse(call: JsonFields, isCut: boolean): readonly JsonFields[] {
  const { name, arguments: text } = fieldsOf(call.function);
  try {
    const input: unknown = JSON.parse(stringOf(text) || '{}');
    return [{ type: 'tool_use', id: call.id, name, input }];
  } catch (error) {
    if (isCut) return [];
    throw error;
  }
}
