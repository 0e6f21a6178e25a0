import type { RequestTrace } from './request-trace';
import { usedTokens } from './used-tokens';

/** What one request used, and whose it was: for bills and quotas outside the router. No prompt text. */
export interface UsageRecord {
  /** RFC 3339, when the request began. */
  readonly timestamp: string;
  readonly request_id: string;
  /** How it was told who asks. */
  readonly identity: 'anonymous' | 'api-key' | 'token';
  /** The key's name, or the token's user. */
  readonly user?: string;
  readonly tenant?: string;
  /** As the client named it. */
  readonly model: string;
  /** `namespace/name` of the ModelRoute. */
  readonly model_route: string;
  readonly backend_type: string;
  readonly backend_name: string;
  readonly upstream_model: string;
  readonly path: string;
  readonly status_code: number;
  readonly input_tokens: number;
  /** Of the input, what the engine had in its cache. */
  readonly cached_tokens: number;
  readonly output_tokens: number;
  /** The engine did not count, or not to the end: the figures are the router's. */
  readonly estimated?: true;
}

/** @returns undefined for a request that used nothing. */
export function usageRecord(trace: RequestTrace): UsageRecord | undefined {
  const used = usedTokens(trace);
  const { destination, identity } = trace;
  if (used === undefined || destination === undefined || identity === undefined) return undefined;
  return {
    timestamp: new Date(trace.startedAtMs).toISOString(),
    request_id: trace.requestId,
    identity: identity.kind,
    ...(identity.user === undefined ? {} : { user: identity.user }),
    ...(identity.tenant === undefined ? {} : { tenant: identity.tenant }),
    model: trace.model,
    model_route: destination.modelRoute,
    backend_type: destination.backendType,
    backend_name: destination.backendName,
    upstream_model: destination.upstreamModel,
    path: trace.path,
    status_code: trace.status,
    input_tokens: used.input,
    cached_tokens: used.cached,
    output_tokens: used.output,
    ...(used.isEstimated ? { estimated: true } : {}),
  };
}
