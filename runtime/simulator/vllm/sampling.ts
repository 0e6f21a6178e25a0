import type { AnswerLimits } from '../answer/answer-writer';
import { numberOf } from '../http/field-types';
import { isObject, type JsonObject } from '../http/json-body';
import type { VllmDialect } from './dialect';
import { type BodySchema, brokenRule } from './validation';
import { badParameter, badRequest, pythonNumber } from './vllm-error';

/** How many logprobs vLLM gives at most (`--max-logprobs`). */
const MAX_LOGPROBS = 20;

/** Most choices of a request (`VLLM_MAX_N_SEQUENCES`). */
const MAX_CHOICES = 16_384;

/** Below it sampling is greedy, as in vLLM. */
const GREEDY_TEMPERATURE = 1e-5;

/** Sampling fields of both completion endpoints. */
export const SAMPLING_FIELDS: BodySchema['fields'] = {
  model: 'string',
  max_tokens: 'int',
  min_tokens: 'int',
  n: 'int',
  seed: 'int',
  temperature: 'float',
  top_p: 'float',
  top_k: 'int',
  frequency_penalty: 'float',
  presence_penalty: 'float',
  repetition_penalty: 'float',
  stream: 'bool',
  stream_options: 'object',
  ignore_eos: 'bool',
  stop_token_ids: 'list',
  return_token_ids: 'bool',
  cache_salt: 'string',
  user: 'string',
  kv_transfer_params: 'object',
};

/** What a request asks of sampling. */
export interface Sampling {
  readonly choices: number;
  readonly isGreedy: boolean;
  readonly seed: number | undefined;
  readonly limits: AnswerLimits;
}

/** What the values of a request are checked against. */
export interface SamplingContext {
  readonly maxModelLen: number;
  readonly endOfText: number | undefined;
  readonly dialect: VllmDialect;
}

/** Stream settings of a body. */
export interface Streaming {
  readonly streams: boolean;
  readonly includesUsage: boolean;
  readonly continuousUsage: boolean;
}

/** @throws VllmError when stream options come without a stream. */
export function readStreaming(body: JsonObject, dialect: VllmDialect): Streaming {
  const streams = body.stream === true || body.stream === 1;
  const options = body.stream_options;
  if (!isObject(options)) return { streams, includesUsage: false, continuousUsage: false };
  if (!streams)
    throw brokenRule(
      { message: 'Stream options can only be defined when `stream=True`.', param: 'stream_options', wasNamed: true },
      dialect,
    );
  const includesUsage = options.include_usage === true;
  return { streams, includesUsage, continuousUsage: includesUsage && options.continuous_usage_stats === true };
}

/** @throws VllmError when the salt is empty. */
export function readSalt(body: JsonObject, dialect: VllmDialect): string | undefined {
  const salt = body.cache_salt;
  if (salt === '')
    throw brokenRule({ message: "Parameter 'cache_salt' must be a non-empty string if provided.", param: 'cache_salt' }, dialect);
  return typeof salt === 'string' ? salt : undefined;
}

/**
 * @param room tokens that the context has left behind the prompt; the answer is clamped to it.
 * @param wanted the client's own limit; undefined for as many as there is room.
 * @throws VllmError for a value out of range.
 */
export function readSampling(body: JsonObject, room: number, wanted: number | undefined, context: SamplingContext): Sampling {
  const choices = numberOf(body.n) ?? 1;
  const temperature = numberOf(body.temperature) ?? 1;
  const topP = numberOf(body.top_p) ?? 1;
  const minTokens = numberOf(body.min_tokens) ?? 0;
  const isGreedy = temperature < GREEDY_TEMPERATURE;
  if (wanted !== undefined && wanted > context.maxModelLen) {
    throw badParameter(
      `max_tokens=${wanted} cannot be greater than max_model_len=${context.dialect.isRecent ? '' : 'max_total_tokens='}${context.maxModelLen}. Please request fewer output tokens.`,
      'max_tokens',
      String(wanted),
    );
  }
  if (choices < 1) throw badRequest(`n must be at least 1, got ${choices}.`);
  if (choices > MAX_CHOICES) throw badRequest(`n must be at most ${MAX_CHOICES}, got ${choices}.`);
  if (temperature < 0) {
    throw badParameter(
      `temperature must be non-negative, got ${pythonNumber(temperature)}.`,
      'temperature',
      pythonNumber(temperature),
    );
  }
  if (!(topP > 0 && topP <= 1))
    throw badParameter(`top_p must be in (0, 1], got ${pythonNumber(topP)}.`, 'top_p', pythonNumber(topP));
  const maxTokens = Math.min(wanted ?? room, room);
  if (maxTokens < 1) throw badParameter(`max_tokens must be at least 1, got ${maxTokens}.`, 'max_tokens', String(maxTokens));
  if (minTokens < 0) throw badRequest(`min_tokens must be greater than or equal to 0, got ${minTokens}.`);
  if (minTokens > maxTokens)
    throw badRequest(`min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minTokens}.`);
  if (isGreedy && choices > 1) throw badRequest(`n must be 1 when using greedy sampling, got ${choices}.`);
  return {
    choices,
    isGreedy,
    seed: numberOf(body.seed),
    limits: {
      maxTokens,
      minTokens,
      ignoreEndOfText: body.ignore_eos === true,
      endsAtOnce: forcesEnd(body.logit_bias, context.endOfText),
      stop: readStop(body.stop),
      stopTokenIds: new Set((body.stop_token_ids as readonly number[] | undefined | null) ?? []),
      includeStopInOutput: body.include_stop_str_in_output === true,
    },
  };
}

/** `user`, which stands for the tenant. */
export function readTenant({ user }: JsonObject): { readonly tenant?: string } {
  return typeof user === 'string' && user !== '' ? { tenant: user } : {};
}

/** @throws VllmError when more logprobs are asked for than the engine gives. */
export function checkLogprobs(count: number | undefined): void {
  if (count === undefined || count <= MAX_LOGPROBS) return;
  throw badParameter(
    `Requested sample logprobs of ${count}, which is greater than max allowed: ${MAX_LOGPROBS}`,
    'logprobs',
    String(count),
  );
}

function readStop(stop: unknown): readonly string[] {
  const list = Array.isArray(stop) ? stop : [stop];
  return list.filter((text): text is string => typeof text === 'string' && text !== '');
}

/** A bias of 100 bans all other tokens in practice, so that the answer is empty. */
function forcesEnd(bias: unknown, endOfText: number | undefined): boolean {
  return isObject(bias) && endOfText !== undefined && Number(bias[String(endOfText)] ?? 0) >= 100;
}
