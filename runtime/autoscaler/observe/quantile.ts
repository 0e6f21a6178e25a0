import type { Histogram } from './metrics-page';

/** Why a quantile cannot be told. */
export class HistogramError extends Error {}

/**
 * What came into `now` since `then`.
 *
 * @throws HistogramError when buckets differ or a count went back.
 */
export function since(now: Histogram, then: Histogram): Histogram {
  if (now.bounds.length !== then.bounds.length || now.bounds.some((bound, i) => bound !== then.bounds[i])) {
    throw new HistogramError('its buckets changed');
  }
  const counts = now.counts.map((count, i) => count - then.counts[i]!);
  if (counts.some((count) => count < 0)) throw new HistogramError('its counts went back');
  return { bounds: now.bounds, counts };
}

/**
 * Several histograms as one.
 *
 * @throws HistogramError when their buckets differ.
 */
export function merge(histograms: readonly Histogram[]): Histogram {
  const [first, ...rest] = histograms;
  if (first === undefined) return { bounds: [], counts: [] };
  return rest.reduce((sum, next) => {
    if (sum.bounds.length !== next.bounds.length || sum.bounds.some((bound, i) => bound !== next.bounds[i])) {
      throw new HistogramError('its buckets differ between series');
    }
    return { bounds: sum.bounds, counts: sum.counts.map((count, i) => count + next.counts[i]!) };
  }, first);
}

/**
 * The `percentile`-th percentile, interpolated linearly inside its bucket as Kthena does: the first bucket starts at 0, and the last one
 * ends at twice the bound before it. 0 when nothing was observed.
 *
 * @throws HistogramError when counts are not cumulative.
 */
export function quantile({ bounds, counts }: Histogram, percentile: number): number {
  const total = counts.at(-1) ?? 0;
  if (total === 0) return 0;
  if (counts.some((count, i) => count < (counts[i - 1] ?? 0))) throw new HistogramError('its counts are not cumulative');
  const rank = Math.ceil((percentile / 100) * total);
  const bucket = counts.findIndex((count) => count >= rank);
  const lower = bounds[bucket - 1] ?? 0;
  const bound = bounds[bucket]!;
  const upper = Number.isFinite(bound) ? bound : 2 * lower;
  const before = counts[bucket - 1] ?? 0;
  const inside = counts[bucket]! - before;
  return lower + ((upper - lower) * (rank - before)) / inside;
}
