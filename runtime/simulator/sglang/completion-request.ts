import type { IncomingHttpHeaders } from 'node:http';
import type { FaceContext } from '../face-context';
import type { GenerationInput } from '../generation';
import { type FieldType, mismatch, numberOf } from '../http/field-types';
import { isObject, type JsonObject, readJson } from '../http/json-body';
import { hexId } from '../ids';
import { type ChatMessage, textOfContent } from '../tokenizer';
import { planInputs, readStop } from './plan-inputs';
import { SglangError } from './sglang-error';

const MEDIA_TYPE_MESSAGE =
  "{'loc': ['header', 'content-type'], 'msg': \"Unsupported Media Type: Only 'application/json' is allowed\", 'type': 'value_error'}";

/** `max_tokens` of the completions API when the client gives none. */
const DEFAULT_COMPLETION_TOKENS = 16;

const FIELDS: Readonly<Record<string, FieldType>> = {
  model: 'string',
  messages: 'list',
  tools: 'list',
  max_tokens: 'int',
  max_completion_tokens: 'int',
  min_tokens: 'int',
  n: 'int',
  seed: 'int',
  temperature: 'float',
  stop_token_ids: 'list',
  stream: 'bool',
  stream_options: 'object',
  ignore_eos: 'bool',
};

/** Stream settings of a body. */
export interface SglangStreaming {
  readonly streams: boolean;
  readonly includesUsage: boolean;
  readonly continuousUsage: boolean;
}

/** One request of either endpoint, read. */
export interface CompletionRequest {
  readonly id: string;
  /** What the answer repeats as `model`: any name is served by the base model. */
  readonly model: string;
  readonly inputs: readonly GenerationInput[];
  readonly choicesPerPrompt: number;
  readonly streaming: SglangStreaming;
  readonly echoes: boolean;
  /** Likeliest tokens beside each one; undefined without logprobs. */
  readonly logprobs: number | undefined;
}

/** A request beside its read body. */
export interface RawRequest {
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

/** @throws SglangError */
export function readBody(body: Buffer, headers: IncomingHttpHeaders): JsonObject {
  const json = readJson(body, headers['content-type']);
  if (json.kind === 'wrong-content-type') {
    throw new SglangError(`1 validation error:\n  ${MEDIA_TYPE_MESSAGE} [${MEDIA_TYPE_MESSAGE}]`, 'Bad Request');
  }
  if (json.kind !== 'json' || !isObject(json.value)) {
    throw new SglangError(
      "1 validation error:\n  {'type': 'json_invalid', 'loc': ('body',), 'msg': 'JSON decode error'}",
      'Bad Request',
    );
  }
  for (const [field, type] of Object.entries(FIELDS)) {
    const value = json.value[field];
    const wrong = value === undefined || value === null ? undefined : mismatch(type, value);
    if (wrong !== undefined) throw invalidField(wrong.type, field, wrong.msg);
  }
  return json.value;
}

/** The recorded messages go on with the server's own source lines, which a client cannot use. */
function invalidField(type: string, field: string, message: string): SglangError {
  return new SglangError(
    `1 validation error:\n  {'type': '${type}', 'loc': ('body', '${field}'), 'msg': '${message}'}`,
    'Bad Request',
  );
}

/** @throws SglangError */
export function readChat(body: JsonObject, raw: RawRequest, context: FaceContext): CompletionRequest {
  const { messages, tools } = body;
  if (!Array.isArray(messages)) throw invalidField('missing', 'messages', 'Field required');
  if (messages.length === 0) throw new SglangError('Messages cannot be empty.');
  const text = context.tokenizer.renderChat(messages.map(asMessage), {
    addGenerationPrompt: true,
    ...(Array.isArray(tools) && tools.length > 0 ? { tools } : {}),
  });
  return read(body, raw, [context.tokenizer.encode(text)], undefined, context);
}

/** @throws SglangError */
export function readCompletion(body: JsonObject, raw: RawRequest, context: FaceContext): CompletionRequest {
  const { prompt } = body;
  if (prompt === undefined || prompt === null || prompt === '' || (Array.isArray(prompt) && prompt.length === 0)) {
    throw new SglangError('Prompt cannot be empty');
  }
  const list: readonly unknown[] = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt : [prompt];
  const prompts = list.map((one) => (Array.isArray(one) ? one.map(Number) : context.tokenizer.encode(String(one))));
  return read(body, raw, prompts, DEFAULT_COMPLETION_TOKENS, context);
}

function read(
  body: JsonObject,
  raw: RawRequest,
  prompts: readonly (readonly number[])[],
  defaultTokens: number | undefined,
  context: FaceContext,
): CompletionRequest {
  const model = typeof body.model === 'string' ? body.model : 'default';
  const choices = numberOf(body.n) ?? 1;
  const streams = body.stream === true;
  const id = typeof body.rid === 'string' ? body.rid : hexId(context.random, 32);
  const options = isObject(body.stream_options) ? body.stream_options : {};
  const wanted = numberOf(body.max_completion_tokens ?? body.max_tokens) ?? defaultTokens;
  const inputs = planInputs(
    {
      body,
      ...raw,
      prompts,
      ids: prompts.map(() => id),
      choices,
      wanted,
      minTokens: numberOf(body.min_tokens) ?? 0,
      temperature: numberOf(body.temperature) ?? 1,
      seed: numberOf(body.seed),
      ignoresEnd: body.ignore_eos === true,
      stop: readStop(body.stop),
      stopTokenIds: new Set((body.stop_token_ids as readonly number[] | undefined | null) ?? []),
      keepsStop: body.no_stop_trim === true,
      streams,
      adapter: adapterOf(model, context),
    },
    context,
  );
  const includesUsage = options.include_usage === true;
  return {
    id,
    model,
    inputs,
    choicesPerPrompt: choices,
    streaming: { streams, includesUsage, continuousUsage: options.continuous_usage_stats === true },
    echoes: body.echo === true,
    logprobs: readLogprobs(body),
  };
}

/** Likeliest tokens that stand beside each token; undefined when no logprobs were asked for. */
function readLogprobs({ logprobs, top_logprobs: top }: JsonObject): number | undefined {
  if (logprobs === true) return numberOf(top) ?? 0;
  return typeof logprobs === 'number' ? logprobs : undefined;
}

/** `model:adapter` names an adapter; every other name is the base model. */
export function adapterOf(model: string, { adapters, plan }: FaceContext): string | undefined {
  const colon = model.lastIndexOf(':');
  if (colon < 0 || plan.servedModelNames.includes(model)) return undefined;
  const adapter = model.slice(colon + 1);
  if (adapters.has(adapter)) return adapter;
  throw new SglangError(
    plan.maxLoras < 1
      ? `LoRA adapter '${adapter}' was requested, but LoRA is not enabled. Please launch the server with --enable-lora flag and preload adapters using --lora-paths or /load_lora_adapter endpoint.`
      : `LoRA adapter '${adapter}' was requested, but it is not loaded. Loaded adapters: ${[...adapters.keys()].join(', ')}.`,
  );
}

function asMessage(message: unknown): ChatMessage {
  const fields = isObject(message) ? message : {};
  return { ...fields, role: String(fields.role ?? 'user'), content: textOfContent(fields.content) };
}
