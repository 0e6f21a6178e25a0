import type { LatencyGoal } from './rate-at-slo';
import type { StepModel, TrafficMix } from './step-model';

/** Prompt tokens of a step when prompts queue: vLLM's budget for its API server on recent GPUs. An assumption. */
const STEP_TOKENS = 8192;

/**
 * Requests per second of the present mix that an engine prefills within `goal`, when others decode.
 *
 * Prompts take γ·tokens + β, and share α with those of the same step, at whose end all of them have their first token: on the mean half a step
 * later than if each had ended by itself, where a step is what waits, up to its budget. They queue as in M/M/1, which is what prompts of exponentially
 * distributed lengths do: of a share ρ of the time at work, ρ·exp(−(1 − ρ)·t ÷ work) of the requests wait longer than t. ρ is the largest
 * one at which no more than 100 − `percentile` of the requests wait longer than the goal leaves them besides their own prefill.
 *
 * @param goal without `ttftMs` it is what an engine prefills that always has work.
 * @returns 0 when even a lone prompt is slower than the goal.
 */
export function prefillRate(model: StepModel, mix: TrafficMix, goal: LatencyGoal | undefined): number {
  const tokens = Math.max(1, mix.prefillTokens);
  const steps = tokens / STEP_TOKENS;
  const computedMs = model.perSequenceMs + model.perPrefillTokenMs * tokens;
  const workMs = computedMs + model.baseMs * steps;
  if (goal?.ttftMs === undefined) return 1000 / workMs;
  const leftMs = goal.ttftMs - computedMs - model.baseMs * Math.ceil(steps);
  if (leftMs <= 0) return 0;
  const fullStepMs = model.baseMs + model.perPrefillTokenMs * STEP_TOKENS;
  const longestWaitMs = Math.max(leftMs / 1.5, leftMs - fullStepMs / 2);
  return (1000 * greatestUse(longestWaitMs / workMs, 1 - goal.percentile / 100)) / workMs;
}

/** The greatest ρ with ρ·exp(−(1 − ρ)·wait) ≤ share, which grows with ρ. @param wait in the mean work of a request. */
function greatestUse(wait: number, share: number): number {
  let [low, high] = [0, 1];
  for (let i = 0; i < 40; i++) {
    const use = (low + high) / 2;
    if (use * Math.exp(-(1 - use) * wait) <= share) low = use;
    else high = use;
  }
  return low;
}
