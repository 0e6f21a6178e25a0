import type { RequestTrace } from './request-trace';

/** One request as the access log tells it: Kthena's fields, and what the router expected against what happened. No prompt text. */
export interface AccessRecord {
  /** RFC 3339, when the request began. */
  readonly timestamp: string;
  readonly method: string;
  readonly path: string;
  readonly protocol: string;
  /** 499 when the client left before it was answered. */
  readonly status_code: number;
  readonly error?: { readonly type: string; readonly message: string };
  readonly model_name: string;
  readonly model_route?: string;
  readonly model_server?: string;
  /** Name of the pod that answered, or was tried last. */
  readonly selected_pod?: string;
  readonly request_id?: string;
  readonly backend_type?: string;
  readonly backend_name?: string;
  readonly upstream_model?: string;
  readonly upstream_status_code?: number;
  readonly upstream_attempts?: number;
  /** Prompt tokens: as the engine counted them, else the router's estimate. */
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cached_tokens?: number;
  readonly predicted_cached_tokens?: number;
  readonly expected_ttft_ms?: number;
  readonly ttft_ms?: number;
  readonly stream?: true;
  /** Milliseconds of the router's clock, whole. */
  readonly duration_total: number;
  readonly duration_request_processing: number;
  readonly duration_upstream_processing: number;
  readonly duration_response_processing: number;
}

/** The record of a request that is over. A field that is empty or 0 is absent, as in Kthena. */
export function accessRecord(trace: RequestTrace): AccessRecord {
  const { destination, usage } = trace;
  const start = trace.startMs;
  const parsed = trace.parsedAtMs ?? start;
  const upstreamStart = trace.upstreamStartMs ?? parsed;
  const upstreamEnd = trace.upstreamEndMs ?? trace.endMs;
  return {
    timestamp: new Date(trace.startedAtMs).toISOString(),
    method: trace.method,
    path: trace.path,
    protocol: trace.protocol,
    status_code: trace.status,
    ...(trace.errorType === undefined ? {} : { error: { type: trace.errorType, message: trace.errorMessage ?? '' } }),
    model_name: trace.model,
    ...(destination === undefined
      ? {}
      : {
          model_route: destination.modelRoute,
          ...(destination.backendType === 'model_server' ? { model_server: destination.backendName } : {}),
        }),
    ...(trace.pod === undefined ? {} : { selected_pod: trace.pod }),
    ...(trace.requestId === '' ? {} : { request_id: trace.requestId }),
    ...(destination === undefined
      ? {}
      : {
          backend_type: destination.backendType,
          backend_name: destination.backendName,
          upstream_model: destination.upstreamModel,
        }),
    ...(trace.upstreamStatus === undefined ? {} : { upstream_status_code: trace.upstreamStatus }),
    ...(trace.attempts === 0 ? {} : { upstream_attempts: trace.attempts }),
    ...positive('input_tokens', usage?.promptTokens || trace.inputTokens),
    ...positive('output_tokens', usage?.completionTokens),
    ...(usage?.cachedTokens === undefined ? {} : { cached_tokens: usage.cachedTokens }),
    ...(trace.predictedCachedTokens === undefined ? {} : { predicted_cached_tokens: Math.round(trace.predictedCachedTokens) }),
    ...(trace.expectedTtftMs === undefined ? {} : { expected_ttft_ms: Math.round(trace.expectedTtftMs) }),
    ...(trace.ttftMs === undefined ? {} : { ttft_ms: Math.round(trace.ttftMs) }),
    ...(trace.streams ? { stream: true } : {}),
    duration_total: Math.round(trace.endMs - start),
    duration_request_processing: Math.round(upstreamStart - start),
    duration_upstream_processing: Math.round(upstreamEnd - upstreamStart),
    duration_response_processing: Math.round(trace.endMs - upstreamEnd),
  };
}

function positive<K extends string>(key: K, value: number | undefined): { readonly [P in K]?: number } {
  return value === undefined || value <= 0 ? {} : ({ [key]: value } as { readonly [P in K]: number });
}

/** Kthena's text line, field for field: its own tests search it. */
export function formatAccessText(record: AccessRecord): string {
  let line = `[${record.timestamp}] "${record.method} ${record.path} ${record.protocol}" ${record.status_code}`;
  if (record.error !== undefined) line += ` error=${record.error.type}:${record.error.message}`;
  const fields: readonly [string, string | number | undefined][] = [
    ['model_name', record.model_name],
    ['model_route', record.model_route],
    ['model_server', record.model_server],
    ['selected_pod', record.selected_pod],
    ['request_id', record.request_id],
    ['backend_type', record.backend_type],
    ['backend_name', record.backend_name],
    ['upstream_model', record.upstream_model],
    ['upstream_status_code', record.upstream_status_code],
    ['upstream_attempts', record.upstream_attempts],
    ['cached_tokens', record.cached_tokens],
    ['predicted_cached_tokens', record.predicted_cached_tokens],
    ['expected_ttft_ms', record.expected_ttft_ms],
    ['ttft_ms', record.ttft_ms],
  ];
  for (const [name, value] of fields) if (value !== undefined && value !== '') line += ` ${name}=${oneLine(value)}`;
  const { input_tokens: input = 0, output_tokens: output = 0 } = record;
  if (input > 0 || output > 0) line += ` tokens=${input}/${output}`;
  return `${line} timings=${record.duration_total}ms(${record.duration_request_processing}+${record.duration_upstream_processing}+${record.duration_response_processing})`;
}

/** A client chooses its model's name; it must not be able to write a line of its own. */
function oneLine(value: string | number): string {
  return typeof value === 'number' ? String(value) : value.replace(/\p{Cc}/gu, '?');
}
