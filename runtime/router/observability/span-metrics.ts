import type { Metrics, SeriesFamily } from '../../lib/metrics';

/** What became of spans; nothing while there is no collector. */
export class SpanMetrics {
  private readonly spans: SeriesFamily;

  constructor(metrics: Metrics) {
    this.spans = metrics.counter('kvasir_router_spans_total', 'Spans of traces by what became of them.', ['outcome']);
  }

  sent(outcome: 'exported' | 'failed', count: number): void {
    this.spans.with(outcome).add(count);
  }
}
