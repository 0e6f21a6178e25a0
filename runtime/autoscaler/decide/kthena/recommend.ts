import type { Algorithm, Demand, MetricVerdict, Recommendation } from '../algorithm';
import { EMPTY_HISTORY } from '../history';
import { clamp } from '../rules';

/**
 * Kthena 1.0's algorithm, exactly, for comparison and for people who rely on it. Its quirks are kept: a target's pods arrive as one sum,
 * so that the tolerance band lies around one replica's worth of load and not around the present replicas; unready pods and missing
 * values are counted as targets; zero replicas count as a surge; a restart forgets the past.
 */
export const kthenaAlgorithm: Algorithm = {
  name: 'kthena',

  recommend(demand: Demand): Recommendation {
    const { current, bounds } = demand;
    if (current < bounds.min) return { kind: 'bounds', replicas: bounds.min, verdicts: [] };
    if (current > bounds.max) return { kind: 'bounds', replicas: bounds.max, verdicts: [] };
    const verdicts = demand.metrics.map(({ name, targetValue, reading }): MetricVerdict => {
      if (reading.kind === 'external') return { name, replicas: byExternal(reading.value / targetValue, demand) };
      if (reading.kind === 'missing') return { name, missing: reading.reason };
      if (reading.kind === 'load') throw new TypeError('Kthena sizes pools by samples, and not by a load');
      if (reading.values.length === 0) return { name, missing: 'no target answered' };
      return { name, replicas: byInstances(reading.values, targetValue, demand) };
    });
    const usable = verdicts.flatMap((verdict) => verdict.replicas ?? []);
    if (usable.length === 0) return { kind: 'unknown', verdicts };
    return { kind: 'metrics', replicas: clamp(Math.max(...usable), bounds), verdicts };
  },

  isSurge: (recommended, current, thresholdPercent) => recommended * 100 >= current * thresholdPercent,

  firstHistory: () => EMPTY_HISTORY,
};

function byExternal(load: number, { current, tolerance }: Demand): number {
  return Math.abs(load / current - 1) <= tolerance ? current : wholeReplicas(load);
}

function byInstances(
  values: readonly number[],
  targetValue: number,
  { current, tolerance, targets, unreadyPods }: Demand,
): number {
  const answered = values.length;
  const missing = targets - answered;
  let sum = values.reduce((total, value) => total + value, 0);
  const ratio = sum / answered / targetValue;
  const isUp = ratio >= 1;
  const countsUnready = isUp && unreadyPods > 0;
  if (!countsUnready && missing === 0) {
    return Math.abs(ratio - 1) <= tolerance ? current : wholeReplicas(ratio * answered);
  }
  let count = answered + missing;
  if (!isUp) sum += missing * targetValue;
  if (countsUnready) count += unreadyPods;
  const rebalanced = sum / count / targetValue;
  if (Math.abs(rebalanced - 1) <= tolerance || rebalanced >= 1 !== isUp) return current;
  const desired = wholeReplicas(rebalanced * count);
  return (isUp && desired < current) || (!isUp && desired > current) ? current : desired;
}

function wholeReplicas(load: number): number {
  return Number.isNaN(load) ? 0 : Math.min(1e9, Math.max(0, Math.ceil(load)));
}
