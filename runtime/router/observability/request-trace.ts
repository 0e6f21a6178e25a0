import type { Identity } from '../admission/identity';
import type { ChosenBy, TokenUsage } from '../scheduling/attempts';
import type { RequestSpans } from './request-spans';

/** Where a request went, in the words of metrics and access log. */
export interface Destination {
  /** `namespace/name` of the ModelRoute. */
  readonly modelRoute: string;
  readonly backendType: 'model_server' | 'external_provider';
  /** `namespace/name` of the ModelServer. */
  readonly backendName: string;
  readonly upstreamModel: string;
}

/**
 * What is known of one request for its metrics, its access log line, its usage record and its entry in the decision ring. Stages fill it
 * in; none decides by it, and limits are settled by it when the request is over.
 */
export class RequestTrace {
  requestId = '';
  path = '';
  model = '';
  destination: Destination | undefined;
  streams = false;
  inputTokens = 0;
  usage: TokenUsage | undefined;
  /** Events with content that a stream without usage brought. */
  streamedEvents = 0;
  identity: Identity | undefined;
  /** Endpoint that answered, or was tried last. */
  pod: string | undefined;
  /** Pod that computed the prompt, where another one decoded. */
  prefillPod: string | undefined;
  /** Why that endpoint; undefined for a provider. */
  chosenBy: ChosenBy | undefined;
  attempts = 0;
  /** How long it waited for room in a pod, and in which class; undefined when it did not. */
  queuedMs: number | undefined;
  priorityClass: string | undefined;
  upstreamStatus: number | undefined;
  predictedCachedTokens: number | undefined;
  expectedTtftMs: number | undefined;
  /** From the request's start to the first event of its stream. */
  ttftMs: number | undefined;
  status = 0;
  errorType: string | undefined;
  /** The access log's word for `errorType`, where it is another one. */
  logType: string | undefined;
  errorMessage: string | undefined;
  /** Monotonic marks: the body was read and parsed; the first attempt began; the last one ended. */
  parsedAtMs: number | undefined;
  upstreamStartMs: number | undefined;
  upstreamEndMs: number | undefined;
  endMs = 0;
  /** Undefined where there are no traces. */
  spans: RequestSpans | undefined;

  constructor(
    readonly method: string,
    readonly protocol: string,
    /** Epoch. */
    readonly startedAtMs: number,
    /** Monotonic. */
    readonly startMs: number,
  ) {}
}
