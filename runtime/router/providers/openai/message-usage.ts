import { countOf, fieldsOf, type JsonFields } from '../json-fields';

/** Usage of a chat completion in the words of messages, which count cached tokens apart from the prompt's other ones. */
export function messageUsage(usage: unknown): JsonFields {
  const wire = fieldsOf(usage);
  const details = fieldsOf(wire.prompt_tokens_details);
  const cached = countOf(details.cached_tokens);
  const written = countOf(details.cache_write_tokens);
  return {
    input_tokens: Math.max(0, countOf(wire.prompt_tokens) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: countOf(wire.completion_tokens),
  };
}
