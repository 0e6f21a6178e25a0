import type { RequestTrace } from './request-trace';

/** What a request used. */
export interface UsedTokens {
  readonly input: number;
  /** Of the input, what the engine had in its cache; 0 where it does not say. */
  readonly cached: number;
  readonly output: number;
  /** The engine did not say, as when the client left before the end: the input is the router's estimate, the output the events that passed. */
  readonly isEstimated: boolean;
}

const CLIENT_LEFT = 499;

/**
 * What a request that is over used, as its engine counted it.
 *
 * @returns undefined when it used nothing: no engine took it, or it ended in an error.
 */
export function usedTokens(trace: RequestTrace): UsedTokens | undefined {
  const { usage } = trace;
  if (usage !== undefined) {
    const { promptTokens: input, completionTokens: output, cachedTokens = 0 } = usage;
    return { input, cached: Math.min(cachedTokens, input), output, isEstimated: false };
  }
  if (trace.attempts === 0 || (trace.status >= 400 && trace.status !== CLIENT_LEFT)) return undefined;
  return { input: trace.inputTokens, cached: 0, output: trace.streamedEvents, isEstimated: true };
}
