import { printable } from '../request/api-paths';
import type { ChosenBy } from '../scheduling/attempts';
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
  /** Why it was that pod. */
  readonly selected_by?: ChosenBy;
  /** Pod that computed the prompt for it. */
  readonly prefill_pod?: string;
  readonly request_id?: string;
  readonly backend_type?: string;
  readonly backend_name?: string;
  readonly upstream_model?: string;
  readonly upstream_status_code?: number;
  readonly upstream_attempts?: number;
  /** Who made the error of a request to a provider. */
  readonly error_origin?: 'router' | 'upstream';
  /** Prompt tokens: as the engine counted them, else the router's estimate. */
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cached_tokens?: number;
  readonly predicted_cached_tokens?: number;
  readonly expected_ttft_ms?: number;
  readonly ttft_ms?: number;
  /** How long it waited for room in a pod, and in which class. */
  readonly queue_ms?: number;
  readonly priority_class?: string;
  readonly stream?: true;
  /** Milliseconds of the router's clock, whole. */
  readonly duration_total: number;
  readonly duration_request_processing: number;
  readonly duration_upstream_processing: number;
  readonly duration_response_processing: number;
}

/**
 * The record of a request that is over. A field that is empty or 0 is absent, as in Kthena. Who asked is not in it: the usage record has
 * that, where it is wanted.
 *
 * @param target of the request, for a path that is none of the router's.
 */
export function accessRecord(trace: RequestTrace, target = ''): AccessRecord {
  const { destination, usage } = trace;
  const start = trace.startMs;
  const parsed = trace.parsedAtMs ?? start;
  const upstreamStart = trace.upstreamStartMs ?? parsed;
  const upstreamEnd = trace.upstreamEndMs ?? trace.endMs;
  return {
    timestamp: new Date(trace.startedAtMs).toISOString(),
    method: trace.method,
    path: trace.path === '' ? pathOf(target) : trace.path,
    protocol: trace.protocol,
    status_code: trace.status,
    ...(trace.errorType === undefined
      ? {}
      : { error: { type: trace.logType ?? trace.errorType, message: trace.errorMessage ?? '' } }),
    model_name: trace.model,
    ...(destination === undefined
      ? {}
      : {
          model_route: destination.modelRoute,
          ...(destination.backendType === 'model_server' ? { model_server: destination.backendName } : {}),
        }),
    ...(trace.pod === undefined ? {} : { selected_pod: trace.pod }),
    ...(trace.chosenBy === undefined ? {} : { selected_by: trace.chosenBy }),
    ...(trace.prefillPod === undefined ? {} : { prefill_pod: trace.prefillPod }),
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
    ...originOf(trace),
    ...positive('input_tokens', usage?.promptTokens || trace.inputTokens),
    ...positive('output_tokens', usage?.completionTokens),
    ...(usage?.cachedTokens === undefined ? {} : { cached_tokens: usage.cachedTokens }),
    ...(trace.predictedCachedTokens === undefined ? {} : { predicted_cached_tokens: Math.round(trace.predictedCachedTokens) }),
    ...(trace.expectedTtftMs === undefined ? {} : { expected_ttft_ms: Math.round(trace.expectedTtftMs) }),
    ...(trace.ttftMs === undefined ? {} : { ttft_ms: Math.round(trace.ttftMs) }),
    ...(trace.queuedMs === undefined ? {} : { queue_ms: Math.round(trace.queuedMs) }),
    ...(trace.priorityClass === undefined ? {} : { priority_class: trace.priorityClass }),
    ...(trace.streams ? { stream: true } : {}),
    duration_total: Math.round(trace.endMs - start),
    duration_request_processing: Math.round(upstreamStart - start),
    duration_upstream_processing: Math.round(upstreamEnd - upstreamStart),
    duration_response_processing: Math.round(trace.endMs - upstreamEnd),
  };
}

function originOf({ destination, errorType }: RequestTrace): Pick<AccessRecord, 'error_origin'> {
  if (destination?.backendType !== 'external_provider' || errorType === undefined) return {};
  return { error_origin: errorType === 'upstream_response' ? 'upstream' : 'router' };
}

function positive<K extends string>(key: K, value: number | undefined): { readonly [P in K]?: number } {
  return value === undefined || value <= 0 ? {} : ({ [key]: value } as { readonly [P in K]: number });
}

/** Kthena's text line, field for field, since its own tests search it; what is ours follows. */
export function formatAccessText(record: AccessRecord): string {
  let line = `[${record.timestamp}] "${record.method} ${record.path} ${record.protocol}" ${record.status_code}`;
  if (record.error !== undefined) line += ` error=${record.error.type}:${oneLine(record.error.message)}`;
  const kthenas: readonly TextField[] = [
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
    ['error_origin', record.error_origin],
  ];
  const { input_tokens: input = 0, output_tokens: output = 0 } = record;
  const tokens = input > 0 || output > 0 ? ` tokens=${input}/${output}` : '';
  const phases = `${record.duration_request_processing}+${record.duration_upstream_processing}+${record.duration_response_processing}`;
  return `${line}${textOf(kthenas)}${tokens} timings=${record.duration_total}ms(${phases})${textOf([
    ['selected_by', record.selected_by],
    ['prefill_pod', record.prefill_pod],
    ['cached_tokens', record.cached_tokens],
    ['predicted_cached_tokens', record.predicted_cached_tokens],
    ['expected_ttft_ms', record.expected_ttft_ms],
    ['ttft_ms', record.ttft_ms],
    ['queue_ms', record.queue_ms],
    ['priority_class', record.priority_class],
  ])}`;
}

type TextField = readonly [name: string, value: string | number | undefined];

function textOf(fields: readonly TextField[]): string {
  let text = '';
  for (const [name, value] of fields) if (value !== undefined && value !== '') text += ` ${name}=${oneLine(value)}`;
  return text;
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return printable(query === -1 ? target : target.slice(0, query));
}

/** A client chooses its model's name; it must not be able to write a line of its own. */
function oneLine(value: string | number): string {
  return typeof value === 'number' ? String(value) : value.replace(/\p{Cc}/gu, '?');
}
