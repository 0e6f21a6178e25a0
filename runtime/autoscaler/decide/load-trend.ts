/** A load in replicas' worth, and when it was. */
export interface LoadPoint {
  readonly atMs: number;
  readonly load: number;
}

/** What is remembered of one metric's load. Plain data, oldest first. */
export interface LoadTrend {
  /** As read; of a gauge within one window, otherwise only the last. */
  readonly read: readonly LoadPoint[];
  /** Over the window before each time, since the load is steady, and at most `MOST_WINDOWS` back. */
  readonly windows: readonly LoadPoint[];
  /** By how much the load of one window differed from that of the window before, each time. */
  readonly differences: readonly number[];
}

/** The load over the longest time for which it was steady. */
export interface SteadyLoad {
  readonly load: number;
  /** Standard error of `load`. */
  readonly error: number;
  readonly trend: LoadTrend;
}

/** Windows that a steady load is averaged over at most. */
const MOST_WINDOWS = 5;

/** A load that differs by so many standard errors from before has changed. An assumption: 5 rather than 4, since estimated errors are often too small. */
const CHANGE_ERRORS = 5;

/** Differences to have seen before it is judged what is chance; until then loads are taken as they are. */
const LEAST_DIFFERENCES = 20;

/** Differences that are kept: an hour of rounds of 15 seconds. */
const MOST_DIFFERENCES = 240;

/**
 * Follows one metric. Under a constant rate of arrivals what is read swings by chance, in a small fleet by more than any tolerance. So
 * the load is averaged for as long as it is steady; one that changed by more than chance explains counts at once. How much chance explains is
 * learned from how windows in a row differ. Loads that do not swing are taken as they are. Pure.
 *
 * @param windowMs span that rates are read over, and over which gauges are averaged first.
 */
export function followLoad(
  known: LoadTrend | undefined,
  now: LoadPoint & { readonly over: 'moment' | 'window' },
  windowMs: number,
): SteadyLoad {
  const { atMs, load } = now;
  const young = (known?.read ?? []).filter((point) => now.over === 'moment' && atMs - point.atMs < windowMs);
  const read = [...young, { atMs, load }];
  const window = { atMs, load: mean(read) };
  const earlier = (known?.windows ?? []).filter((point) => atMs - point.atMs < MOST_WINDOWS * windowMs);
  const before = earlier.filter((point) => atMs - point.atMs >= windowMs);
  const { differences = [] } = known ?? {};
  const deviation = deviationOf(differences);
  const isKnown = differences.length >= LEAST_DIFFERENCES && deviation > 0 && before.length > 0;
  const isChanged =
    isKnown && Math.abs(window.load - mean(before)) > CHANGE_ERRORS * deviation * Math.sqrt(1 + 1 / spansOf(before, windowMs));
  const windows = isChanged ? [window] : [...earlier, window];
  const last = before.at(-1);
  const trend = {
    read,
    windows,
    differences: last === undefined ? differences : [...differences, Math.abs(window.load - last.load)].slice(-MOST_DIFFERENCES),
  };
  if (differences.length < LEAST_DIFFERENCES || deviation === 0) return { load, error: 0, trend };
  const steady = isKnown && !isChanged ? mean(windows) : window.load;
  return { load: steady, error: deviation / Math.sqrt(spansOf(windows, windowMs)), trend };
}

/** Standard deviation of the load of one window, from the median of the differences between two: a load that changes once does not count. */
function deviationOf(differences: readonly number[]): number {
  const sorted = [...differences].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return median <= ROUNDING ? 0 : median / (NORMAL_MEDIAN * Math.SQRT2);
}

/** Median of the absolute value of a standard normal variable. */
const NORMAL_MEDIAN = 0.6745;

/** How many windows, one after the other, `windows` reach over. */
function spansOf(windows: readonly LoadPoint[], windowMs: number): number {
  return (windows.at(-1)!.atMs - windows[0]!.atMs) / windowMs + 1;
}

/** Sums of decimals miss by a few 1e-16. */
const ROUNDING = 1e-9;

function mean(points: readonly LoadPoint[]): number {
  return points.reduce((sum, { load }) => sum + load, 0) / points.length;
}
