import type { MetricObservation } from '../decide/observation';

/** What one round read of one metric, summed up for people. */
export interface MetricInput {
  readonly name: string;
  /** Value that one replica should have. */
  readonly target: number;
  /** How many replicas answered; absent for one number over the whole target. */
  readonly answered?: number;
  /** All that was read, together; of several pools in replicas of the weakest one. Absent where nothing was. */
  readonly sum?: number;
  /** Why nothing was read. */
  readonly missing?: string;
}

export function metricInput({ name, targetValue: target, reading }: MetricObservation): MetricInput {
  switch (reading.kind) {
    case 'external':
      return { name, target, sum: reading.value };
    case 'samples':
      return { name, target, answered: reading.values.length, sum: reading.values.reduce((sum, value) => sum + value, 0) };
    case 'load':
      return { name, target, answered: reading.answered, sum: reading.load };
    case 'missing':
      return { name, target, missing: reading.reason };
  }
}
