import type { AttemptExplanation, TokenUsage } from '../scheduling/attempts';

/** Where a request went, in the words of metrics and access log. */
export interface Destination {
  /** `namespace/name` of the ModelRoute. */
  readonly modelRoute: string;
  readonly backendType: 'model_server' | 'external_provider';
  /** `namespace/name` of the ModelServer. */
  readonly backendName: string;
  readonly upstreamModel: string;
}

/** What is known of one request for its metrics, its access log line and its entry in the decision ring. Stages fill it in; no stage reads it. */
export class RequestTrace {
  requestId = '';
  path = '';
  model = '';
  destination: Destination | undefined;
  streams = false;
  inputTokens = 0;
  usage: TokenUsage | undefined;
  /** Endpoint that answered, or was tried last. */
  pod: string | undefined;
  attempts = 0;
  upstreamStatus: number | undefined;
  predictedCachedTokens: number | undefined;
  expectedTtftMs: number | undefined;
  /** From the request's start to the first event of its stream. */
  ttftMs: number | undefined;
  explain: (() => AttemptExplanation) | undefined;
  status = 0;
  errorType: string | undefined;
  errorMessage: string | undefined;
  /** Monotonic marks: the body was read and parsed; the first attempt began; the last one ended. */
  parsedAtMs: number | undefined;
  upstreamStartMs: number | undefined;
  upstreamEndMs: number | undefined;
  endMs = 0;

  constructor(
    readonly method: string,
    readonly protocol: string,
    /** Epoch. */
    readonly startedAtMs: number,
    /** Monotonic. */
    readonly startMs: number,
  ) {}
}
