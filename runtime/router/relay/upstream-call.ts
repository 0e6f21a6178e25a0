import type { AnswerSink } from './client-answer';
import type { EndpointClients } from './endpoint-clients';
import type { ExchangeOutcome } from './exchange-outcome';

/** How an attempt goes where it is not the client's own request to an engine: a provider's path, body, headers and dialect. */
export interface UpstreamCall {
  /** Path and query. */
  readonly target: string;
  readonly body: Buffer;
  readonly withholdsUsage: boolean;
  /** Connections to the upstream. */
  readonly clients: EndpointClients;
  /** @param requestId the router's own for this attempt. @returns name, value, name, value. */
  headers(requestId: string): string[];
  /** What stands between the upstream's answer and the client. */
  answerTo(answer: AnswerSink): AnswerSink;
  /** How the exchange ended in words that are the client's business. */
  read(outcome: ExchangeOutcome): ExchangeOutcome;
}
