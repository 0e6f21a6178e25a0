import { combineUnits } from './combine';
import type { MetricObservation, Rest, UnitObservation } from './observation';
import { isRatioName } from './ratio-name';

/** What one replica of each pool carries, in replicas of the weakest pool; all alike when that is not known of every pool. */
export function relativeCapacities(units: readonly UnitObservation[]): readonly number[] {
  const known = units.flatMap(({ capacity }) => capacity ?? []);
  if (known.length < units.length) return units.map(() => 1);
  const least = Math.min(...known);
  return known.map((capacity) => capacity / least);
}

/**
 * The metrics of several pools as loads, in replicas of the weakest pool: amounts are added, and a share of a stronger replica weighs as
 * much more as it can carry. Replicas that are not ready yet count as idle ones that answered: what they are for is on its way. External values
 * are taken as they are.
 */
export function poolLoads(units: readonly UnitObservation[], capacities: readonly number[]): readonly MetricObservation[] {
  return combineUnits(units).map((metric): MetricObservation => {
    if (metric.reading.kind !== 'samples') return metric;
    let load = 0;
    let answered = 0;
    units.forEach(({ metrics, current, unreadyPods }, i) => {
      const reading = metrics.find(({ name }) => name === metric.name)?.reading;
      const silent = current - (reading?.kind === 'samples' ? reading.values.length : 0);
      answered += Math.max(0, Math.min(unreadyPods, silent)) * capacities[i]!;
      if (reading?.kind !== 'samples') return;
      const sum = reading.values.reduce((total, value) => total + value, 0) / metric.targetValue;
      load += isRatioName(metric.name) ? sum * capacities[i]! : sum;
      answered += reading.values.length * capacities[i]!;
    });
    const { over } = metric.reading;
    return { ...metric, reading: { kind: 'load', load, answered, ...(over !== undefined && { over }) } };
  });
}

/** Whether all pools together may rest: one that is called or busy is enough. */
export function commonRest(units: readonly UnitObservation[]): Rest | undefined {
  const rests = units.flatMap(({ rest }) => rest ?? []);
  if (rests.length < units.length) return undefined;
  const wake = (['wanted', 'possible'] as const).find((each) => rests.some((rest) => rest.wake === each)) ?? 'impossible';
  const busy = rests.find((rest) => rest.busy !== undefined)?.busy;
  return { wake, ...(busy !== undefined && { busy }) };
}
