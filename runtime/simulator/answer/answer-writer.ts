import type { Random } from '../../lib/random';
import type { Tokenizer } from '../tokenizer';
import { drawOutputTokens } from './output-length';
import { OPENING, SENTENCES } from './sentences';

/** What bounds an answer. */
export interface AnswerLimits {
  /** Most tokens, ≥ 1. */
  readonly maxTokens: number;
  /** Least tokens before the end-of-text token may come, ≥ 0. */
  readonly minTokens: number;
  /** Go on to `maxTokens`. */
  readonly ignoreEndOfText: boolean;
  /** End with the first token: the client made the end-of-text token certain. */
  readonly endsAtOnce: boolean;
  readonly stop: readonly string[];
  readonly stopTokenIds: ReadonlySet<number>;
  readonly includeStopInOutput: boolean;
}

/** One token of an answer. Tokens that end it have no text. */
export interface AnswerToken {
  readonly id: number;
  readonly text: string;
}

/** An answer that is known in full before its first token is due. */
export interface Answer {
  /** Text of token `index` as it is sent: shortened where a stop string begins. */
  token(index: number): AnswerToken;
  /** Tokens of the answer, ≥ 1, with the one that ended it. */
  readonly length: number;
  readonly finishReason: 'stop' | 'length';
  /** The stop string or stop token that ended it; null otherwise. */
  readonly stopReason: string | number | null;
}

/** Writes answers in one tokenizer's tokens. */
export class AnswerWriter {
  private readonly opening: readonly AnswerToken[];
  private readonly sentences: readonly (readonly AnswerToken[])[];
  private readonly endOfText: AnswerToken;
  /** Every token that answers are made of, once. */
  readonly vocabulary: readonly AnswerToken[];

  constructor(tokenizer: Tokenizer) {
    const tokensOf = (text: string): AnswerToken[] => tokenizer.encode(text).map((id) => ({ id, text: tokenizer.decode([id]) }));
    this.opening = tokensOf(OPENING);
    this.sentences = SENTENCES.map(tokensOf);
    this.endOfText = { id: tokenizer.endOfText ?? 0, text: '' };
    this.vocabulary = [...new Map([this.opening, ...this.sentences].flat().map((token) => [token.id, token])).values()];
  }

  /** @param random decides length and words; the same source in the same state gives the same answer. */
  write(limits: AnswerLimits, random: Random): Answer {
    const drawn = limits.endsAtOnce ? 1 : drawOutputTokens(random);
    const wanted = limits.ignoreEndOfText ? limits.maxTokens : Math.max(drawn, limits.minTokens);
    const endsItself = !limits.ignoreEndOfText && wanted <= limits.maxTokens;
    const length = Math.min(wanted, limits.maxTokens);
    const words = this.words(random);
    const stopped = this.findStop(limits, words, endsItself ? length - 1 : length);
    if (stopped !== undefined) return stopped;
    return {
      length,
      finishReason: endsItself ? 'stop' : 'length',
      stopReason: null,
      token: (index) => (endsItself && index === length - 1 ? this.endOfText : words(index)),
    };
  }

  private findStop(limits: AnswerLimits, words: (index: number) => AnswerToken, length: number): Answer | undefined {
    if (limits.stop.length === 0 && limits.stopTokenIds.size === 0) return undefined;
    let text = '';
    for (let i = Math.max(0, limits.minTokens - 1); i < length; i++) {
      const token = words(i);
      if (limits.stopTokenIds.has(token.id)) {
        return cut(words, i, { id: token.id, text: '' }, token.id);
      }
      const before = text.length;
      text += token.text;
      for (const stop of limits.stop) {
        const at = text.indexOf(stop, Math.max(0, before - stop.length + 1));
        if (at < 0) continue;
        const end = limits.includeStopInOutput ? at + stop.length : at;
        return cutText(words, i, text, end, stop);
      }
    }
    return undefined;
  }

  /** The tokens of the endless text, made as they are asked for. */
  private words(random: Random): (index: number) => AnswerToken {
    const tokens: AnswerToken[] = [...this.opening];
    return (index) => {
      while (tokens.length <= index) tokens.push(...this.sentences[Math.floor(random.next() * this.sentences.length)]!);
      return tokens[index]!;
    };
  }
}

function cut(words: (index: number) => AnswerToken, last: number, ending: AnswerToken, stopReason: string | number): Answer {
  return { length: last + 1, finishReason: 'stop', stopReason, token: (index) => (index === last ? ending : words(index)) };
}

/** An answer whose text ends at `end` of `text`, the text of tokens 0..last: a stop string may begin in an earlier token than it ends in. */
function cutText(words: (index: number) => AnswerToken, last: number, text: string, end: number, stop: string): Answer {
  const texts: string[] = [];
  let at = text.length;
  for (let i = last; i >= 0; i--) {
    const token = words(i);
    const start = at - token.text.length;
    texts[i] = start >= end ? '' : token.text.slice(0, Math.min(token.text.length, end - start));
    at = start;
  }
  return {
    length: last + 1,
    finishReason: 'stop',
    stopReason: stop,
    token: (index) => ({ id: words(index).id, text: texts[index] ?? '' }),
  };
}
