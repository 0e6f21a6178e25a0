import type { ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../../lib/logger';
import type { SpanMetrics } from './span-metrics';

/** Counts the spans that another exporter sends, and tells once when the collector is away and once when it is back. */
export class CountedExporter implements SpanExporter {
  private isAway = false;

  /** @param success the code for it: an enum of a package that is loaded late. */
  constructor(
    private readonly inner: SpanExporter,
    private readonly success: ExportResultCode,
    private readonly metrics: SpanMetrics,
    private readonly log: Logger,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.inner.export(spans, (result) => {
      const isSent = result.code === this.success;
      this.metrics.sent(isSent ? 'exported' : 'failed', spans.length);
      if (isSent && this.isAway) this.log.info('the collector of traces is back');
      if (!isSent && !this.isAway) this.log.warn({ reason: result.error?.message }, 'spans cannot be sent to the collector');
      this.isAway = !isSent;
      // The batch is over either way; the processor has no better use of the error than to print it.
      done({ code: this.success });
    });
  }

  async forceFlush(): Promise<void> {
    await this.inner.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}
