/** Steps in a row that decode the same sequences, one token each; every step takes as much longer as the KV that the one before added. */
export interface Stride {
  readonly startMs: number;
  /** Length of the first step. */
  readonly firstMs: number;
  /** By how much each step is longer than the one before. */
  readonly growthMs: number;
  /** ≥ 1. */
  readonly steps: number;
}

/** When the first `steps` steps are over. */
export function endOfSteps({ startMs, firstMs, growthMs }: Stride, steps: number): number {
  return startMs + steps * firstMs + (growthMs * steps * (steps - 1)) / 2;
}

/** Steps that are over at `atMs`, 0 to all. */
export function stepsDone(stride: Stride, atMs: number): number {
  let done = 0;
  for (let rest = stride.steps; rest > 0; ) {
    const half = Math.ceil(rest / 2);
    if (endOfSteps(stride, done + half) <= atMs) {
      done += half;
      rest -= half;
    } else rest = half - 1;
  }
  return done;
}
