import { type JsonFields, stringOf } from '../json-fields';

/** How a message ended. */
export interface MessageEnd {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/**
 * How a message ended, by the choice of a chat completion.
 *
 * @param choice engines name the stop sequence that was met in its `stop_reason`.
 * @param hasCalls the answer calls tools, for which engines say `stop` where the request named the tool.
 */
export function messageEnd(choice: JsonFields, hasCalls: boolean): MessageEnd {
  const sequence = stringOf(choice.stop_reason) ?? null;
  switch (choice.finish_reason) {
    case 'length':
      return { stop_reason: 'max_tokens', stop_sequence: null };
    case 'content_filter':
      return { stop_reason: 'refusal', stop_sequence: null };
    default:
      if (hasCalls) return { stop_reason: 'tool_use', stop_sequence: null };
      return { stop_reason: sequence === null ? 'end_turn' : 'stop_sequence', stop_sequence: sequence };
  }
}
