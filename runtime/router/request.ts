import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ExternalModelProvider } from '../../src/api/external-model-provider';
import type { ModelRoute, Rule, TargetModel } from '../../src/api/model-route';
import type { ModelServer } from '../../src/api/model-server';

export type { Identity } from './admission/identity';

import type { Destination, RequestTrace } from './observability/request-trace';
import type { ClientAnswer } from './relay/client-answer';
import type { RetryRules } from './relay/retry-policy';
import type { ApiPath } from './request/api-paths';
import type { ParsedBody } from './request/parse-body';
import type { SessionUse } from './routing/sessions';

/** What the pipeline reads of a request, whichever version of HTTP it came by. */
export interface ClientMessage
  extends Readonly<Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders' | 'httpVersion' | 'complete' | 'socket'>> {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  pause(): unknown;
  /** Whether somebody gave its body up. */
  isPaused(): boolean;
}

/** A request as the server takes it, before anything of it was judged. */
export interface IncomingRequest {
  readonly message: ClientMessage;
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
  /** What a trusted proxy says of the client, as name, value, name, value. */
  readonly forwarded?: readonly string[] | undefined;
}

/** A request whose body was read. */
export interface ReadRequest {
  readonly head: RequestHead;
  /** As it was received. */
  readonly body: Buffer;
  readonly parsed: ParsedBody;
}

/** What is known of a request that makes, goes on from, or asks for a response which an endpoint keeps. */
export interface StatefulUse {
  /** Model that the client named when the response was made. */
  readonly model: string;
  /** Who may ask for it again; undefined for nobody in particular. */
  readonly tenant: string | undefined;
  /** The only endpoint that can serve the request; undefined for any. */
  readonly endpointId: string | undefined;
}

/** What is known of a request's place to go, wherever that is. */
interface MatchedTarget {
  readonly route: ModelRoute;
  readonly rule: Rule;
  /** Target of the rule that was drawn. */
  readonly target: TargetModel;
  /** What was drawn before and had nobody. */
  readonly before?: MatchedRequest | undefined;
  readonly destination: Destination;
  readonly isAdapter: boolean;
  /** Model name that is sent upstream. */
  readonly upstreamModel: string;
  readonly retry: RetryRules;
  /** From sending to the head of the answer, per attempt. */
  readonly firstByteMs: number;
  readonly stateful?: StatefulUse | undefined;
  /** What keeps its KV blocks apart from those of others; undefined where they are shared. */
  readonly cacheSalt: string | undefined;
  /** Undefined where nothing is sticky. */
  readonly session: SessionUse | undefined;
}

export interface MatchedServer extends MatchedTarget {
  readonly kind: 'modelServer';
  readonly modelServer: ModelServer;
  /** `namespace/name`. */
  readonly modelServerKey: string;
  readonly protocol: 'http' | 'https';
}

export interface MatchedProvider extends MatchedTarget {
  readonly kind: 'provider';
  readonly provider: ExternalModelProvider;
  /** `namespace/name`. */
  readonly providerKey: string;
}

/** A request that has a route and a place to go. */
export type MatchedRequest = MatchedServer | MatchedProvider;
