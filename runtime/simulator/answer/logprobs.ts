import type { AnswerToken } from './answer-writer';

export interface ScoredToken extends AnswerToken {
  readonly logprob: number;
  /** 1 is the most likely token. */
  readonly rank: number;
}

/** The chosen token with the likeliest ones. Simulated: the chosen token is always the likeliest, and the values follow from its id. */
export function scoreToken(
  chosen: AnswerToken,
  vocabulary: readonly AnswerToken[],
  alternatives: number,
): readonly ScoredToken[] {
  const best = -0.05 - (chosen.id % 97) / 100;
  const scored: ScoredToken[] = [{ ...chosen, logprob: best, rank: 1 }];
  for (
    let i = chosen.id % vocabulary.length;
    scored.length < Math.min(alternatives, vocabulary.length);
    i = (i + 1) % vocabulary.length
  ) {
    const token = vocabulary[i]!;
    if (token.id !== chosen.id) scored.push({ ...token, logprob: best - 1.25 * scored.length, rank: scored.length + 1 });
  }
  return scored;
}
