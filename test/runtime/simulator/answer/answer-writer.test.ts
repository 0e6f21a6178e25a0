import * as fc from 'fast-check';
import { seededRandom } from '../../../../runtime/lib/random';
import { type Answer, type AnswerLimits, AnswerWriter } from '../../../../runtime/simulator/answer/answer-writer';
import { approximateTokenizer } from '../../../../runtime/simulator/index';

const writer = new AnswerWriter(approximateTokenizer);
const LIMITS: AnswerLimits = {
  maxTokens: 500,
  minTokens: 0,
  ignoreEndOfText: false,
  endsAtOnce: false,
  stop: [],
  stopTokenIds: new Set(),
  includeStopInOutput: false,
};
const write = (limits: Partial<AnswerLimits>, seed = 1): Answer => writer.write({ ...LIMITS, ...limits }, seededRandom(seed));
const textOf = (answer: Answer): string => Array.from({ length: answer.length }, (_, i) => answer.token(i).text).join('');

describe('an answer', () => {
  it('is never longer than its limit, and says length exactly when it was cut', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(), (maxTokens, seed) => {
        const answer = write({ maxTokens }, seed);
        const free = write({ maxTokens: 1e6 }, seed);
        expect(answer.length).toBe(Math.min(maxTokens, free.length));
        expect(answer.finishReason).toBe(free.length <= maxTokens ? 'stop' : 'length');
      }),
    );
  });

  it('ends with a token without text when it ends by itself', () => {
    const answer = write({ maxTokens: 1e6 });
    expect(answer.token(answer.length - 1)).toEqual({ id: approximateTokenizer.endOfText, text: '' });
  });

  it('has exactly the limit when the end is ignored, and at least the least', () => {
    expect(write({ ignoreEndOfText: true, maxTokens: 499 })).toMatchObject({ length: 499, finishReason: 'length' });
    expect(write({ minTokens: 480, maxTokens: 500 }).length).toBeGreaterThanOrEqual(480);
    expect(write({ endsAtOnce: true })).toMatchObject({ length: 1, finishReason: 'stop' });
  });

  it('is the same for the same seed, and other words for another', () => {
    expect(textOf(write({}, 3))).toBe(textOf(write({}, 3)));
    expect(textOf(write({ ignoreEndOfText: true }, 3))).not.toBe(textOf(write({ ignoreEndOfText: true }, 4)));
  });

  it('stops before a stop string, wherever tokens are cut, and says which it was', () => {
    const whole = textOf(write({ ignoreEndOfText: true }));
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 1, max: 20 }),
        fc.boolean(),
        (start, length, includeStopInOutput) => {
          const stop = whole.slice(start, start + length);
          const answer = write({ ignoreEndOfText: true, stop: [stop], includeStopInOutput });
          expect(textOf(answer)).toBe(whole.slice(0, whole.indexOf(stop) + (includeStopInOutput ? stop.length : 0)));
          expect([answer.finishReason, answer.stopReason]).toEqual(['stop', stop]);
        },
      ),
    );
  });

  it('stops with a stop token, which has no text', () => {
    const third = write({ ignoreEndOfText: true }).token(2);
    const answer = write({ ignoreEndOfText: true, stopTokenIds: new Set([third.id]) });
    expect([answer.length, answer.stopReason, answer.token(2).text]).toEqual([3, third.id, '']);
  });
});
