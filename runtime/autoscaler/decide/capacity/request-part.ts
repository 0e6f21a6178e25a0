import type { EngineWindow } from './engine-window';
import { prefillRate } from './prefill-rate';
import { type BatchRoom, type LatencyGoal, rateAtSlo } from './rate-at-slo';
import type { StepModel, TrafficMix } from './step-model';
import { DRAIN_SECONDS, demandRate, trafficOf } from './traffic';

/** What an engine does of each request where prefill and decode are apart. */
export type RequestPart = 'prefill' | 'decode';

/** What of `goal` is this part's: the first token is prefill's, those after it are decode's. Undefined: nothing is asked of it. */
export function goalOfPart(part: RequestPart, { ttftMs, itlMs, percentile }: LatencyGoal): LatencyGoal | undefined {
  if (part === 'prefill') return ttftMs === undefined ? undefined : { ttftMs, percentile };
  return itlMs === undefined ? undefined : { itlMs, percentile };
}

/** Requests per second of `mix` that one engine serves its part of within `goal`. @param part undefined: it serves whole requests. */
export function rateOfPart(
  part: RequestPart | undefined,
  model: StepModel,
  mix: TrafficMix,
  goal: LatencyGoal | undefined,
  room: BatchRoom,
): number {
  return part === 'prefill' ? prefillRate(model, mix, goal) : rateAtSlo(model, mix, goal, room);
}

/** Tokens of a request that this part is sized by: uncached prompt tokens, or output tokens. */
export function tokensOfPart(part: RequestPart, mix: TrafficMix): number {
  return Math.max(1, part === 'prefill' ? mix.prefillTokens : mix.outputTokens);
}

/** Tokens per second that engines of this part are needed for: what arrives, and what waits over the time in which it is to be served. */
export function tokenDemand(part: RequestPart, window: EngineWindow, mix: TrafficMix): number {
  const each = tokensOfPart(part, mix);
  if (part === 'decode') return each * demandRate(trafficOf(window));
  // Prompts differ in length more than answers: those that were computed are counted, and those that wait are taken as the mean.
  const [before, after] = window.waiting;
  const arrived = Math.max(0, window.prefillTokens + each * (after - before));
  return (1000 * arrived) / window.spanMs + (each * after) / DRAIN_SECONDS;
}
