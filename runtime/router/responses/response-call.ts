import type { AnswerSink } from '../relay/client-answer';
import type { EndpointClients } from '../relay/endpoint-clients';
import type { ExchangeOutcome } from '../relay/exchange-outcome';
import type { UpstreamCall } from '../relay/upstream-call';
import type { MatchedRequest, ReadRequest } from '../request';
import { upstreamBody } from '../request/upstream-body';
import { upstreamHeaders } from '../request/upstream-headers';
import { ResponseSink } from './response-sink';

/** One request to an engine that keeps a response, or to a provider. */
export class ResponseCall implements UpstreamCall {
  readonly target: string;
  readonly body: Buffer;
  readonly withholdsUsage: boolean;
  readonly clients: EndpointClients;

  /** @param inner how the request goes to a provider. @param onId told the id of a response that was made. */
  constructor(
    private readonly request: ReadRequest,
    matched: MatchedRequest,
    private readonly inner: UpstreamCall | undefined,
    clients: EndpointClients,
    private readonly onId: (id: string) => void,
    private readonly onDone: () => void,
  ) {
    const { head } = request;
    this.target = inner?.target ?? head.path + head.query;
    this.body = inner?.body ?? upstreamBody(request, matched.upstreamModel, matched.cacheSalt);
    this.withholdsUsage = inner?.withholdsUsage ?? false;
    this.clients = inner?.clients ?? clients;
  }

  headers(requestId: string): string[] {
    const { head } = this.request;
    return this.inner?.headers(requestId) ?? upstreamHeaders(head.rawHeaders, head.headers.connection, requestId, head.forwarded);
  }

  answerTo(answer: AnswerSink): AnswerSink {
    const inner = this.inner?.answerTo(answer) ?? answer;
    return this.request.head.api.use === 'response' ? inner : new ResponseSink(inner, this.onId);
  }

  /** What a response cost was counted when it was made. */
  read(outcome: ExchangeOutcome): ExchangeOutcome {
    const read = this.inner?.read(outcome) ?? outcome;
    if (this.request.head.api.use !== 'response') return read;
    if (read.kind === 'completed') this.onDone();
    if (!('usage' in read)) return read;
    const { usage: _counted, ...rest } = read;
    return rest;
  }
}
