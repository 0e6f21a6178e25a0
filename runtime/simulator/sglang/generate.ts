import type { FaceContext } from '../face-context';
import type { Generation } from '../generation';
import { type Exchange, type Handler, openEventStream, sendEvent, sendJson } from '../http/exchange';
import { type ChoicesSink, serveChoices } from '../serve-choices';
import { type GenerateRequest, readGenerate } from './generate-request';
import { FatalToken } from './plan-inputs';
import { matchedStop } from './sglang-completions';
import { SglangError, transferError, transferEvent, UNAVAILABLE } from './sglang-error';

/** `POST /generate`, SGLang's own API. */
export function generate(context: FaceContext): Handler {
  return ({ request, response, body }) => {
    try {
      if (context.phase !== 'serving') throw UNAVAILABLE;
      const read = readGenerate(body, request.headers, context);
      const id = read.inputs[0]!.id;
      serveChoices(
        context,
        response,
        read.inputs,
        read.streams ? streamed(context, response, read) : whole(context, response, read),
        id,
      );
    } catch (error) {
      if (error instanceof SglangError) return error.sendNative(response);
      if (!(error instanceof FatalToken)) throw error;
      context.crash();
      response.socket?.destroy();
    }
  };
}

/** One answer, or a list of them where the request was a list. */
function whole(context: FaceContext, response: Exchange['response'], read: GenerateRequest): ChoicesSink {
  const send = (generations: readonly Generation[], isAborted: boolean): void => {
    const answers = generations.map((generation) => {
      const count = generation.generatedTokens;
      return {
        ...textOf(generation, count),
        meta_info: metaInfo(context, generation, { count, end: isAborted ? 'abort' : 'done' }),
      };
    });
    sendJson(response, 200, read.isList ? answers : answers[0]);
  };
  return {
    onToken: () => undefined,
    onDone: (generations) => send(generations, false),
    onAborted: (generations) => send(generations, true),
    onCrash: () => UNAVAILABLE.sendNative(response),
    onLoadFailed: ({ input }) => transferError(input.handOff?.failure ?? '').send(response),
  };
}

/** An event a token, each with all text so far. */
function streamed(context: FaceContext, response: Exchange['response'], read: GenerateRequest): ChoicesSink {
  openEventStream(response);
  const send = (index: number, generation: Generation, count: number, end: 'open' | 'done' | 'abort'): void =>
    sendEvent(
      response,
      JSON.stringify({
        ...textOf(generation, count),
        meta_info: metaInfo(context, generation, { count, end, isStreamed: true }),
        ...(read.isList ? { index } : {}),
      }),
    );
  const finish = (): void => {
    sendEvent(response, '[DONE]');
    response.end();
  };
  return {
    onToken: (index, tokenIndex, generation) =>
      send(index, generation, tokenIndex + 1, tokenIndex === generation.outputTokens - 1 ? 'done' : 'open'),
    onDone: finish,
    onAborted(generations) {
      for (const [index, generation] of generations.entries())
        if (generation.generatedTokens < generation.outputTokens) send(index, generation, generation.generatedTokens, 'abort');
      finish();
    },
    onCrash() {
      response.socket?.destroy();
    },
    onLoadFailed({ input }) {
      sendEvent(response, transferEvent(input.handOff?.failure ?? ''));
      finish();
    },
  };
}

function textOf(
  { input: { answer } }: Generation,
  count: number,
): { readonly text: string; readonly output_ids: readonly number[] } {
  const tokens = Array.from({ length: count }, (_, i) => answer.token(i));
  return { text: tokens.map(({ text }) => text).join(''), output_ids: tokens.map(({ id }) => id) };
}

interface Progress {
  /** Tokens so far. */
  readonly count: number;
  readonly end: 'open' | 'done' | 'abort';
  readonly isStreamed?: boolean;
}

/** `meta_info`, its members in the recorded order; times are seconds of the engine's clock. */
function metaInfo(context: FaceContext, generation: Generation, { count, end, isStreamed = false }: Progress): object {
  const { clock, transfer } = context;
  const { input, admittedAtMs, firstTokenAtMs, cachedTokens = 0 } = generation;
  const nowMs = clock.monotonic();
  const epochMs = clock.now() - nowMs;
  const admitted = admittedAtMs ?? nowMs;
  const firstToken = firstTokenAtMs ?? nowMs;
  const at = (ms: number): number => (epochMs + ms) / 1000;
  const isDecode = transfer?.role === 'decode';
  const decodeSeconds = (nowMs - firstToken) / 1000;
  const versions = { weight_versions: [{ version: 'default', start: 0, end: count }] };
  const sent = { response_sent_to_client_ts: at(nowMs) };
  const firstSent = { response_sent_to_client_ts: at(firstToken) };
  const throughput =
    count > 1 && transfer === undefined ? { decode_throughput: decodeSeconds > 0 ? (count - 1) / decodeSeconds : 0 } : {};
  return {
    id: input.id,
    finish_reason: end === 'open' ? null : finishReason(context, generation, count, end),
    prompt_tokens: generation.promptTokens,
    weight_version: 'default',
    num_retractions: 0,
    ...(isDecode ? {} : { storage_prefetch_wait: 0, storage_staging_wait: 0 }),
    forward_entry_time: at(admitted),
    ...(isDecode ? {} : { prefill_finished_time: at(firstToken) }),
    queue_time: (admitted - input.arrivedAtMs) / 1000,
    reasoning_tokens: 0,
    completion_tokens: count,
    cached_tokens: cachedTokens,
    ...(end === 'open' ? {} : versions),
    cached_tokens_details: cachedTokens > 0 ? { device: cachedTokens, host: 0 } : null,
    dp_rank: context.ranks.length > 1 ? generation.rank : null,
    ...(end === 'open'
      ? count === 1
        ? sent
        : {}
      : {
          e2e_latency: (nowMs - input.arrivedAtMs) / 1000,
          request_received_ts: at(input.arrivedAtMs),
          first_token_latency: (firstToken - input.arrivedAtMs) / 1000,
          api_server_dispatch_finish_ts: at(input.arrivedAtMs),
          ...(isStreamed ? firstSent : {}),
          request_finished_ts: at(nowMs),
          ...throughput,
          ...(isStreamed ? {} : sent),
        }),
  };
}

function finishReason(context: FaceContext, generation: Generation, count: number, end: 'done' | 'abort'): object {
  if (end === 'abort') return { type: 'abort', message: 'Aborted', status_code: null, err_type: null };
  // Recorded: prefill's own end has the length 0.
  if (context.transfer?.role === 'prefill') return { type: 'length', length: 0 };
  const matched = matchedStop(context, generation);
  return matched === null ? { type: 'length', length: count } : { type: 'stop', matched };
}

/** `POST /abort_request`: ends a request by its id, or all. An unknown id is no error. */
export function abortRequest({ requests }: FaceContext): Handler {
  return ({ response, body }) => {
    let fields: { readonly rid?: unknown; readonly abort_all?: unknown } = {};
    try {
      fields = (JSON.parse(body.toString('utf8')) ?? {}) as typeof fields;
    } catch {
      // Then nothing is named.
    }
    if (fields.abort_all === true) requests.abort(undefined);
    else if (typeof fields.rid === 'string') requests.abort(fields.rid);
    response.removeHeader('connection');
    response.writeHead(200, { server: 'uvicorn', 'content-length': 0, vary: 'Origin' });
    response.end();
  };
}
