import type { MetricObservation, MetricReading, UnitObservation } from './observation';
import { isRatioName } from './ratio-name';

/** The metrics of several targets that serve the same model, as one list: samples side by side, external values added or averaged. */
export function combineUnits(units: readonly UnitObservation[]): readonly MetricObservation[] {
  const names = [...new Set(units.flatMap((unit) => unit.metrics.map((metric) => metric.name)))];
  return names.map((name) => {
    const found = units.flatMap((unit) => {
      const metric = unit.metrics.find((candidate) => candidate.name === name);
      return metric === undefined ? [] : [{ ...metric, current: unit.current }];
    });
    return { name, targetValue: found[0]!.targetValue, reading: combine(name, found) };
  });
}

function combine(name: string, found: readonly { readonly reading: MetricReading; readonly current: number }[]): MetricReading {
  const externals = found.flatMap(({ reading, current }) =>
    reading.kind === 'external' ? [{ value: reading.value, current }] : [],
  );
  if (externals.length > 0) {
    const sum = externals.reduce((total, { value }) => total + value, 0);
    if (!isRatioName(name)) return { kind: 'external', value: sum };
    const replicas = externals.reduce((total, { current }) => total + current, 0);
    if (replicas === 0) return { kind: 'external', value: sum / externals.length };
    return { kind: 'external', value: externals.reduce((total, { value, current }) => total + value * current, 0) / replicas };
  }
  const values = found.flatMap(({ reading }) => (reading.kind === 'samples' ? reading.values : []));
  const over = found.flatMap(({ reading }) => (reading.kind === 'samples' ? [reading.over] : []))[0];
  if (values.length > 0) return { kind: 'samples', values, ...(over !== undefined && { over }) };
  return found.find(({ reading }) => reading.kind === 'missing')?.reading ?? { kind: 'missing', reason: 'no target answered' };
}
