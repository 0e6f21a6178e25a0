import { Metrics, type Series } from '../../lib/metrics';
import type { AttemptOutcome } from '../scheduling/attempts';
import type { Destination, RequestTrace } from './request-trace';

/** Bucket bounds in seconds, as Kthena's latency histograms have them. */
const LATENCY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TOKEN_RATIO = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];
const DESTINATION = ['model_route', 'backend_type', 'backend_name', 'upstream_model'] as const;

/** Look-ups remembered; routes come and go over a long life. */
const MAX_KNOWN_SERIES = 10_000;

/** The router's metrics: Kthena's names where they mean the same, `kvasir_router_*` for what is ours. */
export class RouterMetrics {
  readonly metrics = new Metrics();
  readonly activeRequests: Series;
  readonly draining: Series;

  private readonly requests = this.metrics.counter('kthena_router_requests_total', 'Requests by outcome.', [
    'model',
    'path',
    'status_code',
    'error_type',
    ...DESTINATION,
  ]);
  private readonly duration = this.metrics.histogram(
    'kthena_router_request_duration_seconds',
    'From the parsed body to the end of the answer.',
    ['model', 'path', 'status_code', ...DESTINATION],
    LATENCY_SECONDS,
  );
  private readonly tokens = this.metrics.counter(
    'kthena_router_tokens_total',
    'Tokens: input as estimated, output as engines report.',
    ['model', 'path', 'token_type', ...DESTINATION],
  );
  private readonly downstream = this.metrics.gauge(
    'kthena_router_active_downstream_requests',
    'Requests being served, by model.',
    ['model'],
  );
  private readonly upstream = this.metrics.gauge('kthena_router_active_upstream_requests', 'Attempts in flight at endpoints.', [
    'model_server',
    ...DESTINATION,
  ]);
  private readonly ttft = this.metrics.histogram(
    'kvasir_router_time_to_first_token_seconds',
    'From the request to the first event of its stream.',
    ['model'],
    LATENCY_SECONDS,
  );
  private readonly cachedRatio = this.metrics.histogram(
    'kvasir_router_cached_token_ratio',
    'Share of prompt tokens that engines found in their caches.',
    ['model'],
    TOKEN_RATIO,
  );
  private readonly attempts = this.metrics.counter('kvasir_router_attempts_total', 'Attempts at endpoints by how they ended.', [
    'model_server',
    'outcome',
  ]);
  /** By destination and model, path, status and reason. */
  private readonly byDestination = new WeakMap<Destination, RequestSeries[]>();
  private readonly byKey = new Map<string, RequestSeries>();
  private readonly attemptSeries = new WeakMap<Destination, Partial<Record<AttemptOutcome['kind'], Series>>>();
  private readonly upstreamByDestination = new WeakMap<Destination, Series>();

  constructor() {
    this.activeRequests = this.metrics.gauge('kthena_router_active_requests', 'Requests being served.').with();
    this.draining = this.metrics.gauge('kvasir_router_draining', '1 while the router is being shut down.').with();
  }

  downstreamOf(model: string): Series {
    return this.downstream.with(model);
  }

  upstreamOf(destination: Destination): Series {
    let series = this.upstreamByDestination.get(destination);
    if (series === undefined) {
      const { modelRoute, backendType, backendName, upstreamModel } = destination;
      const server = backendType === 'model_server' ? backendName : 'none';
      series = this.upstream.with(server, modelRoute, backendType, backendName, upstreamModel);
      this.upstreamByDestination.set(destination, series);
    }
    return series;
  }

  attempt(destination: Destination, outcome: AttemptOutcome['kind']): void {
    let series = this.attemptSeries.get(destination);
    if (series === undefined) {
      series = {};
      this.attemptSeries.set(destination, series);
    }
    series[outcome] ??= this.attempts.with(destination.backendName, outcome);
    series[outcome].add(1);
  }

  /** Counts a request that is over. @param model label: `unknown` unless a route registers it. */
  finished(trace: RequestTrace, model: string): void {
    // A request whose body was not understood is in no series, as in Kthena.
    if (trace.parsedAtMs === undefined) return;
    const series = this.seriesOf(trace, model);
    series.requests.add(1);
    series.duration.observe((trace.endMs - trace.parsedAtMs) / 1000);
    series.input.add(trace.inputTokens);
    if (trace.usage !== undefined) {
      series.output.add(trace.usage.completionTokens);
      const { promptTokens, cachedTokens } = trace.usage;
      if (cachedTokens !== undefined && promptTokens > 0) series.cachedRatio.observe(cachedTokens / promptTokens);
    }
    if (trace.ttftMs !== undefined) series.ttft.observe(trace.ttftMs / 1000);
  }

  private seriesOf(trace: RequestTrace, model: string): RequestSeries {
    const reason = trace.errorType ?? (trace.status >= 400 ? 'request_failed' : 'successful_request');
    const d = trace.destination;
    const near = d === undefined ? undefined : this.byDestination.get(d);
    const last = near?.find(
      (each) => each.status === trace.status && each.path === trace.path && each.model === model && each.reason === reason,
    );
    if (last !== undefined) return last;
    const key = `${model}\n${trace.path}\n${trace.status}\n${reason}\n${d?.modelRoute}\n${d?.backendName}\n${d?.upstreamModel}`;
    const known = this.byKey.get(key);
    if (known !== undefined) return this.keepNear(d, known);
    const status = String(trace.status);
    const destination = [
      d?.modelRoute ?? 'none',
      d?.backendType ?? 'unresolved',
      d?.backendName ?? 'none',
      d?.upstreamModel ?? 'none',
    ];
    const series: RequestSeries = {
      model,
      path: trace.path,
      status: trace.status,
      reason,
      requests: this.requests.with(model, trace.path, status, reason, ...destination),
      duration: this.duration.with(model, trace.path, status, ...destination),
      input: this.tokens.with(model, trace.path, 'input', ...destination),
      output: this.tokens.with(model, trace.path, 'output', ...destination),
      ttft: this.ttft.with(model),
      cachedRatio: this.cachedRatio.with(model),
    };
    if (this.byKey.size >= MAX_KNOWN_SERIES) this.byKey.clear();
    this.byKey.set(key, series);
    return this.keepNear(d, series);
  }

  /** The few series that requests to one destination end in are found by comparing, without building a key. */
  private keepNear(destination: Destination | undefined, series: RequestSeries): RequestSeries {
    if (destination === undefined) return series;
    const near = this.byDestination.get(destination);
    if (near === undefined) this.byDestination.set(destination, [series]);
    else if (near.length < 16) near.push(series);
    return series;
  }
}

interface RequestSeries {
  readonly model: string;
  readonly path: string;
  readonly status: number;
  readonly reason: string;
  readonly requests: Series;
  readonly duration: { observe(value: number): void };
  readonly input: Series;
  readonly output: Series;
  readonly ttft: { observe(value: number): void };
  readonly cachedRatio: { observe(value: number): void };
}
