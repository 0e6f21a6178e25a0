import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ModelServer } from '../../src/api/model-server';
import type { Destination, RequestTrace } from './observability/request-trace';
import type { ClientAnswer } from './relay/client-answer';
import type { RetryRules } from './relay/retry-policy';
import type { ApiPath } from './request/api-paths';
import type { ParsedBody } from './request/parse-body';

/** A request as the server takes it, before anything of it was judged. */
export interface IncomingRequest {
  readonly message: IncomingMessage;
  readonly answer: ClientAnswer;
  readonly trace: RequestTrace;
  /** Lets a client go on that waits for `100 Continue`; does nothing for others. */
  readonly letBodyCome: () => void;
}

/** What the request line and the headers say. */
export interface RequestHead {
  readonly api: ApiPath;
  /** Canonical. */
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

/** Who asks. Nobody is told apart until keys or tokens are configured. */
export interface Identity {
  readonly kind: 'anonymous';
}

/** A request whose body was read. */
export interface ReadRequest {
  readonly head: RequestHead;
  /** As it was received. */
  readonly body: Buffer;
  readonly parsed: ParsedBody;
}

/** A request that has a route and a place to go. */
export interface MatchedRequest {
  readonly modelServer: ModelServer;
  /** `namespace/name`. */
  readonly modelServerKey: string;
  readonly destination: Destination;
  readonly isAdapter: boolean;
  /** Model name that is sent upstream. */
  readonly upstreamModel: string;
  readonly protocol: 'http' | 'https';
  readonly retry: RetryRules;
  /** From sending to the head of the answer, per attempt. */
  readonly firstByteMs: number;
}
