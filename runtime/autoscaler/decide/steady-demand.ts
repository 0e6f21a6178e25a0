import type { Demand } from './algorithm';
import type { History } from './history';
import { followLoad } from './load-trend';
import type { MetricObservation, MetricReading } from './observation';

/** What replicas are recommended for, without what chance adds and takes away from one moment to the next. */
export interface SteadyDemand {
  /** By the loads over the time for which they are steady. */
  readonly demand: Demand;
  /** The same with loads as high as they may be by chance: replicas that this asks for are not taken away. */
  readonly cautious: Demand;
  /** By metric, those that differ from what was read. */
  readonly loads: ReadonlyMap<string, number>;
  readonly trends: NonNullable<History['trends']>;
}

/** By how many standard errors a load may be higher than it looks. */
const CAUTION_ERRORS = 3;

/**
 * Follows the loads of all metrics that say over what they are. What all replicas carry together is followed, which does not change when replicas
 * come or go. A round in which a metric is missing has no part in it. Pure.
 *
 * @param windowMs 0: demand is taken as it is read.
 */
export function steadyDemand(demand: Demand, known: History['trends'], atMs: number, windowMs: number): SteadyDemand {
  const loads = new Map<string, number>();
  const trends: Record<string, NonNullable<History['trends']>[string]> = {};
  const followed = demand.metrics.map((metric): { readonly steady: MetricObservation; readonly high: MetricObservation } => {
    const { name, targetValue, reading } = metric;
    const over = 'over' in reading ? reading.over : undefined;
    const read = loadOf(reading, targetValue);
    if (windowMs <= 0 || over === undefined || read === undefined) return { steady: metric, high: metric };
    const silent = Math.max(0, demand.current - read.answered);
    const now = { atMs, load: withSilent(read.load, silent, demand.current), over };
    const { load, error, trend } = followLoad(known?.[name], now, windowMs);
    trends[name] = trend;
    if (load === now.load && error === 0) return { steady: metric, high: metric };
    loads.set(name, load);
    const at = (steady: number): MetricObservation => {
      // The algorithm adds the silent ones again.
      const answered = steady >= demand.current ? steady : Math.max(0, steady - silent);
      return { ...metric, reading: withLoad(reading, answered, targetValue) };
    };
    return { steady: at(load), high: at(load + CAUTION_ERRORS * error) };
  });
  return {
    demand: { ...demand, metrics: followed.map(({ steady }) => steady) },
    cautious: { ...demand, metrics: followed.map(({ high }) => high) },
    loads,
    trends,
  };
}

function loadOf(reading: MetricReading, targetValue: number): { readonly load: number; readonly answered: number } | undefined {
  if (reading.kind === 'load') return reading.answered > 0 ? reading : undefined;
  if (reading.kind !== 'samples' || reading.values.length === 0) return undefined;
  return { load: reading.values.reduce((sum, value) => sum + value, 0) / targetValue, answered: reading.values.length };
}

function withLoad(reading: MetricReading, load: number, targetValue: number): MetricReading {
  if (reading.kind === 'load') return { ...reading, load };
  if (reading.kind !== 'samples') return reading;
  return { ...reading, values: reading.values.map(() => (load * targetValue) / reading.values.length) };
}

/** A silent replica neither adds to what is wanted nor takes away from it. */
function withSilent(load: number, silent: number, current: number): number {
  return Math.max(load, Math.min(load + silent, current));
}
