import type { StepModel, TrafficMix } from './step-model';

/** Latency that a share of requests must have. */
export interface LatencyGoal {
  /** Longest time to the first token. */
  readonly ttftMs?: number;
  /** Longest mean time between the tokens of a request. */
  readonly itlMs?: number;
  /** Share of requests, in percent, 1..99. */
  readonly percentile: number;
}

/** Most sequences that an engine computes at once. */
export interface BatchRoom {
  readonly maxSequences: number;
  /** Tokens of KV cache. */
  readonly kvTokens: number;
}

/** Batch at which engines are compared where no latency is asked for: one that engines of all sizes reach. An assumption. */
const REFERENCE_BATCH = 32;

/** Share of the KV cache that a batch may fill, so that growing sequences preempt nobody. An assumption. */
const KV_SHARE = 0.9;

/**
 * Requests per second of the present mix that one engine serves within `goal`.
 *
 * In a steady state a sequence takes one step for each output token, so that n sequences bring n ÷ output tokens prompts into each step, a
 * step takes α + κ·n with κ = β + γ·prefill ÷ output, and n ÷ (output × step time) requests end per second. n is the largest mean batch
 * whose Poisson fluctuation stays within the goal for `percentile` of the requests: a longer step breaks `itlMs`; the step under way, the
 * one after it and the request's own prefill break `ttftMs`.
 *
 * @returns 0 when even a lone request is slower than the goal.
 */
export function rateAtSlo(model: StepModel, mix: TrafficMix, goal: LatencyGoal | undefined, room: BatchRoom): number {
  const outputTokens = Math.max(1, mix.outputTokens);
  const perSequenceMs = model.perSequenceMs + (model.perPrefillTokenMs * mix.prefillTokens) / outputTokens;
  const contextTokens = Math.max(1, mix.promptTokens + outputTokens / 2);
  const most = Math.min(room.maxSequences, (KV_SHARE * room.kvTokens) / contextTokens);
  const batch = Math.min(most, goal === undefined ? REFERENCE_BATCH : batchWithin(goal, model, mix, perSequenceMs));
  if (!(batch > 0)) return 0;
  return (1000 * batch) / (outputTokens * (model.baseMs + perSequenceMs * batch));
}

/** Largest mean batch within the goal. */
function batchWithin(goal: LatencyGoal, model: StepModel, mix: TrafficMix, perSequenceMs: number): number {
  const ownPrefillMs = model.perPrefillTokenMs * mix.prefillTokens;
  const longestStepMs = Math.min(
    goal.itlMs ?? Number.POSITIVE_INFINITY,
    goal.ttftMs === undefined ? Number.POSITIVE_INFINITY : (goal.ttftMs - ownPrefillMs) / 1.5,
  );
  const largest = (longestStepMs - model.baseMs) / Math.max(perSequenceMs, 1e-9);
  if (largest <= 0) return 0;
  const z = normalQuantile(goal.percentile / 100);
  const root = (-z + Math.sqrt(z * z + 4 * largest)) / 2;
  return root * root;
}

/** Quantile of the standard normal distribution, by the logistic approximation of Page (1977); within 0.02 from 0.5 to 0.99. */
function normalQuantile(share: number): number {
  if (share <= 0.5) return 0;
  const y = Math.log(share / (1 - share)) / (2 * 0.7988);
  // Solves z + 0.04417·z³ = y, which is monotonic.
  let z = Math.min(y, 3);
  for (let i = 0; i < 8; i++) z -= (z + 0.04417 * z ** 3 - y) / (1 + 0.13251 * z * z);
  return z;
}
