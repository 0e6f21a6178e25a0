import type { AnswerToken } from '../answer/answer-writer';
import { chooseRank } from '../engine-rank';
import type { FaceContext } from '../face-context';
import type { Generation, GenerationInput } from '../generation';
import { type Exchange, type Handler, openEventStream, sendEvent, sendJson } from '../http/exchange';
import { numberOf } from '../http/field-types';
import type { JsonObject } from '../http/json-body';
import { answerRandom } from '../ids';
import { type ChoicesSink, serveChoices } from '../serve-choices';
import { checkPhase, checkPromptLength, checkVocabulary, requestId } from './admission';
import type { VllmDialect } from './dialect';
import { completionLogprobs, promptLogprobs } from './logprobs';
import { answerErrors, resolveModel } from './models';
import { prepareHandOff } from './prepare-hand-off';
import { checkLogprobs, readSalt, readSampling, readStreaming, readTenant, SAMPLING_FIELDS, type Streaming } from './sampling';
import { countTokens, finalUsage, runningUsage, wholeUsage } from './usage';
import { brokenRule, readBody } from './validation';
import { badRequest, ENGINE_DEAD, LOAD_FAILED, sendError, type VllmError } from './vllm-error';

/** `max_tokens` of the completions API when the client gives none. */
const DEFAULT_MAX_TOKENS = 16;

const SCHEMA = { required: [], fields: { ...SAMPLING_FIELDS, echo: 'bool', logprobs: 'int', prompt_logprobs: 'int' } } as const;

interface Completion {
  readonly context: FaceContext;
  readonly dialect: VllmDialect;
  readonly fingerprint: string;
  readonly response: Exchange['response'];
  readonly streaming: Streaming;
  readonly head: { readonly id: string; readonly object: 'text_completion'; readonly created: number; readonly model: string };
  readonly echoes: boolean;
  /** `max_tokens` 0 with `echo`: the engine generates one token and nobody sees it. */
  readonly hidesAnswer: boolean;
  readonly returnsTokenIds: boolean;
  readonly logprobs: number | undefined;
  readonly promptLogprobs: number | undefined;
  /** How many choices each prompt has; choices are numbered prompt by prompt. */
  readonly choicesPerPrompt: number;
}

/** `POST /v1/completions`. */
export function completions(context: FaceContext, dialect: VllmDialect, fingerprint: string): Handler {
  return answerErrors(dialect, (exchange) => {
    const { request, response } = exchange;
    checkPhase(context);
    const body = readBody(exchange.body, request.headers, dialect, SCHEMA);
    const streaming = readStreaming(body, dialect);
    const salt = readSalt(body, dialect);
    const prompts = readPrompts(body, context, dialect);
    const logprobs = numberOf(body.logprobs);
    const model = resolveModel(context, dialect, body.model);
    checkLogprobs(logprobs);
    const echoes = body.echo === true;
    const asked = numberOf(body.max_tokens) ?? DEFAULT_MAX_TOKENS;
    const hidesAnswer = echoes && asked === 0;
    const id = requestId('cmpl', exchange, context);
    const rank = chooseRank(context.ranks, request.headers);
    const planned = prompts.flatMap((prompt, at) =>
      completionInputs(body, prompt, hidesAnswer ? 1 : asked, context, dialect, {
        rank: rank.index,
        id: `${id}-${at}`,
        streams: streaming.streams,
        ...(model.adapter === undefined ? {} : { adapter: model.adapter }),
        ...(salt === undefined ? {} : { salt }),
        ...readTenant(body),
      }),
    );
    const inputs = planned.map((input) => prepareHandOff(context, rank, input, body.kv_transfer_params));
    const completion: Completion = {
      context,
      dialect,
      fingerprint,
      response,
      streaming,
      head: { id, object: 'text_completion', created: Math.floor(context.clock.now() / 1000), model: model.name },
      echoes,
      hidesAnswer,
      returnsTokenIds: body.return_token_ids === true,
      logprobs,
      promptLogprobs: numberOf(body.prompt_logprobs) ?? (echoes ? logprobs : undefined),
      choicesPerPrompt: inputs.length / prompts.length,
    };
    serveChoices(context, response, inputs, streaming.streams ? streamed(completion, inputs.length) : whole(completion));
  });
}

interface Prompt {
  readonly ids: readonly number[];
  readonly isText: boolean;
}

/** A text, a list of texts, token ids, or a list of lists of token ids. @throws VllmError */
function readPrompts(body: JsonObject, { tokenizer }: FaceContext, dialect: VllmDialect): readonly Prompt[] {
  const { prompt } = body;
  if (prompt === undefined || prompt === null || prompt === '') {
    throw brokenRule({ message: 'Either prompt or prompt_embeds must be provided and non-empty.', param: 'prompt' }, dialect);
  }
  const list: readonly unknown[] = Array.isArray(prompt) ? prompt : [prompt];
  if (list.length === 0) throw badRequest('You must pass at least one prompt');
  const isOneOfIds = typeof list[0] === 'number';
  return (isOneOfIds ? [list] : list).map((one) => {
    if (!Array.isArray(one)) return { ids: tokenizer.encode(String(one)), isText: true };
    const ids = one.map(Number);
    checkVocabulary(ids, tokenizer.vocabularySize);
    return { ids, isText: false };
  });
}

function completionInputs(
  body: JsonObject,
  { ids, isText }: Prompt,
  wanted: number,
  { core, tokenizer, limits, writer, random, clock }: FaceContext,
  dialect: VllmDialect,
  common: Pick<GenerationInput, 'id' | 'rank' | 'streams' | 'adapter' | 'salt' | 'tenant'>,
): readonly GenerationInput[] {
  checkPromptLength({ tokens: ids.length, isText, wanted }, core.maxTokens, dialect);
  const sampling = readSampling(body, core.maxTokens - ids.length, wanted, {
    maxModelLen: core.maxTokens,
    endOfText: tokenizer.endOfText,
    dialect,
  });
  return Array.from({ length: sampling.choices }, (_, choice) => ({
    ...common,
    id: `${common.id}-${choice}`,
    promptIds: ids,
    answer: writer.write(sampling.limits, answerRandom(random, ids, sampling.seed, sampling.isGreedy, choice)),
    blockSize: limits.blockSize,
    arrivedAtMs: clock.monotonic(),
    maxTokens: sampling.limits.maxTokens,
    choice,
    choices: sampling.choices,
  }));
}

/** The echoed prompt as tokens; empty without `echo`. */
function echoed({ echoes, context: { tokenizer } }: Completion, { input }: Generation): readonly AnswerToken[] {
  return echoes ? input.promptIds.map((id) => ({ id, text: tokenizer.decode([id]) })) : [];
}

function echoedText({ echoes, context }: Completion, { input }: Generation): string {
  return echoes ? context.tokenizer.decode(input.promptIds) : '';
}

function counts({ choicesPerPrompt }: Completion, generations: readonly Generation[]): ReturnType<typeof countTokens> {
  const firsts = generations.filter((_, i) => i % choicesPerPrompt === 0);
  return countTokens(
    firsts,
    generations.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  );
}

function whole(completion: Completion): ChoicesSink {
  const { context, dialect, response, head, logprobs } = completion;
  const { vocabulary } = context.writer;
  return {
    onToken: () => undefined,
    onCrash: () => sendError(response, ENGINE_DEAD, dialect),
    onLoadFailed: () => sendError(response, LOAD_FAILED, dialect),
    onDone(generations) {
      const choices = generations.map((generation, index) => {
        const { answer, promptIds } = generation.input;
        const tokens = Array.from({ length: completion.hidesAnswer ? 0 : answer.length }, (_, i) => answer.token(i));
        const echo = echoed(completion, generation);
        return {
          index,
          text: echoedText(completion, generation) + tokens.map(({ text }) => text).join(''),
          logprobs: logprobs === undefined ? null : completionLogprobs([...echo, ...tokens], echo.length, vocabulary, logprobs),
          finish_reason: answer.finishReason,
          stop_reason: answer.stopReason,
          token_ids: completion.returnsTokenIds ? tokens.map(({ id }) => id) : null,
          prompt_logprobs:
            completion.promptLogprobs === undefined
              ? null
              : promptLogprobs(
                  promptIds.map((id) => ({ id, text: context.tokenizer.decode([id]) })),
                  vocabulary,
                  completion.promptLogprobs,
                ),
          prompt_token_ids: completion.returnsTokenIds ? promptIds : null,
          ...(dialect.isRecent ? { routed_experts: null } : {}),
        };
      });
      sendJson(response, 200, {
        ...head,
        choices,
        service_tier: null,
        system_fingerprint: dialect.isRecent ? completion.fingerprint : null,
        usage: wholeUsage(counts(completion, generations), dialect, context.plan.reportsCachedTokens, 'completions'),
        kv_transfer_params: generations[completion.choicesPerPrompt - 1]?.input.handOff?.params?.() ?? null,
        ...(dialect.isRecent ? { ec_transfer_params: null, metrics: null } : {}),
      });
    },
  };
}

/** An event a token; the first carries the echoed prompt. */
function streamed(completion: Completion, choices: number): ChoicesSink {
  const { context, dialect, response, head, streaming, logprobs } = completion;
  openEventStream(response);
  let unfinished = choices;

  const usage = (generation: Generation, tokens: number): object => {
    if (streaming.continuousUsage) return { usage: runningUsage(countTokens([generation], tokens), dialect, 'completions') };
    return dialect.isRecent ? {} : { usage: null };
  };

  const fail = (error: VllmError): void => {
    sendEvent(response, error.eventData);
    sendEvent(response, '[DONE]');
    response.end();
  };

  return {
    onToken(index, tokenIndex, generation) {
      const { answer, promptIds } = generation.input;
      const echo = tokenIndex === 0 ? echoed(completion, generation) : [];
      const token = answer.token(tokenIndex);
      const tokens = completion.hidesAnswer ? [] : [token];
      const isLast = tokenIndex === answer.length - 1;
      if (isLast) unfinished -= 1;
      sendEvent(
        response,
        JSON.stringify({
          ...head,
          choices: [
            {
              index,
              text: (tokenIndex === 0 ? echoedText(completion, generation) : '') + tokens.map(({ text }) => text).join(''),
              logprobs:
                logprobs === undefined
                  ? null
                  : completionLogprobs([...echo, ...tokens], echo.length, context.writer.vocabulary, logprobs),
              finish_reason: isLast ? answer.finishReason : null,
              stop_reason: isLast ? answer.stopReason : null,
              prompt_token_ids: completion.returnsTokenIds && tokenIndex === 0 ? promptIds : null,
              token_ids: completion.returnsTokenIds ? tokens.map(({ id }) => id) : null,
            },
          ],
          ...usage(generation, tokenIndex + 1),
          ...(dialect.isRecent && isLast && unfinished === 0 && !streaming.includesUsage
            ? { system_fingerprint: completion.fingerprint }
            : {}),
        }),
      );
    },
    onDone(generations) {
      if (streaming.includesUsage) {
        sendEvent(
          response,
          JSON.stringify({
            ...head,
            choices: [],
            usage: finalUsage(counts(completion, generations), dialect, context.plan.reportsCachedTokens),
            ...(dialect.isRecent ? { system_fingerprint: completion.fingerprint } : {}),
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
