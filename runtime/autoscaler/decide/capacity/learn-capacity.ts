import type { EngineWindow } from './engine-window';
import type { BatchRoom, LatencyGoal } from './rate-at-slo';
import { type RequestPart, rateOfPart } from './request-part';
import { addWindow, EMPTY_FIT, fittedStep, type StepFit } from './step-fit';
import type { StepModel, TrafficMix } from './step-model';

/** What is known of engines of one pool, model and revision. Plain data. */
export interface LearnedCapacity {
  readonly fit: StepFit;
  /** Capacity as a multiple of what the catalogue says, 0.5..2. */
  readonly factor: number;
  /** What an earlier process had learned of the step time; absent: the catalogue is where the fit starts. */
  readonly start?: StepModel;
}

export const NOTHING_LEARNED: LearnedCapacity = { fit: EMPTY_FIT, factor: 1 };

/** What the catalogue says of such an engine. */
export interface CapacityPrior {
  readonly step: StepModel;
  readonly room: BatchRoom;
  /** Data-parallel ranks, each of which is such an engine. */
  readonly ranks: number;
  /** Absent: it serves whole requests. */
  readonly part?: RequestPart;
}

/** Most that the capacity moves in one round, so that one odd window moves no fleet. */
const MOST_CHANGE = 0.1;
const LEAST_FACTOR = 0.5;
const GREATEST_FACTOR = 2;

/**
 * What one round's windows teach, one window for each engine.
 *
 * The fitted step time says what an engine carries within the goal. What was really served corrects that: an engine without a queue served
 * as much at least, and one that had a queue all along served as much as it can.
 *
 * @param mix of the pool's requests; undefined as long as too few were seen, and then only the fit learns.
 */
export function learnCapacity(
  known: LearnedCapacity,
  windows: readonly EngineWindow[],
  prior: CapacityPrior,
  mix: TrafficMix | undefined,
  goal: LatencyGoal | undefined,
): LearnedCapacity {
  const fit = windows.reduce(addWindow, known.fit);
  if (mix === undefined) return { ...known, fit };
  const expected = prior.ranks * rateOfPart(prior.part, prior.step, mix, goal, prior.room);
  if (!(expected > 0)) return { ...known, fit };
  const fitted = prior.ranks * rateOfPart(prior.part, learnedStep({ ...known, fit }, prior), mix, goal, prior.room);
  // Without a goal capacities are compared at one batch, and what was served at another says nothing.
  const wanted = goal === undefined ? fitted : Math.min(Math.max(fitted, servedWithin(goal, windows)), servedAtMost(windows));
  const moved = clampTo(wanted / expected, known.factor * (1 - MOST_CHANGE), known.factor * (1 + MOST_CHANGE));
  return { ...known, fit, factor: clampTo(moved, LEAST_FACTOR, GREATEST_FACTOR) };
}

/** The step time by what was learned. */
export function learnedStep({ fit, start }: Omit<LearnedCapacity, 'factor'>, { step }: Pick<CapacityPrior, 'step'>): StepModel {
  return fittedStep(fit, start ?? step);
}

/** Requests per second of `mix` that one engine carries within the goal, by what was learned. */
export function learnedRate(
  { factor }: LearnedCapacity,
  { step, room, ranks, part }: CapacityPrior,
  mix: TrafficMix,
  goal: LatencyGoal | undefined,
): number {
  return factor * ranks * rateOfPart(part, step, mix, goal, room);
}

/** Standard deviations by which a count of few requests may be off. */
const CAUTION = 2;

/** Most that an engine without a queue surely served at the mean latency asked for: a lower bound of what it can. */
function servedWithin({ itlMs = Number.POSITIVE_INFINITY }: LatencyGoal, windows: readonly EngineWindow[]): number {
  const free = windows.filter((window) => !isSaturated(window) && window.decodeMs <= itlMs * window.decodeTokens);
  return Math.max(0, ...free.map(({ finished, spanMs }) => (1000 * (finished - CAUTION * Math.sqrt(finished))) / spanMs));
}

/** What engines that had a queue all along served on the mean: an upper bound of what one can. */
function servedAtMost(windows: readonly EngineWindow[]): number {
  const full = windows.filter(isSaturated);
  if (full.length === 0) return Number.POSITIVE_INFINITY;
  const finished = full.reduce((sum, window) => sum + window.finished, 0);
  const spanMs = full.reduce((sum, window) => sum + window.spanMs, 0);
  return (1000 * (finished + CAUTION * Math.sqrt(finished))) / spanMs;
}

/** Whether requests waited at both ends of the window, so that the engine had no room for them. */
function isSaturated({ waiting }: EngineWindow): boolean {
  return Math.min(...waiting) > 0;
}

function clampTo(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
