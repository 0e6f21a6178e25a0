import type { Metrics } from '../../lib/metrics';

const LIMIT_TYPES = { input: 'input_tokens', output: 'output_tokens', requests: 'requests' } as const;

/** Metrics of limits. */
export class LimitMetrics {
  private readonly exceeded;
  private readonly local;

  constructor(metrics: Metrics) {
    this.exceeded = metrics.counter('kthena_router_rate_limit_exceeded_total', 'Requests refused for a limit.', [
      'model',
      'limit_type',
      'path',
    ]);
    this.local = metrics
      .counter(
        'kvasir_router_rate_limit_local_decisions_total',
        'Decisions on shared limits that this router made by itself, since Redis was away.',
      )
      .with();
  }

  refused(model: string, quantity: keyof typeof LIMIT_TYPES, path: string): void {
    this.exceeded.with(model, LIMIT_TYPES[quantity], path).add(1);
  }

  decidedHere(): void {
    this.local.add(1);
  }
}
