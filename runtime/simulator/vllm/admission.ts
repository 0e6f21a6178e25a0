import type { FaceContext } from '../face-context';
import type { Exchange } from '../http/exchange';
import { hexId } from '../ids';
import type { VllmDialect } from './dialect';
import { badParameter, ENGINE_DEAD, SHUTTING_DOWN, VllmError } from './vllm-error';

/** Refuses new work of a server that is ending. @throws VllmError 500 as the recorded servers answer. */
export function checkPhase({ phase }: FaceContext): void {
  if (phase === 'draining') throw SHUTTING_DOWN;
  if (phase !== 'serving') throw ENGINE_DEAD;
}

/** A prompt that is longer than the context, or with its answer longer where the version does not clamp. */
export interface PromptLength {
  readonly tokens: number;
  /** Whether it came as text: then the engine cuts it when it is too long, and knows only a lower bound. */
  readonly isText: boolean;
  /** `max_tokens` of the request. */
  readonly wanted: number | undefined;
}

/** @throws VllmError 400 when prompt (and answer) do not fit. */
export function checkPromptLength({ tokens, isText, wanted }: PromptLength, maxModelLen: number, dialect: VllmDialect): void {
  const limit = `This model's maximum context length is ${maxModelLen} tokens. However, `;
  if (!dialect.isRecent && wanted !== undefined) {
    if (tokens + wanted <= maxModelLen || wanted > maxModelLen) return;
    const known = isText ? maxModelLen - wanted + 1 : tokens;
    const [atLeast, ofAtLeast] = isText ? ['at least ', 'at least '] : ['', ''];
    throw badParameter(
      `${limit}you requested ${wanted} output tokens and your prompt contains ${atLeast}${known} input tokens, for a total of ${ofAtLeast}${known + wanted} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`,
      'input_tokens',
      String(known),
    );
  }
  if (tokens <= maxModelLen) return;
  const known = isText ? maxModelLen + 1 : tokens;
  throw badParameter(
    `${limit}your prompt contains ${isText ? 'at least ' : ''}${known} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.`,
    'input_tokens',
    String(known),
  );
}

/** @throws VllmError 400 for a token id that the model does not have. */
export function checkVocabulary(ids: readonly number[], vocabularySize: number): void {
  for (const id of ids) {
    if (id >= vocabularySize || id < 0) throw new VllmError(400, `Token id ${id} is out of vocabulary`, 'BadRequestError');
  }
}

/** The request's id: the client's own, or a new one. */
export function requestId(prefix: 'chatcmpl' | 'cmpl', { request }: Exchange, context: FaceContext): string {
  const given = request.headers['x-request-id'];
  return `${prefix}-${typeof given === 'string' && given !== '' ? given : hexId(context.random, 16)}`;
}
