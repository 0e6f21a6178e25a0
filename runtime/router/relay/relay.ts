import type { RouterConfig } from '../../../src/config/router-config';
import { type Clock, sleep } from '../../lib/clock';
import type { Random } from '../../lib/random';
import { RouterError } from '../errors';
import type { DecisionRing } from '../observability/decision-ring';
import type { IncomingRequest, MatchedRequest, ReadRequest } from '../request';
import { RequestIds } from '../request/request-ids';
import { splice } from '../request/splice';
import { upstreamHeaders } from '../request/upstream-headers';
import type { Attempt, AttemptOutcome } from '../scheduling/attempts';
import type { AttemptSource, HeldAttempt } from './attempt-source';
import type { ClientAnswer } from './client-answer';
import type { DeadlineWheel } from './deadline-wheel';
import type { EndpointClients, LeasedClient } from './endpoint-clients';
import { translateEngineError } from './engine-error';
import { Exchange } from './exchange';
import type { ExchangeOutcome } from './exchange-outcome';
import type { Quarantine } from './quarantine';
import type { RetryBudget } from './retry-budget';
import { decideRetry, failsOnBody, losesEndpoint, type UnansweredOutcome } from './retry-policy';

export interface RelayDependencies {
  readonly clients: EndpointClients;
  readonly wheel: DeadlineWheel;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<RouterConfig, 'deadlines' | 'explain'>;
  readonly budget: RetryBudget;
  readonly quarantine: Quarantine;
  readonly ring: DecisionRing;
}

/** Longest `x-kvasir-decision` header. */
const DECISION_BYTES = 8 * 1024;

/** Brings requests to endpoints and answers to clients, with further attempts until something reached the client. */
export class Relay {
  private readonly running = new Set<Exchange>();
  private readonly ids = new RequestIds();

  constructor(private readonly deps: RelayDependencies) {}

  /** Exchanges with endpoints that are under way. */
  get exchanges(): number {
    return this.running.size;
  }

  /** Ends every exchange with an error that its client can see. */
  cutAll(): void {
    for (const exchange of [...this.running]) exchange.giveUp('shutting_down', 'the router is shutting down');
  }

  /** @throws RouterError when nothing reached the client and no further attempt helps. */
  async relay(incoming: IncomingRequest, request: ReadRequest, matched: MatchedRequest, source: AttemptSource): Promise<void> {
    const { quarantine, budget, clock, random } = this.deps;
    const { trace, answer } = incoming;
    const body = upstreamBody(request, matched);
    if (quarantine.holds(body)) throw new RouterError('quarantined', 'these bytes broke the connection to two endpoints');
    budget.onRequest();
    const client = new ClientWatch(incoming.answer);
    const total = this.deps.wheel.deadline(() => client.current?.giveUp('upstream_timeout', 'total deadline'));
    if (this.deps.config.deadlines.totalMs > 0)
      total.set(Math.max(1, this.deps.config.deadlines.totalMs - (clock.monotonic() - trace.startMs)));
    let made = 0;
    let failures = 0;
    let losses = 0;
    try {
      let held = this.first(source);
      for (;;) {
        const outcome = await this.attempt(held, body, client, { incoming, request, matched });
        held.held.release(settlement(outcome));
        switch (outcome.kind) {
          case 'completed':
            trace.status = trace.upstreamStatus ?? 200;
            trace.usage = outcome.usage;
            return;
          case 'lost':
            trace.status = trace.upstreamStatus ?? 200;
            trace.usage = outcome.usage;
            trace.errorType = 'upstream_lost';
            trace.errorMessage = outcome.reason;
            return;
          case 'client-left':
            trace.usage = outcome.usage;
            throw new RouterError('client_closed', 'the client left');
        }
        if (losesEndpoint(outcome)) losses += 1;
        if (losses === 2) quarantine.add(body);
        const decision = decideRetry(outcome, matched.retry, { made, failures, isAdapter: matched.isAdapter });
        if (failsOnBody(outcome)) failures += 1;
        if (decision === 'stop' || total.isPast || !budget.take()) return this.giveUp(outcome, answer, incoming, request);
        await sleep(clock, matched.retry.intervalMs * (0.5 + random.next()));
        if (client.hasLeft) throw new RouterError('client_closed', 'the client left');
        const next = source.next();
        if (next.kind === 'none') return this.giveUp(outcome, answer, incoming, request);
        made += 1;
        held = next;
      }
    } finally {
      total.clear();
      client.close();
    }
  }

  private first(source: AttemptSource): HeldAttempt {
    const next = source.next();
    if (next.kind === 'attempt') return next;
    throw new RouterError(next.reason === 'no-endpoints' ? 'no_endpoints' : 'no_capacity', next.message);
  }

  /** One attempt, with a free second and third try on a new connection where an idle one was closed in the same moment. */
  private async attempt(held: HeldAttempt, body: Buffer, client: ClientWatch, context: AttemptContext): Promise<ExchangeOutcome> {
    const { attempt } = held;
    const { trace } = context.incoming;
    trace.attempts += 1;
    trace.pod = attempt.endpoint.pod.name;
    trace.predictedCachedTokens = attempt.predictedCachedTokens;
    trace.expectedTtftMs = attempt.expectedTtftMs;
    trace.upstreamStartMs ??= this.deps.clock.monotonic();
    this.remember(attempt, context);
    const leased = this.deps.clients.lease(attempt.endpoint, context.matched.protocol);
    let outcome = await this.exchange(attempt, leased, body, client, context);
    if (outcome.kind === 'failed' && outcome.isIdleClose) {
      const fresh = this.deps.clients.fresh(attempt.endpoint, context.matched.protocol);
      outcome = await this.exchange(attempt, fresh, body, client, context);
    }
    trace.upstreamEndMs = this.deps.clock.monotonic();
    return outcome;
  }

  private exchange(
    attempt: Attempt,
    leased: LeasedClient,
    body: Buffer,
    client: ClientWatch,
    context: AttemptContext,
  ): Promise<ExchangeOutcome> {
    const { clients, wheel, clock, config } = this.deps;
    const { incoming, request, matched } = context;
    const { head, parsed } = request;
    const { trace, answer } = incoming;
    const exchange = new Exchange(
      {
        api: head.api,
        target: head.path + head.query,
        // An id of the router's own for each attempt: some engines read addresses out of it.
        headers: upstreamHeaders(head.rawHeaders, head.headers.connection, this.ids.make()),
        body,
        withholdsUsage: parsed.streams && !parsed.wantsUsage,
        connectMs: config.deadlines.connectMs,
        firstByteMs: matched.firstByteMs,
        idleMs: config.deadlines.idleMs,
        streamIdleFloorMs: config.deadlines.streamIdleFloorMs,
      },
      answer,
      wheel,
      leased.isReused,
      {
        onHead: (status) => {
          trace.upstreamStatus = status;
        },
        onFirstToken: () => {
          attempt.firstToken();
          trace.ttftMs = clock.monotonic() - trace.startMs;
        },
        onCommit: () => {
          if (config.explain.header && head.headers['x-kvasir-explain'] === '1')
            answer.addHeader('x-kvasir-decision', decisionHeader(attempt));
        },
        onOver: (isClean) => {
          this.running.delete(exchange);
          if (isClean) clients.giveBack(attempt.endpoint.id, leased.client);
          else clients.discard(attempt.endpoint.id, leased.client);
        },
      },
    );
    this.running.add(exchange);
    client.follow(exchange);
    exchange.start(leased.client);
    return exchange.outcome;
  }

  private remember(attempt: Attempt, { incoming }: AttemptContext): void {
    const { ring, clock } = this.deps;
    if (!ring.wants(clock.monotonic())) return;
    ring.add({
      at: new Date(clock.now()).toISOString(),
      requestId: incoming.trace.requestId,
      model: incoming.trace.model,
      endpoint: attempt.endpoint.id,
      predictedCachedTokens: attempt.predictedCachedTokens,
      expectedTtftMs: attempt.expectedTtftMs,
      explanation: attempt.explain(),
    });
  }

  /** The last attempt's end becomes the client's answer. */
  private giveUp(outcome: UnansweredOutcome, answer: ClientAnswer, incoming: IncomingRequest, request: ReadRequest): void {
    if (outcome.kind === 'refused') {
      incoming.trace.status = outcome.status;
      const headers = withoutContentType(outcome.headers);
      if ((outcome.status === 429 || outcome.status === 503) && !headers.includes('retry-after'))
        headers.push('retry-after', '1');
      headers.push('content-type', 'application/json');
      answer.whole(outcome.status, headers, translateEngineError(outcome.status, outcome.body, request.head.api.dialect));
      return;
    }
    if (outcome.isTimeout) throw new RouterError('upstream_timeout', `no endpoint answered in time (${outcome.reason})`);
    if (outcome.phase === 'connect')
      throw new RouterError('upstream_unavailable', `no endpoint could be reached (${outcome.reason})`);
    throw new RouterError('upstream_lost', `the connection to the engine broke before an answer (${outcome.reason})`);
  }
}

interface AttemptContext {
  readonly incoming: IncomingRequest;
  readonly request: ReadRequest;
  readonly matched: MatchedRequest;
}

/** Tells the exchange of the moment that its client left. */
class ClientWatch {
  current: Exchange | undefined;
  hasLeft: boolean;

  constructor(private readonly answer: ClientAnswer) {
    this.hasLeft = answer.isClosed;
    answer.watch(() => {
      this.hasLeft = true;
      this.current?.clientLeft();
    });
  }

  follow(exchange: Exchange): void {
    this.current = exchange;
    if (this.hasLeft) exchange.clientLeft();
  }

  close(): void {
    this.current = undefined;
    this.answer.watch(undefined);
  }
}

/** The received bytes with the members changed that must change. */
function upstreamBody({ body, parsed }: ReadRequest, matched: MatchedRequest): Buffer {
  const { edits, model, modelSpan } = parsed;
  if (matched.upstreamModel === model) return splice(body, edits);
  return splice(body, [...edits, { ...modelSpan, text: JSON.stringify(matched.upstreamModel) }]);
}

function settlement(outcome: ExchangeOutcome): AttemptOutcome {
  switch (outcome.kind) {
    case 'completed':
      return outcome.usage === undefined ? { kind: 'completed' } : { kind: 'completed', usage: outcome.usage };
    case 'refused':
      return { kind: 'refused', status: outcome.status };
    case 'failed':
    case 'lost':
      return { kind: 'failed', reason: outcome.reason };
    case 'client-left':
      return { kind: 'aborted' };
  }
}

function decisionHeader(attempt: Attempt): string {
  const text = JSON.stringify({ endpoint: attempt.endpoint.id, ...attempt.explain() });
  const ascii = text.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return ascii.length <= DECISION_BYTES ? ascii : JSON.stringify({ endpoint: attempt.endpoint.id, truncated: true });
}

function withoutContentType(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] !== 'content-type') kept.push(headers[index]!, headers[index + 1]!);
  }
  return kept;
}
