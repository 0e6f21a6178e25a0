import type { Algorithm, Demand, MetricVerdict, Recommendation } from './algorithm';
import type { MetricReading } from './observation';
import { clamp } from './rules';

/**
 * Kvasir's own algorithm: as many replicas as carry the load, and no change while the load per present replica is within the tolerance
 * of the target.
 *
 * - A replica that does not answer counts as idle when the others ask for more, and as exactly on target when they ask for less, so that
 *   it can neither add replicas nor take them away.
 * - A metric that cannot be read could ask for more: the others may then add replicas, and take none away.
 * - Pods of a target without replicas say nothing, so that nothing goes to zero unless an external metric or a router can bring it back.
 * - Requests that wait for a target without replicas bring it to one, whatever metrics say. Engines that have requests keep the last replica.
 */
export const defaultAlgorithm: Algorithm = {
  name: 'default',

  recommend(demand: Demand): Recommendation {
    const { current, bounds, metrics } = demand;
    const verdicts = metrics.map(({ name, targetValue, reading }): MetricVerdict => {
      const replicas = replicasFor(reading, targetValue, demand);
      if (replicas !== undefined) return { name, replicas };
      return { name, missing: reading.kind === 'missing' ? reading.reason : 'no replica answered' };
    });
    const bounded = clamp(current, bounds);
    if (bounded !== current) return { kind: 'bounds', replicas: bounded, verdicts };

    const usable = verdicts.flatMap((verdict) => verdict.replicas ?? []);
    if (usable.length === 0) {
      if (demand.rest?.wake !== 'wanted') return { kind: 'unknown', verdicts };
      return { kind: 'wake', replicas: clamp(Math.max(1, current), bounds), verdicts };
    }
    const asked = Math.max(...usable);
    const keptBy = asked > 0 ? undefined : whatKeepsTheLast(demand);
    const wanted = keptBy === undefined ? asked : 1;
    const replicas = usable.length < metrics.length ? Math.max(wanted, current) : wanted;
    return { kind: 'metrics', replicas: clamp(replicas, bounds), verdicts, ...(keptBy !== undefined && { keptBy }) };
  },

  isSurge: (recommended, current, thresholdPercent) => recommended > current && recommended * 100 >= current * thresholdPercent,

  firstHistory: (current, nowMs) => ({
    recommendations: [{ atMs: nowMs, replicas: current }],
    corrections: [{ atMs: nowMs, replicas: current }],
  }),
};

function whatKeepsTheLast({ current, metrics, rest }: Demand): 'wake' | 'busy' | 'no-wake-signal' | undefined {
  if (rest?.wake === 'wanted') return 'wake';
  if (current === 0) return undefined;
  if (rest?.busy !== undefined) return 'busy';
  const canWake = rest?.wake === 'possible' || metrics.some((metric) => metric.reading.kind === 'external');
  return canWake ? undefined : 'no-wake-signal';
}

function replicasFor(reading: MetricReading, targetValue: number, demand: Demand): number | undefined {
  switch (reading.kind) {
    case 'missing':
      return undefined;
    case 'external':
      return replicasForLoad(reading.value / targetValue, demand);
    case 'load':
      return replicasOf(reading, demand, capacityForLoad);
    case 'samples': {
      const load = reading.values.reduce((sum, value) => sum + value, 0) / targetValue;
      return replicasOf({ load, answered: reading.values.length }, demand, replicasForLoad);
    }
  }
}

function replicasOf(
  { load, answered }: { readonly load: number; readonly answered: number },
  demand: Demand,
  forLoad: (load: number, demand: Demand) => number,
): number | undefined {
  if (answered === 0) return undefined;
  const silent = Math.max(0, demand.current - answered);
  if (silent <= ROUNDING * demand.current) return forLoad(load, demand);
  const asksForMore = load >= answered;
  const replicas = forLoad(asksForMore ? load : load + silent, demand);
  return asksForMore ? Math.max(replicas, demand.current) : Math.min(replicas, demand.current);
}

/** As `replicasForLoad`, in parts of a replica too: whole ones are made of it when it is laid on the pools. */
function capacityForLoad(load: number, demand: Demand): number {
  return isOnTarget(load, demand) ? demand.current : Math.min(MAX_REPLICAS, load);
}

/** @param load in replicas' worth: 2.5 keeps two and a half replicas exactly on target. */
function replicasForLoad(load: number, demand: Demand): number {
  if (isOnTarget(load, demand)) return demand.current;
  return Math.min(MAX_REPLICAS, Math.ceil(load - ROUNDING * Math.max(1, load)));
}

function isOnTarget(load: number, { current, tolerance }: Demand): boolean {
  return current > 0 && Math.abs(load / current - 1) <= tolerance + ROUNDING;
}

/** Sums of decimals such as 0.1 miss whole numbers by a few 1e-16; a replica is never added for that. */
const ROUNDING = 1e-9;

/** Larger than any bound that the schema allows. */
const MAX_REPLICAS = 1e9;
