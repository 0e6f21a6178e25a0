import { elementsOf, fieldsOf, type JsonFields, present, stringOf } from '../json-fields';
import { untranslatable } from '../untranslatable';
import { chatMessages } from './chat-messages';

export interface ChatRequestOptions {
  /** Name of the model at the provider. */
  readonly model: string;
  /** OpenAI's own newer models refuse `max_tokens`; many that imitate its API know nothing else. */
  readonly limitMember: 'max_tokens' | 'max_completion_tokens';
}

/** Members that messages have and chat completions cannot express. */
const REFUSED = ['container', 'mcp_servers'] as const;

/**
 * A messages request as a chat completion request. What only advises the model or its cache (`top_k`, `thinking`, `cache_control`,
 * `service_tier`, …) is left out.
 *
 * @throws RouterError `untranslatable` for what would change the answer.
 */
export function chatRequest(request: JsonFields, { model, limitMember }: ChatRequestOptions): JsonFields {
  for (const member of REFUSED) {
    if (present(request)[member] !== undefined) throw untranslatable(member, 'chat completions have no such thing');
  }
  const tools = elementsOf(request.tools).map(toolOf);
  const { effort, format } = fieldsOf(request.output_config);
  const streams = request.stream === true;
  return present({
    model,
    messages: chatMessages(request.system, elementsOf(request.messages)),
    [limitMember]: request.max_tokens,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: toolChoiceOf(request.tool_choice),
    parallel_tool_calls: fieldsOf(request.tool_choice).disable_parallel_tool_use === true ? false : undefined,
    stop: elementsOf(request.stop_sequences).length === 0 ? undefined : request.stop_sequences,
    temperature: request.temperature,
    top_p: request.top_p,
    user: stringOf(fieldsOf(request.metadata).user_id),
    reasoning_effort: effort,
    response_format: formatOf(format),
    stream: request.stream,
    stream_options: streams ? { include_usage: true } : undefined,
  });
}

function toolOf(tool: unknown, index: number): JsonFields {
  const { type, name, description, input_schema: parameters, strict } = fieldsOf(tool);
  if (type !== undefined && type !== null && type !== 'custom') {
    throw untranslatable(`tools[${index}].type`, "the provider's own tools cannot be translated");
  }
  return { type: 'function', function: present({ name, description, parameters, strict }) };
}

function toolChoiceOf(choice: unknown): unknown {
  const { type, name } = fieldsOf(choice);
  switch (type) {
    case undefined:
      return undefined;
    case 'auto':
    case 'none':
      return type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name } };
    default:
      throw untranslatable('tool_choice.type', 'only auto, any, tool and none can be translated');
  }
}

function formatOf(format: unknown): JsonFields | undefined {
  const { type, schema } = fieldsOf(format);
  if (type === undefined) return undefined;
  if (type !== 'json_schema') throw untranslatable('output_config.format.type', 'only json_schema can be translated');
  return { type, json_schema: { name: 'answer', schema, strict: true } };
}
