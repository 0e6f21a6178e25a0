import { trace as api, type Context, ROOT_CONTEXT, type Span, SpanKind, type Tracer } from '@opentelemetry/api';
import type { TracingConfig } from '../../../src/config/tracing-config';
import type { Clock } from '../../lib/clock';
import type { Logger } from '../../lib/logger';
import { CountedExporter } from './counted-exporter';
import { RequestSpans } from './request-spans';
import type { RequestTrace } from './request-trace';
import type { SpanMetrics } from './span-metrics';

/** Makes the spans of requests and sends them to a collector. */
export interface Tracing {
  /** Begins the span of a request whose head came. @param traceparent the client's, if any. */
  begin(trace: RequestTrace, traceparent: string | readonly string[] | undefined): RequestSpans;
  /** Sends what is left. */
  close(): Promise<void>;
}

export interface TracingOptions {
  readonly config: TracingConfig;
  readonly clock: Clock;
  readonly metrics: SpanMetrics;
  readonly log: Logger;
  /** Name of this copy in traces. */
  readonly instance: string;
}

/** How long the last spans may take at the end, in real milliseconds. */
const LAST_SPANS_MS = 2_000;

/**
 * Loads the OpenTelemetry packages only where spans are asked for: they take 90 ms and 3 MB.
 *
 * @returns undefined when no collector is configured.
 */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { config, clock } = options;
  if (config.endpoint === undefined) return undefined;
  const [sdk, { resourceFromAttributes }, { OTLPTraceExporter }, { ExportResultCode, parseTraceParent }] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/core'),
  ]);
  const ratio = new sdk.TraceIdRatioBasedSampler(config.sampleRatio);
  const collector = new OTLPTraceExporter({ url: config.endpoint });
  const exporter = new CountedExporter(collector, ExportResultCode.SUCCESS, options.metrics, options.log);
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': config.serviceName, 'service.instance.id': options.instance }),
    sampler: config.followClients ? new sdk.ParentBasedSampler({ root: ratio }) : ratio,
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  const tracer: Tracer = provider.getTracer('kvasir-router');
  return {
    begin: (trace, traceparent) => {
      const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null;
      const context = parent === null ? ROOT_CONTEXT : api.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
      return new RequestSpans(tracer, beginServerSpan(tracer, trace, context), trace, clock);
    },
    close: () => Promise.race([provider.shutdown(), new Promise<void>((resolve) => setTimeout(resolve, LAST_SPANS_MS).unref())]),
  };
}

function beginServerSpan(tracer: Tracer, trace: RequestTrace, context: Context): Span {
  const attributes = { 'http.request.method': trace.method, 'kvasir.request_id': trace.requestId };
  return tracer.startSpan(trace.method, { kind: SpanKind.SERVER, startTime: trace.startedAtMs, attributes }, context);
}
