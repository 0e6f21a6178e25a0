import type { FaceContext } from '../face-context';
import type { Generation } from '../generation';
import { type Exchange, type Handler, openEventStream, sendEvent, sendJson } from '../http/exchange';
import { type ChoicesSink, serveChoices } from '../serve-choices';
import { type CompletionRequest, readBody, readChat, readCompletion } from './completion-request';
import { SglangError } from './sglang-error';

/** SGLang answers so while it ends. */
const UNAVAILABLE = new SglangError('The server is shutting down.', 'ServiceUnavailable', 503);

type Endpoint = 'chat' | 'completions';

/** `POST /v1/chat/completions` or `/v1/completions`. */
export function sglangCompletions(context: FaceContext, endpoint: Endpoint): Handler {
  return ({ request, response, body }) => {
    try {
      if (context.phase !== 'serving') throw UNAVAILABLE;
      const fields = readBody(body, request.headers);
      const read = endpoint === 'chat' ? readChat(fields, context) : readCompletion(fields, context);
      const created = Math.floor(context.clock.now() / 1000);
      serveChoices(
        context,
        response,
        read.inputs,
        read.streaming.streams
          ? streamed(context, response, read, created, endpoint)
          : whole(context, response, read, created, endpoint),
      );
    } catch (error) {
      if (!(error instanceof SglangError)) throw error;
      error.send(response);
    }
  };
}

function outputTokens(generations: readonly Generation[]): number {
  return generations.reduce((sum, { outputTokens: tokens }) => sum + tokens, 0);
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

function firsts({ choicesPerPrompt }: CompletionRequest, generations: readonly Generation[]): readonly Generation[] {
  return generations.filter((_, i) => i % choicesPerPrompt === 0);
}

function whole(
  context: FaceContext,
  response: Exchange['response'],
  read: CompletionRequest,
  created: number,
  endpoint: Endpoint,
): ChoicesSink {
  return {
    onToken: () => undefined,
    onCrash: () => UNAVAILABLE.send(response),
    onDone(generations) {
      const choices = generations.map(({ input: { answer } }, index) => {
        const text = Array.from({ length: answer.length }, (_, i) => answer.token(i).text).join('');
        return {
          index,
          ...(endpoint === 'chat' ? { message: { role: 'assistant', content: text, reasoning_content: null } } : { text }),
          logprobs: null,
          finish_reason: answer.finishReason,
          matched_stop: matchedStop(context, answer),
        };
      });
      const end = generations[0]!.outputTokens;
      sendJson(response, 200, {
        id: read.id,
        object: endpoint === 'chat' ? 'chat.completion' : 'text_completion',
        created,
        model: read.model,
        choices,
        usage: usage(context, firsts(read, generations), outputTokens(generations), true),
        metadata: { weight_version: 'default', weight_versions: [{ version: 'default', start: 0, end }] },
      });
    },
  };
}

/** What ended an answer: a stop string or token, or the end-of-text token. */
function matchedStop({ tokenizer }: FaceContext, answer: Generation['input']['answer']): string | number | null {
  if (answer.stopReason !== null) return answer.stopReason;
  return answer.finishReason === 'stop' ? (tokenizer.endOfText ?? null) : null;
}

function streamed(
  context: FaceContext,
  response: Exchange['response'],
  read: CompletionRequest,
  created: number,
  endpoint: Endpoint,
): ChoicesSink {
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

  const sendChat = (index: number, tokenIndex: number, generation: Generation): void => {
    const { answer } = generation.input;
    const none = { logprobs: null, finish_reason: null, matched_stop: null };
    if (tokenIndex === 0) send({ index, delta: { reasoning_content: null, role: 'assistant', content: '' }, ...none });
    const { text } = answer.token(tokenIndex);
    const running = continuousUsage ? { usage: usage(context, [generation], tokenIndex + 1, true) } : {};
    if (text !== '') send({ index, delta: { reasoning_content: null, content: text }, ...none }, running);
    if (tokenIndex < answer.length - 1) return;
    send({
      index,
      delta: { reasoning_content: null },
      logprobs: null,
      finish_reason: answer.finishReason,
      matched_stop: matchedStop(context, answer),
    });
  };

  const sendText = (index: number, tokenIndex: number, generation: Generation): void => {
    const { answer } = generation.input;
    const isLast = tokenIndex === answer.length - 1;
    send(
      {
        index,
        text: answer.token(tokenIndex).text,
        logprobs: null,
        finish_reason: isLast ? answer.finishReason : null,
        matched_stop: isLast ? matchedStop(context, answer) : null,
      },
      { usage: continuousUsage ? usage(context, [generation], tokenIndex + 1, false) : null },
    );
  };

  return {
    onToken: endpoint === 'chat' ? sendChat : sendText,
    onDone(generations) {
      if (includesUsage) {
        const total = usage(context, firsts(read, generations), outputTokens(generations), endpoint === 'chat');
        sendEvent(response, JSON.stringify({ ...head, choices: [], usage: total }));
      }
      sendEvent(response, '[DONE]');
      response.end();
    },
    onCrash() {
      response.socket?.destroy();
    },
  };
}
