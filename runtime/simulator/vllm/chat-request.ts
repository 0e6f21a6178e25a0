import type { FaceContext } from '../face-context';
import { isObject, type JsonObject } from '../http/json-body';
import { type ChatMessage, textOfContent } from '../tokenizer';
import type { VllmDialect } from './dialect';
import { SAMPLING_FIELDS } from './sampling';
import { type BodySchema, brokenRule } from './validation';
import { badRequest } from './vllm-error';

export const CHAT_SCHEMA: BodySchema = {
  required: ['messages'],
  fields: {
    ...SAMPLING_FIELDS,
    messages: 'list',
    tools: 'list',
    max_completion_tokens: 'int',
    logprobs: 'bool',
    top_logprobs: 'int',
  },
};

/** What vLLM checks of tools and formats before it looks at the model. @throws VllmError */
export function checkToolsAndFormat(body: JsonObject, dialect: VllmDialect): void {
  const format = body.response_format;
  if (isObject(format) && format.type === 'json_schema' && !isObject(format.json_schema)) {
    throw brokenRule(
      {
        message: "When response_format type is 'json_schema', the 'json_schema' field must be provided.",
        param: 'response_format',
        wasNamed: true,
      },
      dialect,
    );
  }
  const choice = body.tool_choice;
  if (choice === undefined || choice === null || choice === 'none') return;
  const tools = Array.isArray(body.tools) ? body.tools : [];
  if (tools.length === 0)
    throw brokenRule({ message: 'When using `tool_choice`, `tools` must be set.', param: 'tool_choice' }, dialect);
  if (!isObject(choice)) return;
  const named = isObject(choice.function) ? choice.function.name : undefined;
  const exists = tools.some((tool: unknown) => isObject(tool) && isObject(tool.function) && tool.function.name === named);
  if (!exists)
    throw brokenRule(
      { message: 'The tool specified in `tool_choice` does not match any of the specified `tools`', param: 'tool_choice' },
      dialect,
    );
}

/** The prompt of a chat as token ids. @throws VllmError for messages that cannot become one. */
export function chatPrompt(body: JsonObject, context: FaceContext, dialect: VllmDialect): readonly number[] {
  const messages = body.messages as readonly unknown[];
  if (messages.length === 0) {
    throw badRequest(
      dialect.isRecent
        ? 'Cannot apply chat template to an empty conversation. Provide at least one message.'
        : 'list index out of range',
    );
  }
  const { plan, tokenizer } = context;
  if (messages.some(hasMedia))
    throw badRequest(`${dialect.isRecent ? plan.servedModelNames[0] : plan.model} is not a multimodal model`);
  const tools = body.tools;
  try {
    const text = tokenizer.renderChat(messages.map(asMessage), {
      addGenerationPrompt: body.add_generation_prompt !== false,
      ...(Array.isArray(tools) && tools.length > 0 ? { tools } : {}),
      ...(isObject(body.chat_template_kwargs) ? { variables: body.chat_template_kwargs } : {}),
    });
    return tokenizer.encode(text);
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}

function asMessage(message: unknown): ChatMessage {
  const fields = isObject(message) ? message : {};
  const calls = fields.tool_calls;
  return {
    ...fields,
    role: String(fields.role ?? 'user'),
    content: textOfContent(fields.content),
    ...(Array.isArray(calls) ? { tool_calls: calls.map(asCall) } : {}),
  };
}

/** Templates are given a call's arguments as a value, not as the text that the API carries. */
function asCall(call: unknown): unknown {
  const called = isObject(call) ? call.function : undefined;
  if (!isObject(call) || !isObject(called) || typeof called.arguments !== 'string') return call;
  try {
    return { ...call, function: { ...called, arguments: JSON.parse(called.arguments) as unknown } };
  } catch {
    return call;
  }
}

function hasMedia(message: unknown): boolean {
  const content = isObject(message) ? message.content : undefined;
  return (
    Array.isArray(content) &&
    content.some((part: unknown) => isObject(part) && typeof part.type === 'string' && part.type !== 'text')
  );
}
