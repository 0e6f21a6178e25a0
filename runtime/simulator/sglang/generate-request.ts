import type { IncomingHttpHeaders } from 'node:http';
import type { FaceContext } from '../face-context';
import type { GenerationInput } from '../generation';
import { numberOf } from '../http/field-types';
import { isObject, type JsonObject, readJson } from '../http/json-body';
import { planInputs, readStop } from './plan-inputs';
import { SglangError } from './sglang-error';

/** SGLang's `max_new_tokens` when the client gives none. */
const DEFAULT_NEW_TOKENS = 128;

/** A request of SGLang's own API, read. */
export interface GenerateRequest {
  readonly inputs: readonly GenerationInput[];
  readonly streams: boolean;
  /** Whether the answer is a list. */
  readonly isList: boolean;
}

/** @throws SglangError */
export function readGenerate(bytes: Buffer, headers: IncomingHttpHeaders, context: FaceContext): GenerateRequest {
  const json = readJson(bytes, headers['content-type'] ?? 'application/json');
  if (json.kind !== 'json' || !isObject(json.value)) throw new SglangError('JSON decode error');
  const body = json.value;
  const { prompts, isList } = readPrompts(body, context);
  const sampling = isObject(body.sampling_params) ? body.sampling_params : {};
  const choices = numberOf(sampling.n) ?? 1;
  const { rid } = body;
  const streams = body.stream === true;
  const inputs = planInputs(
    {
      body,
      text: bytes.toString('utf8'),
      headers,
      prompts,
      ids: Array.isArray(rid) ? rid.map(String) : typeof rid === 'string' ? prompts.map(() => rid) : [],
      choices,
      wanted: numberOf(sampling.max_new_tokens) ?? DEFAULT_NEW_TOKENS,
      minTokens: numberOf(sampling.min_new_tokens) ?? 0,
      temperature: numberOf(sampling.temperature) ?? 1,
      seed: numberOf(sampling.sampling_seed),
      ignoresEnd: sampling.ignore_eos === true,
      stop: readStop(sampling.stop),
      stopTokenIds: new Set((sampling.stop_token_ids as readonly number[] | undefined | null) ?? []),
      keepsStop: sampling.no_stop_trim === true,
      streams,
      adapter: typeof body.lora_path === 'string' && context.adapters.has(body.lora_path) ? body.lora_path : undefined,
    },
    context,
  );
  return { inputs, streams, isList: isList || choices > 1 };
}

/** A text, token ids, or a list of either. */
function readPrompts(
  { text, input_ids: ids }: JsonObject,
  { tokenizer }: FaceContext,
): { readonly prompts: readonly (readonly number[])[]; readonly isList: boolean } {
  if (typeof text === 'string') return { prompts: [tokenizer.encode(text)], isList: false };
  if (Array.isArray(text)) return { prompts: text.map((one) => tokenizer.encode(String(one))), isList: true };
  if (Array.isArray(ids) && ids.length > 0) {
    return Array.isArray(ids[0])
      ? { prompts: ids.map((one: unknown) => (Array.isArray(one) ? one.map(Number) : [])), isList: true }
      : { prompts: [ids.map(Number)], isList: false };
  }
  throw new SglangError('Either text, input_ids or input_embeds should be provided.');
}
