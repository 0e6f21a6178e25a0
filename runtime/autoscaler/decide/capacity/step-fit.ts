import type { EngineWindow } from './engine-window';
import type { StepModel } from './step-model';

/**
 * Sums of a weighted least-squares fit of the mean step time to the mean batch and the mean prefill tokens of a step. Plain data. `moments`
 * is the upper triangle of Σ w·x·xᵀ, `targets` is Σ w·x·y, with x = (1, sequences, prefill tokens).
 */
export interface StepFit {
  readonly moments: readonly [number, number, number, number, number, number];
  readonly targets: readonly [number, number, number];
}

export const EMPTY_FIT: StepFit = { moments: [0, 0, 0, 0, 0, 0], targets: [0, 0, 0] };

/** Half of what is known is replaced by what is seen in this time of one engine at work. An assumption. */
const HALF_LIFE_MS = 30 * 60_000;

/** How far, as a share, one window's mean step time is from the line, and the prior from the truth. Assumptions. */
const WINDOW_SIGMA = 0.05;
const PRIOR_SIGMA = 0.5;

/** Mean decoding batch from which an engine has work all the time: with Poisson arrivals it is idle for e⁻⁵ = 0.7 % of it. */
const BUSY_BATCH = 5;

/** Waiting prompts from which an engine that only prefills has hardly been idle since it had as many before. An assumption. */
const BUSY_QUEUE = 5;

/** Steps from which the means of a window say something. */
const LEAST_STEPS = 20;

/** What a window says of the step time; undefined when the engine may have been idle for a part of it, so that steps do not fill it. */
export function meanStep(
  window: EngineWindow,
): { readonly stepMs: number; readonly sequences: number; readonly prefillTokens: number } | undefined {
  const { decodeMs, decodeTokens, prefillTokens, running, waiting } = window;
  const spanMs = window.spanMs * window.ranks;
  if (decodeTokens === 0 && window.steps !== undefined && window.steps >= LEAST_STEPS && Math.min(...waiting) >= BUSY_QUEUE) {
    // Others decode. What had a queue before and after was at work in between.
    return { stepMs: spanMs / window.steps, sequences: 0, prefillTokens: prefillTokens / window.steps };
  }
  if (!(spanMs > 0) || decodeTokens <= 0 || Math.min(...running) <= 0 || decodeMs / spanMs < BUSY_BATCH) return undefined;
  // Steps weighted by their batch have the mean length decodeMs ÷ decodeTokens; without a count it stands for that of all.
  const steps = window.steps ?? (spanMs * decodeTokens) / decodeMs;
  if (steps < LEAST_STEPS) return undefined;
  return { stepMs: spanMs / steps, sequences: decodeTokens / steps, prefillTokens: prefillTokens / steps };
}

/** `fit` with one more window of an engine that was at work. */
export function addWindow(fit: StepFit, window: EngineWindow): StepFit {
  const mean = meanStep(window);
  if (mean === undefined) return fit;
  const keep = 0.5 ** (window.spanMs / HALF_LIFE_MS);
  const { stepMs, sequences: n, prefillTokens: p } = mean;
  const weight = 1 / (WINDOW_SIGMA * stepMs) ** 2;
  const added = [1, n, p, n * n, n * p, p * p];
  return {
    moments: fit.moments.map((moment, i) => keep * moment + weight * added[i]!) as unknown as StepFit['moments'],
    targets: fit.targets.map((target, i) => keep * target + weight * [1, n, p][i]! * stepMs) as unknown as StepFit['targets'],
  };
}

/** The step time that windows and prior together make most likely; each part is ≥ 0. With no window it is the prior. */
export function fittedStep(fit: StepFit, prior: StepModel): StepModel {
  const [m00, m01, m02, m11, m12, m22] = fit.moments;
  const before = [prior.baseMs, prior.perSequenceMs, prior.perPrefillTokenMs] as const;
  const precision = before.map((value) => 1 / (PRIOR_SIGMA * Math.max(value, 1e-9)) ** 2);
  const matrix = [
    [m00 + precision[0]!, m01, m02],
    [m01, m11 + precision[1]!, m12],
    [m02, m12, m22 + precision[2]!],
  ];
  const right = before.map((value, i) => fit.targets[i]! + precision[i]! * value);
  const solved = solveNonNegative(matrix, right);
  return { baseMs: solved[0]!, perSequenceMs: solved[1]!, perPrefillTokenMs: solved[2]! };
}

/** Least squares with x ≥ 0 by coordinate descent: the matrix is positive definite, so that it converges from anywhere. */
function solveNonNegative(matrix: readonly (readonly number[])[], right: readonly number[]): readonly number[] {
  const free = solve3(matrix, right);
  if (free.every((value) => value >= 0)) return free;
  const x = free.map((value) => Math.max(0, value));
  for (let round = 0; round < 200; round++) {
    for (let i = 0; i < 3; i++) {
      const others = x.reduce((sum, value, j) => (j === i ? sum : sum + matrix[i]![j]! * value), 0);
      x[i] = Math.max(0, (right[i]! - others) / matrix[i]![i]!);
    }
  }
  return x;
}

/** Solves three equations by Cramer's rule after scaling, since tokens and milliseconds differ by orders of magnitude. */
function solve3(matrix: readonly (readonly number[])[], right: readonly number[]): readonly number[] {
  const scale = matrix.map((row, i) => 1 / Math.sqrt(row[i]!));
  const a = matrix.map((row, i) => row.map((value, j) => value * scale[i]! * scale[j]!));
  const b = right.map((value, i) => value * scale[i]!);
  const whole = determinant(a);
  return scale.map((factor, column) => {
    const replaced = a.map((row, i) => row.map((value, j) => (j === column ? b[i]! : value)));
    return (factor * determinant(replaced)) / whole;
  });
}

function determinant(m: readonly (readonly number[])[]): number {
  const minor = (i: number, j: number): number => m[1]![i]! * m[2]![j]! - m[1]![j]! * m[2]![i]!;
  return m[0]![0]! * minor(1, 2) - m[0]![1]! * minor(0, 2) + m[0]![2]! * minor(0, 1);
}
