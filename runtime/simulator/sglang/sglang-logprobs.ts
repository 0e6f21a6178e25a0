import type { AnswerToken } from '../answer/answer-writer';
import { type ScoredToken, scoreToken } from '../answer/logprobs';

/** `logprobs` of a chat's choice. @param alternatives likeliest tokens beside each one. */
export function chatLogprobs(tokens: readonly AnswerToken[], vocabulary: readonly AnswerToken[], alternatives: number): object {
  const shown = ({ text, logprob }: ScoredToken): object => ({ token: text, bytes: [...Buffer.from(text, 'utf8')], logprob });
  return {
    content: tokens.map((token) => {
      const scored = scoreToken(token, vocabulary, alternatives);
      return { ...shown(scored[0]!), top_logprobs: scored.slice(0, alternatives).map(shown) };
    }),
  };
}

/** `logprobs` of a completion's choice. @param promptLength how many of `tokens` are the echoed prompt. */
export function completionLogprobs(
  tokens: readonly AnswerToken[],
  promptLength: number,
  vocabulary: readonly AnswerToken[],
  alternatives: number,
): object {
  const scored = tokens.map((token, i) =>
    i === 0 && promptLength > 0 ? undefined : scoreToken(token, vocabulary, Math.max(1, alternatives)),
  );
  return {
    text_offset: tokens.map(() => -1),
    token_logprobs: scored.map((choices) => choices?.[0]?.logprob ?? null),
    tokens: tokens.map(({ text }) => text),
    top_logprobs: scored.map((choices) =>
      choices === undefined
        ? null
        : Object.fromEntries(choices.slice(0, alternatives).map(({ text, logprob }) => [text, logprob])),
    ),
  };
}
