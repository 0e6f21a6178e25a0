import type { Scorer } from '../scorer';

/** D: seconds that this request will decode for, and that it adds to the decodes already running there. */
export const decodeTime: Scorer = {
  name: 'decode-time',
  score(request, candidates, out) {
    candidates.forEach(({ running, decode: { baseSeconds, perSequenceSeconds } }, i) => {
      const own = baseSeconds + perSequenceSeconds * (running + 1);
      const others = running * perSequenceSeconds;
      out[i] = request.expectedOutputTokens * (own + others);
    });
  },
};
