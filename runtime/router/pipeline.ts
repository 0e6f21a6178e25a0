import { type RouterError, toRouterError } from './errors';
import type { AttemptSource } from './relay/attempt-source';
import type { Identity, IncomingRequest, MatchedRequest, ReadRequest, RequestHead } from './request';
import { Reservations } from './reservations';

/** What happens to a request, in order. A stage answers with what it adds, or throws how the request ends. */
export interface Stages {
  /** Gauges of requests being served. */
  begin(reservations: Reservations): void;
  head(incoming: IncomingRequest): RequestHead;
  /** At once where that can be; waiting a turn would cost every request. */
  authenticate(head: RequestHead): Identity | Promise<Identity>;
  /** Answers what needs no endpoint. @returns whether it did. */
  answerHere(incoming: IncomingRequest, head: RequestHead, identity: Identity): boolean;
  read(incoming: IncomingRequest, head: RequestHead, reservations: Reservations): Promise<ReadRequest>;
  match(request: ReadRequest, identity: Identity): MatchedRequest;
  /** At once where nothing is asked of another server. */
  admit(
    incoming: IncomingRequest,
    request: ReadRequest,
    matched: MatchedRequest,
    identity: Identity,
    reservations: Reservations,
  ): void | Promise<void>;
  /** Asks a guardrail, where there is one for the request. */
  guard(incoming: IncomingRequest, request: ReadRequest, identity: Identity): Promise<void> | undefined;
  /** At once where a pod has room and nobody waits for it. */
  choose(
    incoming: IncomingRequest,
    request: ReadRequest,
    matched: MatchedRequest,
    identity: Identity,
    reservations: Reservations,
  ): AttemptSource | Promise<AttemptSource>;
  relay(incoming: IncomingRequest, request: ReadRequest, matched: MatchedRequest, attempts: AttemptSource): Promise<void>;
  refuse(incoming: IncomingRequest, error: RouterError): void;
  /** Metrics and access log, after everything was given back. */
  observe(incoming: IncomingRequest): void;
  /** An error that no stage foresaw; the client sees none of its text. */
  reportUnforeseen(error: unknown, incoming: IncomingRequest): void;
}

/** One request's way through the router. It never rejects. */
export function createPipeline(stages: Stages): (incoming: IncomingRequest) => Promise<void> {
  return async (incoming) => {
    const reservations = new Reservations(); // everything taken on the way; given back exactly once
    try {
      stages.begin(reservations);
      const head = stages.head(incoming);
      const verified = stages.authenticate(head); // headers only: no body is read for a stranger
      const identity = verified instanceof Promise ? await verified : verified;
      if (stages.answerHere(incoming, head, identity)) return;
      const request = await stages.read(incoming, head, reservations); // bytes, model, stream?, prompt
      const matched = stages.match(request, identity); // ModelRoute, rule, target
      const admitted = stages.admit(incoming, request, matched, identity, reservations); // readiness, permits, limits
      if (admitted instanceof Promise) await admitted;
      const guarded = stages.guard(incoming, request, identity); // after limits, so that a flood does not reach the guardrail
      if (guarded !== undefined) await guarded;
      const chosen = stages.choose(incoming, request, matched, identity, reservations); // waits for room; scores the live view
      const attempts = chosen instanceof Promise ? await chosen : chosen;
      await stages.relay(incoming, request, matched, attempts);
    } catch (error) {
      const refusal = toRouterError(error);
      if (refusal !== error) stages.reportUnforeseen(error, incoming);
      stages.refuse(incoming, refusal);
    } finally {
      reservations.settle();
      stages.observe(incoming);
    }
  };
}
