import { countOf, fieldsOf, type JsonFields } from '../json-fields';

/** Usage of a message in the words of chat completions, which count cached tokens among the prompt's. */
export function chatUsage(usage: unknown): JsonFields {
  const wire = fieldsOf(usage);
  const cached = countOf(wire.cache_read_input_tokens);
  const prompt = countOf(wire.input_tokens) + countOf(wire.cache_creation_input_tokens) + cached;
  const completion = countOf(wire.output_tokens);
  const { thinking_tokens: thinking } = fieldsOf(wire.output_tokens_details);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    ...(thinking === undefined ? {} : { completion_tokens_details: { reasoning_tokens: countOf(thinking) } }),
  };
}
