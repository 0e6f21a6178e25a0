/** A distribution in a few numbers, all in milliseconds. NaN when there was nothing to measure. */
export interface LatencySummary {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Summarizes samples; percentiles are the nearest rank. */
export function summarize(samplesMs: readonly number[]): LatencySummary {
  const sorted = Float64Array.from(samplesMs).sort();
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  const mean = sorted.reduce((sum, each) => sum + each, 0) / sorted.length;
  return { mean, p50: rank(0.5), p90: rank(0.9), p99: rank(0.99) };
}
