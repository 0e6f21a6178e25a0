import type { DayResult } from '../day-run';

/** Middle value; of an even number of values the lower one of the two in the middle, so that it is one that occurred. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
}

/** Share of a day's requests that missed the objective. */
export function missRate({ missed, requests }: Pick<DayResult, 'missed' | 'requests'>): number {
  return requests === 0 ? 0 : missed / requests;
}

export function costRange(days: readonly Pick<DayResult, 'cost'>[]): { readonly median: number; readonly worst: number } {
  const costs = days.map(({ cost }) => cost);
  return { median: median(costs), worst: Math.max(...costs) };
}
