import type { ReadRequest } from '../request';
import { type JsonMember, scanNow } from '../request/json-object';

/** How a prompt becomes tokens. */
export type TokenizeRequest =
  | { readonly kind: 'ask'; readonly body: string }
  /** The client sent tokens. */
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] }
  /** Several prompts, no prompt, or a path whose prompt is rendered in another way. */
  | { readonly kind: 'none' };

const NONE: TokenizeRequest = { kind: 'none' };
const CHAT = ['messages', 'tools', 'chat_template_kwargs'] as const;
const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
/** The body was checked against the configured depth before. */
const MAX_DEPTH = 10_000;

/**
 * What `/tokenize` of an engine is asked so that it renders the prompt as it will for the request itself. Values are passed on as the
 * bytes that they came in.
 *
 * @param model as the engine calls it.
 */
export function tokenizeRequest({ head, body }: ReadRequest, model: string, engine: 'vLLM' | 'SGLang'): TokenizeRequest {
  const { path } = head.api;
  const wanted: readonly string[] = path === '/v1/chat/completions' ? CHAT : path === '/v1/completions' ? ['prompt'] : [];
  if (wanted.length === 0) return NONE;
  const scan = scanNow(body, 0, body.length, { useOf: (key) => (wanted.includes(key) ? 'read' : 'skip'), maxDepth: MAX_DEPTH });
  if (scan.kind === 'invalid') return NONE;
  const raw = ({ valueStart, valueEnd }: JsonMember): string => body.toString('utf8', valueStart, valueEnd);
  const spelt = engine === 'vLLM' ? ',"return_token_strs":false' : '';
  const named = `"model":${JSON.stringify(model)}`;
  if (path === '/v1/chat/completions') {
    if (!scan.members.some(({ key }) => key === 'messages')) return NONE;
    const members = scan.members.map((member) => `${JSON.stringify(member.key)}:${raw(member)}`).join(',');
    const generation = engine === 'vLLM' ? ',"add_generation_prompt":true' : '';
    return { kind: 'ask', body: `{${named},${members},"add_special_tokens":false${generation}${spelt}}` };
  }
  const [prompt] = scan.members;
  if (prompt?.firstByte === QUOTE) {
    return { kind: 'ask', body: `{${named},"prompt":${raw(prompt)},"add_special_tokens":true${spelt}}` };
  }
  const tokens: unknown = prompt?.firstByte === OPEN_BRACKET ? JSON.parse(raw(prompt)) : undefined;
  return isTokens(tokens) ? { kind: 'tokens', tokens } : NONE;
}

/** Whether a value is a list of token ids. */
export function isTokens(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => Number.isInteger(each) && each >= 0);
}
