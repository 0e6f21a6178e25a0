import type { MetricObservation, UnitObservation } from '../decide/observation';

/** Name of the metric that `spec.slo` stands for: what arrives for each replica, against what one carries within it. */
const SLO_METRIC = 'slo';

/** `unit` with the metric that `spec.slo` stands for. @param metric its target value is 1 where none is given. */
export function withSloMetric(
  unit: UnitObservation,
  metric: Partial<MetricObservation> & Pick<MetricObservation, 'reading'>,
): UnitObservation {
  return { ...unit, metrics: [...unit.metrics, { name: SLO_METRIC, targetValue: 1, ...metric }] };
}
