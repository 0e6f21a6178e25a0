import { elementsOf, fieldsOf, type JsonFields, present, stringOf } from '../json-fields';
import { untranslatable } from '../untranslatable';
import { messagesOf } from './messages-turns';

/** Answers may be this long when the client sets no limit, which a messages request must have: every model of theirs takes it. */
const DEFAULT_MAX_TOKENS = 4096;

/** Members of which the shape of the answer depends, and that messages have no equivalent of. */
const REFUSED: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value !== 1,
  logprobs: (value) => value === true,
  functions: () => true,
  function_call: () => true,
  audio: () => true,
  modalities: (value) => elementsOf(value).some((modality) => modality !== 'text'),
  web_search_options: () => true,
};

/**
 * A chat completion request as a messages request. What only advises the model (`seed`, penalties, `logit_bias`, `metadata`, `store`,
 * `service_tier`, …) is left out.
 *
 * @param chat body of the request. @param model name of the model at the provider.
 * @throws RouterError `untranslatable` for what would change the answer.
 */
export function messagesRequest(chat: JsonFields, model: string): JsonFields {
  for (const [member, isRefused] of Object.entries(REFUSED)) {
    const value = chat[member];
    if (value !== undefined && value !== null && isRefused(value))
      throw untranslatable(member, 'the messages API has no such thing');
  }
  const { system, messages } = messagesOf(elementsOf(chat.messages));
  const tools = elementsOf(chat.tools).map(toolOf);
  const format = formatOf(chat.response_format);
  const effort = stringOf(chat.reasoning_effort);
  const outputConfig = present({ format, effort: effort === 'none' ? undefined : effort === 'minimal' ? 'low' : effort });
  const user = stringOf(chat.safety_identifier) ?? stringOf(chat.user);
  const { temperature } = chat;
  return present({
    model,
    max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? DEFAULT_MAX_TOKENS,
    system: system === '' ? undefined : system,
    messages,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: toolChoiceOf(chat.tool_choice, chat.parallel_tool_calls, tools.length > 0),
    stop_sequences: stopsOf(chat.stop),
    stream: chat.stream,
    // Theirs ends at 1 and OpenAI's at 2; their own OpenAI endpoint caps it as well.
    temperature: typeof temperature === 'number' ? Math.min(1, temperature) : temperature,
    top_p: chat.top_p,
    top_k: chat.top_k,
    metadata: user === undefined ? undefined : { user_id: user },
    thinking: effort === 'none' ? { type: 'disabled' } : undefined,
    output_config: Object.keys(outputConfig).length === 0 ? undefined : outputConfig,
  });
}

function toolOf(tool: unknown, index: number): JsonFields {
  const { type, function: definition } = fieldsOf(tool);
  if (type !== 'function') throw untranslatable(`tools[${index}].type`, 'only functions can be translated');
  const { name, description, parameters, strict } = fieldsOf(definition);
  return present({ name, description, input_schema: parameters ?? { type: 'object', properties: {} }, strict });
}

function toolChoiceOf(choice: unknown, parallel: unknown, hasTools: boolean): JsonFields | undefined {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  switch (choice) {
    case undefined:
    case null:
      return parallel === false && hasTools ? { type: 'auto', ...single } : undefined;
    case 'auto':
      return { type: 'auto', ...single };
    case 'required':
      return { type: 'any', ...single };
    case 'none':
      return { type: 'none' };
  }
  const { type, function: named } = fieldsOf(choice);
  if (type !== 'function') throw untranslatable('tool_choice', 'only auto, required, none and a function can be translated');
  return { type: 'tool', name: fieldsOf(named).name, ...single };
}

/** Sequences of white space alone are refused by the messages API. */
function stopsOf(stop: unknown): readonly unknown[] | undefined {
  const stops = (typeof stop === 'string' ? [stop] : elementsOf(stop)).filter((each) => stringOf(each)?.trim() !== '');
  return stops.length === 0 ? undefined : stops;
}

function formatOf(format: unknown): JsonFields | undefined {
  const { type, json_schema: named } = fieldsOf(format);
  if (type === undefined || type === 'text') return undefined;
  if (type !== 'json_schema') throw untranslatable('response_format', 'only text and json_schema can be translated');
  return { type: 'json_schema', schema: fieldsOf(named).schema };
}
