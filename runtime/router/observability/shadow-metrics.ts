import type { Metrics } from '../../lib/metrics';
import type { AttemptOutcome } from '../scheduling/attempts';
import type { Destination } from './request-trace';

/** How a copy ended: as an attempt does, or before one. `skipped`: too many were under way; `unserved`: nobody could take it. */
export type ShadowOutcome = AttemptOutcome['kind'] | 'skipped' | 'unserved';

/** What became of the copies of requests. */
export class ShadowMetrics {
  private readonly copies;

  constructor(metrics: Metrics) {
    this.copies = metrics.counter('kvasir_router_shadow_requests_total', 'Copies of requests for shadows, by how they ended.', [
      'model_route',
      'model_server',
      'outcome',
    ]);
  }

  ended({ modelRoute, backendName }: Destination, outcome: ShadowOutcome): void {
    this.copies.with(modelRoute, backendName, outcome).add(1);
  }
}
