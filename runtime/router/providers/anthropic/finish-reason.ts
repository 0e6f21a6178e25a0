/** `stop_reason` of messages → `finish_reason` of chat completions. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** Why a chat completion ended, by why the message did; reasons that chat completions do not tell apart are `stop`. */
export function finishReason(stopReason: unknown): string {
  return (typeof stopReason === 'string' ? FINISH_REASONS[stopReason] : undefined) ?? 'stop';
}
