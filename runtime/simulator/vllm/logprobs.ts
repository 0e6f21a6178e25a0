import type { AnswerToken } from '../answer/answer-writer';
import { type ScoredToken, scoreToken } from '../answer/logprobs';

/** One element of a chat's `logprobs.content`. @param alternatives `top_logprobs` of the request. */
export function chatLogprob(token: AnswerToken, vocabulary: readonly AnswerToken[], alternatives: number): object {
  const scored = scoreToken(token, vocabulary, alternatives);
  return { ...chatToken(scored[0]!), top_logprobs: scored.slice(0, alternatives).map(chatToken) };
}

function chatToken({ text, logprob }: ScoredToken): object {
  return { token: text, logprob, bytes: [...Buffer.from(text, 'utf8')] };
}

/**
 * `logprobs` of a text completion.
 *
 * @param promptLength how many of `tokens` are the echoed prompt; the first of them has nothing before it and so no logprob, the others
 *   stand beside the likeliest ones.
 */
export function completionLogprobs(
  tokens: readonly AnswerToken[],
  promptLength: number,
  vocabulary: readonly AnswerToken[],
  alternatives: number,
): object {
  const offsets: number[] = [];
  const scored = tokens.map((token, i) =>
    i === 0 && promptLength > 0
      ? undefined
      : scoreToken(token, vocabulary, i < promptLength ? alternatives + 1 : Math.max(1, alternatives)),
  );
  let offset = 0;
  for (const { text } of tokens) {
    offsets.push(offset);
    offset += text.length;
  }
  return {
    text_offset: offsets,
    token_logprobs: scored.map((choices) => choices?.[0]?.logprob ?? null),
    tokens: tokens.map(({ text }) => text),
    top_logprobs: scored.map((choices) =>
      choices === undefined ? null : Object.fromEntries(choices.map(({ text, logprob }) => [text, logprob])),
    ),
  };
}

/** `prompt_logprobs`: for each prompt token behind the first, itself and the likelier ones, by id. */
export function promptLogprobs(
  tokens: readonly AnswerToken[],
  vocabulary: readonly AnswerToken[],
  alternatives: number,
): readonly (object | null)[] {
  return tokens.map((token, i) => {
    if (i === 0) return null;
    const scored = scoreToken(token, vocabulary, alternatives + 1);
    return Object.fromEntries(scored.map(({ id, text, logprob, rank }) => [id, { logprob, rank, decoded_token: text }]));
  });
}
