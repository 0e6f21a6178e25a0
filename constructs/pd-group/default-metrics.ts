import type { Engine } from '../engine/engine';
import type { PdRole } from '../engine/engine-spec';
import { Metric } from '../metric';
import { BUSY_SEQUENCES } from '../workload/engine-pace';

/** Queue at which llm-d's autoscaler calls a replica saturated. */
const SATURATED_QUEUE = 5;
/** Share of the KV cache at which it does so. */
const SATURATED_KV = 0.8;

/**
 * What a role scales by unless it is told: prefill by the prompts that wait, decode by the sequences that it generates and by the room
 * that is left for their KV cache. Metrics that the engine does not have are left out.
 */
export function defaultMetrics(role: PdRole, engine: Engine): readonly Metric[] {
  const metrics =
    role === 'prefill'
      ? [Metric.waitingRequests(SATURATED_QUEUE)]
      : [Metric.runningRequests(BUSY_SEQUENCES), Metric.kvCacheUsage(SATURATED_KV)];
  const known = metrics.filter((metric) => metric.familyOf(engine) !== undefined);
  return known.length > 0 ? known : metrics;
}
