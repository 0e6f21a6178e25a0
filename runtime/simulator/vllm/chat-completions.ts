import { chooseRank, type EngineRank } from '../engine-rank';
import type { FaceContext } from '../face-context';
import type { Generation, GenerationInput } from '../generation';
import { type Exchange, type Handler, openEventStream, sendEvent, sendJson } from '../http/exchange';
import { numberOf } from '../http/field-types';
import type { JsonObject } from '../http/json-body';
import { answerRandom } from '../ids';
import { type ChoicesSink, serveChoices } from '../serve-choices';
import { checkPhase, checkPromptLength, requestId } from './admission';
import { CHAT_SCHEMA, chatPrompt, checkToolsAndFormat } from './chat-request';
import type { VllmDialect } from './dialect';
import { chatLogprob } from './logprobs';
import { answerErrors, resolveModel } from './models';
import { prepareHandOff } from './prepare-hand-off';
import { checkLogprobs, readSalt, readSampling, readStreaming, readTenant, type Streaming } from './sampling';
import { countTokens, finalUsage, runningUsage, wholeUsage } from './usage';
import { readBody } from './validation';
import { ENGINE_DEAD, LOAD_FAILED, sendError, type VllmError } from './vllm-error';

/** One chat request whose answer is under way. */
interface Chat {
  readonly context: FaceContext;
  readonly dialect: VllmDialect;
  readonly fingerprint: string;
  readonly response: Exchange['response'];
  readonly streaming: Streaming;
  /** What every chunk and the whole answer begin with. */
  readonly head: { readonly id: string; readonly created: number; readonly model: string };
  readonly promptIds: readonly number[];
  readonly returnsTokenIds: boolean;
  /** `top_logprobs`; undefined when no logprobs were asked for. */
  readonly topLogprobs: number | undefined;
}

/** `POST /v1/chat/completions`. */
export function chatCompletions(context: FaceContext, dialect: VllmDialect, fingerprint: string): Handler {
  return answerErrors(dialect, (exchange) => {
    const { request, response } = exchange;
    checkPhase(context);
    const body = readBody(exchange.body, request.headers, dialect, CHAT_SCHEMA);
    const streaming = readStreaming(body, dialect);
    const salt = readSalt(body, dialect);
    checkToolsAndFormat(body, dialect);
    const topLogprobs = body.logprobs === true ? (numberOf(body.top_logprobs) ?? 0) : undefined;
    checkLogprobs(topLogprobs);
    const model = resolveModel(context, dialect, body.model);
    const promptIds = chatPrompt(body, context, dialect);
    const id = requestId('chatcmpl', exchange, context);
    const rank = chooseRank(context.ranks, request.headers);
    const inputs = chatInputs(body, promptIds, context, rank, dialect, {
      streams: streaming.streams,
      ...(model.adapter === undefined ? {} : { adapter: model.adapter }),
      ...(salt === undefined ? {} : { salt }),
      ...readTenant(body),
      id,
    });
    const chat: Chat = {
      context,
      dialect,
      fingerprint,
      response,
      streaming,
      head: { id, created: Math.floor(context.clock.now() / 1000), model: model.name },
      promptIds,
      returnsTokenIds: body.return_token_ids === true,
      topLogprobs,
    };
    serveChoices(context, response, inputs, streaming.streams ? streamed(chat, inputs.length) : whole(chat));
  });
}

function chatInputs(
  body: JsonObject,
  promptIds: readonly number[],
  context: FaceContext,
  rank: EngineRank,
  dialect: VllmDialect,
  common: Pick<GenerationInput, 'id' | 'streams' | 'adapter' | 'salt' | 'tenant'>,
): readonly GenerationInput[] {
  const { core, tokenizer, limits, writer, random, clock } = context;
  const wanted = numberOf(body.max_completion_tokens ?? body.max_tokens);
  checkPromptLength({ tokens: promptIds.length, isText: true, wanted }, core.maxTokens, dialect);
  const sampling = readSampling(body, core.maxTokens - promptIds.length, wanted, {
    maxModelLen: core.maxTokens,
    endOfText: tokenizer.endOfText,
    dialect,
  });
  const inputOf = (choice: number): GenerationInput => ({
    ...common,
    rank: rank.index,
    id: `${common.id}-${choice}`,
    promptIds,
    answer: writer.write(sampling.limits, answerRandom(random, promptIds, sampling.seed, sampling.isGreedy, choice)),
    blockSize: limits.blockSize,
    arrivedAtMs: clock.monotonic(),
    maxTokens: sampling.limits.maxTokens,
    choice,
    choices: sampling.choices,
  });
  return Array.from({ length: sampling.choices }, (_, choice) =>
    prepareHandOff(context, rank, inputOf(choice), body.kv_transfer_params),
  );
}

/** The answer in one piece. */
function whole(chat: Chat): ChoicesSink {
  const { context, dialect, response, head, topLogprobs } = chat;
  return {
    onToken: () => undefined,
    onCrash: () => sendError(response, ENGINE_DEAD, dialect),
    onLoadFailed: () => sendError(response, LOAD_FAILED, dialect),
    onDone(generations) {
      const choices = generations.map(({ input: { answer } }, index) => {
        const tokens = Array.from({ length: answer.length }, (_, i) => answer.token(i));
        return {
          index,
          message: {
            role: 'assistant',
            content: tokens.map(({ text }) => text).join(''),
            refusal: null,
            annotations: null,
            audio: null,
            function_call: null,
            ...(dialect.isRecent ? {} : { tool_calls: [] }),
            reasoning: null,
          },
          logprobs:
            topLogprobs === undefined
              ? null
              : { content: tokens.map((token) => chatLogprob(token, context.writer.vocabulary, topLogprobs)) },
          finish_reason: answer.finishReason,
          stop_reason: answer.stopReason,
          token_ids: chat.returnsTokenIds ? tokens.map(({ id }) => id) : null,
          ...(dialect.isRecent ? { routed_experts: null } : {}),
        };
      });
      sendJson(response, 200, {
        id: head.id,
        object: 'chat.completion',
        created: head.created,
        model: head.model,
        choices,
        service_tier: null,
        system_fingerprint: dialect.isRecent ? chat.fingerprint : null,
        usage: wholeUsage(
          countTokens(generations.slice(0, 1), outputTokens(generations)),
          dialect,
          context.plan.reportsCachedTokens,
          'chat',
        ),
        prompt_logprobs: null,
        prompt_token_ids: chat.returnsTokenIds ? chat.promptIds : null,
        ...(dialect.isRecent ? { prompt_text: null } : {}),
        kv_transfer_params: generations[generations.length - 1]?.input.handOff?.params?.() ?? null,
        ...(dialect.isRecent ? { ec_transfer_params: null, metrics: null } : {}),
      });
    },
  };
}

function outputTokens(generations: readonly Generation[]): number {
  return generations.reduce((sum, { outputTokens: tokens }) => sum + tokens, 0);
}

/** The answer as server-sent events: the roles of all choices with the first token, then an event a token. */
function streamed(chat: Chat, choices: number): ChoicesSink {
  const { context, dialect, response, head, streaming, topLogprobs } = chat;
  openEventStream(response);
  const chunk = { id: head.id, object: 'chat.completion.chunk', created: head.created, model: head.model };
  const counts = new Array<number>(choices).fill(0);
  let hasBegun = false;
  let ended = 0;

  const usage = (generation: Generation, completion: number): object =>
    streaming.continuousUsage ? { usage: runningUsage(countTokens([generation], completion), dialect, 'chat') } : {};

  const begin = (generation: Generation): void => {
    for (let index = 0; index < choices; index++) {
      sendEvent(
        response,
        JSON.stringify({
          ...chunk,
          choices: [{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
          ...usage(generation, 0),
          prompt_token_ids: chat.returnsTokenIds ? chat.promptIds : null,
          ...(dialect.isRecent ? { prompt_text: null } : {}),
        }),
      );
    }
  };

  const fail = (error: VllmError): void => {
    sendEvent(response, error.eventData);
    sendEvent(response, '[DONE]');
    response.end();
  };

  return {
    onToken(index, tokenIndex, generation) {
      if (!hasBegun) begin(generation);
      hasBegun = true;
      counts[index]! += 1;
      const { answer } = generation.input;
      const token = answer.token(tokenIndex);
      const isLast = tokenIndex === answer.length - 1;
      if (isLast) ended += 1;
      const showsFingerprint = dialect.isRecent && isLast && ended === choices && !streaming.includesUsage;
      sendEvent(
        response,
        JSON.stringify({
          ...chunk,
          choices: [
            {
              index,
              delta: { content: token.text, ...(dialect.isRecent ? {} : { tool_calls: [] }) },
              logprobs:
                topLogprobs === undefined ? null : { content: [chatLogprob(token, context.writer.vocabulary, topLogprobs)] },
              finish_reason: isLast ? answer.finishReason : null,
              ...(isLast ? { stop_reason: answer.stopReason } : {}),
              token_ids: chat.returnsTokenIds ? [token.id] : null,
            },
          ],
          ...usage(generation, counts[index]!),
          ...(showsFingerprint ? { system_fingerprint: chat.fingerprint } : {}),
        }),
      );
    },
    onDone(generations) {
      if (streaming.includesUsage) {
        const tokens = countTokens(generations.slice(0, 1), outputTokens(generations));
        sendEvent(
          response,
          JSON.stringify({
            ...chunk,
            choices: [],
            usage: finalUsage(tokens, dialect, context.plan.reportsCachedTokens),
            ...(dialect.isRecent ? { system_fingerprint: chat.fingerprint } : {}),
          }),
        );
      }
      sendEvent(response, '[DONE]');
      response.end();
    },
    onCrash: () => fail(ENGINE_DEAD),
    onLoadFailed: () => fail(LOAD_FAILED),
  };
}
