import type { AnswerToken } from '../answer/answer-writer';
import type { FaceContext } from '../face-context';
import type { Generation } from '../generation';
import { type Exchange, type Handler, openEventStream, sendEvent, sendJson } from '../http/exchange';
import { type ChoicesSink, serveChoices } from '../serve-choices';
import { type CompletionRequest, readBody, readChat, readCompletion } from './completion-request';
import { FatalToken } from './plan-inputs';
import { SglangError, transferError, transferEvent, UNAVAILABLE } from './sglang-error';
import { chatLogprobs, completionLogprobs } from './sglang-logprobs';

type Endpoint = 'chat' | 'completions';

/** One request whose answer is under way. */
interface Completion {
  readonly context: FaceContext;
  readonly response: Exchange['response'];
  readonly read: CompletionRequest;
  readonly created: number;
  readonly endpoint: Endpoint;
}

/** `POST /v1/chat/completions` or `/v1/completions`. */
export function sglangCompletions(context: FaceContext, endpoint: Endpoint): Handler {
  return ({ request, response, body }) => {
    try {
      if (context.phase !== 'serving') throw UNAVAILABLE;
      const fields = readBody(body, request.headers);
      const raw = { text: body.toString('utf8'), headers: request.headers };
      const read = endpoint === 'chat' ? readChat(fields, raw, context) : readCompletion(fields, raw, context);
      const completion = { context, response, read, created: Math.floor(context.clock.now() / 1000), endpoint };
      serveChoices(context, response, read.inputs, read.streaming.streams ? streamed(completion) : whole(completion), read.id);
    } catch (error) {
      answerError(error, context, response);
    }
  };
}

function answerError(error: unknown, context: FaceContext, response: Exchange['response']): void {
  if (error instanceof SglangError) {
    error.send(response);
  } else if (error instanceof FatalToken) {
    context.crash();
    response.socket?.destroy();
  } else {
    throw error;
  }
}

function usage({ plan }: FaceContext, prompts: readonly Generation[], completion: number, hasDetails: boolean): object {
  const prompt = prompts.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const cached = prompts.reduce((sum, { cachedTokens = 0 }) => sum + cachedTokens, 0);
  return {
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    prompt_tokens_details: plan.reportsCachedTokens ? { cached_tokens: cached } : null,
    reasoning_tokens: 0,
    ...(hasDetails ? { completion_tokens_details: null } : {}),
  };
}

/** Usage of the whole request. */
function total({ context, read, endpoint }: Completion, generations: readonly Generation[], isWhole: boolean): object {
  const firsts = generations.filter((_, i) => i % read.choicesPerPrompt === 0);
  const made = generations.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0);
  return usage(context, firsts, made, isWhole || endpoint === 'chat');
}

function echoed({ read, context }: Completion, { input }: Generation): readonly AnswerToken[] {
  return read.echoes ? input.promptIds.map((id) => ({ id, text: context.tokenizer.decode([id]) })) : [];
}

function logprobsOf(
  completion: Completion,
  generation: Generation,
  tokens: readonly AnswerToken[],
  withEcho: boolean,
): object | null {
  const { read, context, endpoint } = completion;
  if (read.logprobs === undefined) return null;
  if (endpoint === 'chat') return chatLogprobs(tokens, context.writer.vocabulary, read.logprobs);
  const echo = withEcho ? echoed(completion, generation) : [];
  return completionLogprobs([...echo, ...tokens], echo.length, context.writer.vocabulary, read.logprobs);
}

/** What ended an answer: a stop string or token, or the end-of-text token. */
export function matchedStop({ tokenizer }: FaceContext, { input: { answer } }: Generation): string | number | null {
  if (answer.stopReason !== null) return answer.stopReason;
  return answer.finishReason === 'stop' ? (tokenizer.endOfText ?? null) : null;
}

/** Prefill ends an answer that decode goes on with. */
function finishReason({ transfer }: FaceContext, { input: { answer } }: Generation): string {
  return transfer?.role === 'prefill' ? 'length' : answer.finishReason;
}

function whole(completion: Completion): ChoicesSink {
  const { context, response, read, created, endpoint } = completion;
  const send = (generations: readonly Generation[], isAborted: boolean): void => {
    const choices = generations.map((generation, index) => {
      const { answer, promptIds } = generation.input;
      const tokens = Array.from({ length: generation.generatedTokens }, (_, i) => answer.token(i));
      const made = tokens.map(({ text }) => text).join('');
      const text = read.echoes ? context.tokenizer.decode(promptIds) + made : made;
      return {
        index,
        ...(endpoint === 'chat' ? { message: { role: 'assistant', content: made, reasoning_content: null } } : { text }),
        logprobs: logprobsOf(completion, generation, tokens, true),
        finish_reason: isAborted ? 'abort' : finishReason(context, generation),
        matched_stop: isAborted ? null : matchedStop(context, generation),
      };
    });
    const end = generations[0]!.generatedTokens;
    sendJson(response, 200, {
      id: read.id,
      object: endpoint === 'chat' ? 'chat.completion' : 'text_completion',
      created,
      model: read.model,
      choices,
      usage: total(completion, generations, true),
      metadata: { weight_version: 'default', weight_versions: [{ version: 'default', start: 0, end }] },
    });
  };
  return {
    onToken: () => undefined,
    onCrash: () => UNAVAILABLE.send(response),
    onLoadFailed: ({ input }) => transferError(input.handOff?.failure ?? '').send(response),
    onDone: (generations) => send(generations, false),
    onAborted: (generations) => send(generations, true),
  };
}

function streamed(completion: Completion): ChoicesSink {
  const { context, response, read, created, endpoint } = completion;
  openEventStream(response);
  const { includesUsage, continuousUsage } = read.streaming;
  const head = {
    id: read.id,
    object: endpoint === 'chat' ? 'chat.completion.chunk' : 'text_completion',
    created,
    model: read.model,
  };
  const send = (choice: object, rest: object = {}): void =>
    sendEvent(response, JSON.stringify({ ...head, choices: [choice], ...rest }));
  const endChat = (index: number, reason: string, matched: string | number | null): void =>
    send({ index, delta: { reasoning_content: null }, logprobs: null, finish_reason: reason, matched_stop: matched });

  const sendChat = (index: number, tokenIndex: number, generation: Generation): void => {
    const { answer } = generation.input;
    const none = { finish_reason: null, matched_stop: null };
    if (tokenIndex === 0)
      send({ index, delta: { reasoning_content: null, role: 'assistant', content: '' }, logprobs: null, ...none });
    const token = answer.token(tokenIndex);
    const running = continuousUsage ? { usage: usage(context, [generation], tokenIndex + 1, true) } : {};
    const logprobs = logprobsOf(completion, generation, [token], false);
    if (token.text !== '') send({ index, delta: { reasoning_content: null, content: token.text }, logprobs, ...none }, running);
    if (tokenIndex === answer.length - 1) endChat(index, finishReason(context, generation), matchedStop(context, generation));
  };

  const sendText = (index: number, tokenIndex: number, generation: Generation): void => {
    const { answer, promptIds } = generation.input;
    const isLast = tokenIndex === answer.length - 1;
    const token = answer.token(tokenIndex);
    const isFirst = tokenIndex === 0;
    send(
      {
        index,
        text: (isFirst && read.echoes ? context.tokenizer.decode(promptIds) : '') + token.text,
        logprobs: logprobsOf(completion, generation, [token], isFirst),
        finish_reason: isLast ? finishReason(context, generation) : null,
        matched_stop: isLast ? matchedStop(context, generation) : null,
      },
      { usage: continuousUsage ? usage(context, [generation], tokenIndex + 1, false) : null },
    );
  };

  const finish = (generations: readonly Generation[]): void => {
    if (includesUsage) {
      sendEvent(response, JSON.stringify({ ...head, choices: [], usage: total(completion, generations, false) }));
    }
    sendEvent(response, '[DONE]');
    response.end();
  };

  return {
    onToken: endpoint === 'chat' ? sendChat : sendText,
    onDone: finish,
    onLoadFailed(generation, generations) {
      sendEvent(response, transferEvent(generation.input.handOff?.failure ?? ''));
      finish(generations);
    },
    onAborted(generations) {
      for (const [index, { generatedTokens, outputTokens }] of generations.entries()) {
        if (generatedTokens === outputTokens) continue;
        if (endpoint === 'chat') endChat(index, 'abort', null);
        else send({ index, text: '', logprobs: null, finish_reason: 'abort', matched_stop: null }, { usage: null });
      }
      finish(generations);
    },
    onCrash() {
      response.socket?.destroy();
    },
  };
}
