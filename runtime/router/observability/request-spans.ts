import {
  type Attributes,
  trace as api,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api';
import type { Clock } from '../../lib/clock';
import type { AttemptEndpoint, AttemptOutcome, TokenUsage } from '../scheduling/attempts';

/** What spans tell of a request: its trace, as it stands when they are made. */
export interface TracedRequest {
  readonly method: string;
  readonly path: string;
  readonly model: string;
  readonly status: number;
  readonly errorType: string | undefined;
  readonly destination: { readonly modelRoute: string; readonly backendName: string } | undefined;
  readonly usage: TokenUsage | undefined;
  readonly inputTokens: number;
  readonly attempts: number;
  readonly streams: boolean;
  readonly ttftMs: number | undefined;
  readonly queuedMs: number | undefined;
  /** Epoch. */
  readonly startedAtMs: number;
  /** Monotonic marks. */
  readonly startMs: number;
  readonly parsedAtMs: number | undefined;
  readonly upstreamStartMs: number | undefined;
  readonly endMs: number;
}

/** The spans of one request. A request that is not sampled has them too, for what its engine is told, and none is sent. */
export class RequestSpans {
  private readonly context: Context;

  constructor(
    private readonly tracer: Tracer,
    private readonly server: Span,
    private readonly trace: TracedRequest,
    private readonly clock: Clock,
  ) {
    this.context = api.setSpan(ROOT_CONTEXT, server);
  }

  /** Headers as a request of the whole span sends them. @param raw name, value, name, value. */
  headers(raw: readonly string[]): readonly string[] {
    return withTraceparent(raw, this.server);
  }

  /** Where the request is to go was decided. @param startMs monotonic. @param endpoint undefined when nobody could take it. */
  scheduled(startMs: number, endpoint: string | undefined): void {
    this.part('schedule', startMs, this.clock.monotonic(), endpoint === undefined ? {} : { 'kvasir.endpoint': endpoint });
  }

  /** Begins an attempt at an endpoint. */
  attempt({ host, port, pod }: AttemptEndpoint, attributes: Attributes): AttemptSpan {
    const span = this.tracer.startSpan(
      'attempt',
      {
        kind: SpanKind.CLIENT,
        startTime: this.epoch(this.clock.monotonic()),
        attributes: {
          'server.address': host,
          'server.port': port,
          ...(pod === undefined ? {} : { 'k8s.namespace.name': pod.namespace, 'k8s.pod.name': pod.name }),
          ...attributes,
        },
      },
      this.context,
    );
    return new AttemptSpan(span, () => this.epoch(this.clock.monotonic()));
  }

  /** The request is over. */
  end(): void {
    const { trace, server } = this;
    if (server.isRecording()) {
      if (trace.parsedAtMs !== undefined) this.part('read', trace.startMs, trace.parsedAtMs);
      const queueEndMs = trace.upstreamStartMs ?? trace.endMs;
      if (trace.queuedMs !== undefined) this.part('queue', queueEndMs - trace.queuedMs, queueEndMs);
      server.updateName(trace.path === '' ? trace.method : `${trace.method} ${trace.path}`);
      server.setAttributes(attributesOf(trace));
      if (trace.status >= 500 || trace.errorType !== undefined) {
        server.setStatus({ code: SpanStatusCode.ERROR, ...(trace.errorType === undefined ? {} : { message: trace.errorType }) });
      }
    }
    server.end(this.epoch(trace.endMs));
  }

  private part(name: string, startMs: number, endMs: number, attributes: Attributes = {}): void {
    if (!this.server.isRecording()) return;
    this.tracer.startSpan(name, { startTime: this.epoch(startMs), attributes }, this.context).end(this.epoch(endMs));
  }

  private epoch(monotonicMs: number): number {
    return this.trace.startedAtMs + (monotonicMs - this.trace.startMs);
  }
}

/** One attempt at an endpoint. */
export class AttemptSpan {
  constructor(
    private readonly span: Span,
    private readonly now: () => number,
  ) {}

  headers(raw: readonly string[]): string[] {
    return withTraceparent(raw, this.span);
  }

  firstToken(): void {
    this.span.addEvent('first token', this.now());
  }

  end(outcome: AttemptOutcome, upstreamStatus: number | undefined): void {
    const { span } = this;
    span.setAttribute('kvasir.outcome', outcome.kind);
    if (upstreamStatus !== undefined) span.setAttribute('http.response.status_code', upstreamStatus);
    if (outcome.kind === 'failed') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.reason });
    if (outcome.kind === 'refused') span.setStatus({ code: SpanStatusCode.ERROR });
    if (outcome.kind === 'completed' && outcome.usage?.cachedTokens !== undefined) {
      span.setAttribute('kvasir.cached_tokens', outcome.usage.cachedTokens);
    }
    span.end(this.now());
  }
}

function attributesOf(trace: TracedRequest): Attributes {
  const { path, status, errorType, model, destination, usage, inputTokens, attempts, streams, ttftMs } = trace;
  return {
    'http.route': path,
    'http.response.status_code': status,
    ...(errorType === undefined ? {} : { 'error.type': errorType }),
    'gen_ai.request.model': model,
    'gen_ai.usage.input_tokens': usage?.promptTokens ?? inputTokens,
    ...(usage === undefined ? {} : { 'gen_ai.usage.output_tokens': usage.completionTokens }),
    ...(destination === undefined
      ? {}
      : { 'kvasir.model_route': destination.modelRoute, 'kvasir.backend': destination.backendName }),
    'kvasir.attempts': attempts,
    'kvasir.stream': streams,
    ...(ttftMs === undefined ? {} : { 'kvasir.ttft_ms': ttftMs }),
  };
}

/** What came is replaced: two of them would be none. */
function withTraceparent(raw: readonly string[], span: Span): string[] {
  const headers: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]!.toLowerCase() !== 'traceparent') headers.push(raw[index]!, raw[index + 1]!);
  }
  const { traceId, spanId, traceFlags } = span.spanContext();
  headers.push('traceparent', `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`);
  return headers;
}
