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
  readonly error?: { readonly type: string | undefined; readonly message: string };
  readonly model_name: string;
  readonly model_route?: string | undefined;
  readonly model_server?: string | undefined;
  /** Name of the pod that answered, or was tried last. */
  readonly selected_pod?: string | undefined;
  /** Why it was that pod. */
  readonly selected_by?: ChosenBy | undefined;
  /** Pod that computed the prompt for it. */
  readonly prefill_pod?: string | undefined;
  readonly request_id?: string | undefined;
  readonly backend_type?: string | undefined;
  readonly backend_name?: string | undefined;
  readonly upstream_model?: string | undefined;
  readonly upstream_status_code?: number | undefined;
  readonly upstream_attempts?: number | undefined;
  /** Who made the error of a request to a provider. */
  readonly error_origin?: 'router' | 'upstream' | undefined;
  /** Prompt tokens: as the engine counted them, else the router's estimate. */
  readonly input_tokens?: number | undefined;
  readonly output_tokens?: number | undefined;
  readonly cached_tokens?: number | undefined;
  readonly predicted_cached_tokens?: number | undefined;
  readonly expected_ttft_ms?: number | undefined;
  readonly ttft_ms?: number | undefined;
  /** How long it waited for room in a pod, and in which class. */
  readonly queue_ms?: number | undefined;
  readonly priority_class?: string | undefined;
  readonly stream?: true | undefined;
  /** Milliseconds of the router's clock, whole. */
  readonly duration_total: number;
  readonly duration_request_processing: number;
  readonly duration_upstream_processing: number;
  readonly duration_response_processing: number;
}

/**
 * The record of a request that is over. A field that is empty or 0 is undefined, so that no line has it, as in Kthena. Who asked is not in it: the usage record has
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
  const isServer = destination?.backendType === 'model_server';
  return {
    timestamp: new Date(trace.startedAtMs).toISOString(),
    method: trace.method,
    path: trace.path === '' ? pathOf(target) : trace.path,
    protocol: trace.protocol,
    status_code: trace.status,
    error: trace.errorType === undefined ? undefined : errorOf(trace, trace.errorType),
    model_name: trace.model,
    model_route: destination?.modelRoute,
    model_server: isServer ? destination.backendName : undefined,
    selected_pod: trace.pod,
    selected_by: trace.chosenBy,
    prefill_pod: trace.prefillPod,
    request_id: trace.requestId === '' ? undefined : trace.requestId,
    backend_type: destination?.backendType,
    backend_name: destination?.backendName,
    upstream_model: destination?.upstreamModel,
    upstream_status_code: trace.upstreamStatus,
    upstream_attempts: trace.attempts === 0 ? undefined : trace.attempts,
    error_origin: originOf(trace),
    input_tokens: positive(usage?.promptTokens) ?? positive(trace.inputTokens),
    output_tokens: positive(usage?.completionTokens),
    cached_tokens: usage?.cachedTokens,
    predicted_cached_tokens: rounded(trace.predictedCachedTokens),
    expected_ttft_ms: rounded(trace.expectedTtftMs),
    ttft_ms: rounded(trace.ttftMs),
    queue_ms: rounded(trace.queuedMs),
    priority_class: trace.priorityClass,
    stream: trace.streams ? true : undefined,
    duration_total: Math.round(trace.endMs - start),
    duration_request_processing: Math.round(upstreamStart - start),
    duration_upstream_processing: Math.round(upstreamEnd - upstreamStart),
    duration_response_processing: Math.round(trace.endMs - upstreamEnd),
  };
}

function errorOf({ logType, errorMessage }: RequestTrace, errorType: string): AccessRecord['error'] {
  return { type: logType ?? errorType, message: errorMessage ?? '' };
}

function originOf({ destination, errorType }: RequestTrace): AccessRecord['error_origin'] {
  if (destination?.backendType !== 'external_provider' || errorType === undefined) return undefined;
  return errorType === 'upstream_response' ? 'upstream' : 'router';
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value);
}

/** Kthena's text line, field for field, since its own tests search it; what is ours follows. */
export function formatAccessText(record: AccessRecord): string {
  const { error, input_tokens: input = 0, output_tokens: output = 0 } = record;
  const phases = `${record.duration_request_processing}+${record.duration_upstream_processing}+${record.duration_response_processing}`;
  return oneLine(
    `[${record.timestamp}] "${record.method} ${record.path} ${record.protocol}" ${record.status_code}` +
      (error === undefined ? '' : ` error=${error.type}:${error.message}`) +
      field(' model_name=', record.model_name) +
      field(' model_route=', record.model_route) +
      field(' model_server=', record.model_server) +
      field(' selected_pod=', record.selected_pod) +
      field(' request_id=', record.request_id) +
      field(' backend_type=', record.backend_type) +
      field(' backend_name=', record.backend_name) +
      field(' upstream_model=', record.upstream_model) +
      field(' upstream_status_code=', record.upstream_status_code) +
      field(' upstream_attempts=', record.upstream_attempts) +
      field(' error_origin=', record.error_origin) +
      (input > 0 || output > 0 ? ` tokens=${input}/${output}` : '') +
      ` timings=${record.duration_total}ms(${phases})` +
      field(' selected_by=', record.selected_by) +
      field(' prefill_pod=', record.prefill_pod) +
      field(' cached_tokens=', record.cached_tokens) +
      field(' predicted_cached_tokens=', record.predicted_cached_tokens) +
      field(' expected_ttft_ms=', record.expected_ttft_ms) +
      field(' ttft_ms=', record.ttft_ms) +
      field(' queue_ms=', record.queue_ms) +
      field(' priority_class=', record.priority_class),
  );
}

function field(name: string, value: string | number | undefined): string {
  return value === undefined || value === '' ? '' : name + value;
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return printable(query === -1 ? target : target.slice(0, query));
}

/** A client chooses its model's name; it must not be able to write a line of its own. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
