import { type Candidate, contextTokensOf, type ScheduledRequest } from '../candidate';
import type { Scorer } from '../scorer';

const SECONDS_PER_HOUR = 3_600;

/**
 * What the request costs at each pod, at its worth in waiting: the pod's price for the time that it works on this request, which is the
 * prefill of what is not cached, and of each decode step the part of one of those that share it.
 *
 * @param secondsPerUnit seconds that one unit of money is worth, above 0. @param work what of a request the pod does.
 */
export function podPrice(secondsPerUnit: number, work: 'prompt' | 'whole'): Scorer {
  const perHour = secondsPerUnit / SECONDS_PER_HOUR;
  return {
    name: 'pod-price',
    score(request, candidates, out) {
      for (let i = 0; i < candidates.length; i++) {
        const candidate = candidates[i]!;
        // A pod whose price nobody knows counts as free: it is no worse than before anybody asked for prices.
        const { costPerHour = 0 } = candidate.endpoint;
        out[i] =
          costPerHour === 0
            ? 0
            : perHour *
              costPerHour *
              (promptSeconds(request, candidate) + (work === 'whole' ? answerSeconds(request, candidate) : 0));
      }
    },
  };
}

function promptSeconds({ promptTokens }: ScheduledRequest, { cachedTokens, prefillTokensPerSecond }: Candidate): number {
  return Math.max(0, promptTokens - cachedTokens) / prefillTokensPerSecond;
}

function answerSeconds(request: ScheduledRequest, { running, decode }: Candidate): number {
  const ownStepSeconds =
    decode.baseSeconds / (Math.max(0, running) + 1) +
    decode.perSequenceSeconds +
    decode.perContextTokenSeconds * contextTokensOf(request);
  return request.expectedOutputTokens * ownStepSeconds;
}
