import type { RouterConfig } from '../../../src/config/router-config';
import { type Clock, sleep } from '../../lib/clock';
import { inTurns } from '../../lib/in-turns';
import { MemberList } from '../../lib/member-list';
import type { Random } from '../../lib/random';
import { RouterError } from '../errors';
import type { GuardedAnswer } from '../guardrail/guarded-answer';
import type { Decision, DecisionResult } from '../observability/decision-ring';
import type { Decisions } from '../observability/decisions';
import type { AttemptSpan } from '../observability/request-spans';
import type { RequestTrace } from '../observability/request-trace';
import type { IncomingRequest, MatchedRequest, ReadRequest } from '../request';
import { RequestIds } from '../request/request-ids';
import { upstreamBody } from '../request/upstream-body';
import { upstreamHeaders } from '../request/upstream-headers';
import type { AttemptSource, HeldAttempt, NoAttempt } from './attempt-source';
import type { AnswerSink, ClientAnswer } from './client-answer';
import type { DeadlineWheel } from './deadline-wheel';
import type { EndpointClients, LeasedClient } from './endpoint-clients';
import { translateEngineError } from './engine-error';
import { Exchange } from './exchange';
import type { ExchangeOutcome } from './exchange-outcome';
import type { HandOff } from './hand-off';
import type { Quarantine } from './quarantine';
import type { RetryBudget } from './retry-budget';
import { decideRetry, failsOnBody, losesEndpoint, type UnansweredOutcome } from './retry-policy';
import { settlement } from './settlement';
import type { Underway } from './underway';

export interface RelayDependencies {
  readonly clients: EndpointClients;
  readonly wheel: DeadlineWheel;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<RouterConfig, 'deadlines' | 'explain'>;
  readonly budget: RetryBudget;
  readonly quarantine: Quarantine;
  readonly decisions: Pick<Decisions, 'made'>;
  /** What an answer goes through before the client gets it; undefined where it goes straight. @default all go straight */
  readonly guard?: (incoming: IncomingRequest, request: ReadRequest, onRefused: () => void) => GuardedAnswer | undefined;
}

/** Exchanges that are cut in one turn: each takes about 0.3 ms, with its log line. */
const CUT_IN_A_TURN = 8;
/** Longest `x-kvasir-decision` header. */
const DECISION_BYTES = 8 * 1024;

/** Brings requests to endpoints and answers to clients, with further attempts until something reached the client. */
export class Relay {
  private readonly running = new MemberList<Underway>();
  private readonly ids = new RequestIds();
  private isCut = false;

  constructor(private readonly deps: RelayDependencies) {}

  /** Exchanges with endpoints that are under way. */
  get exchanges(): number {
    return this.running.size;
  }

  /** Ends every exchange with an error that its client can see, a few in a turn: what still runs to its end is not held up. */
  async cutAll(): Promise<void> {
    this.isCut = true;
    const running: Underway[] = [];
    this.running.visitAll((exchange) => running.push(exchange));
    await inTurns(running, CUT_IN_A_TURN, (each) => each.giveUp('shutting_down', 'the router is shutting down'));
  }

  /** @throws RouterError when nothing reached the client and no further attempt helps. */
  async relay(incoming: IncomingRequest, request: ReadRequest, matched: MatchedRequest, source: AttemptSource): Promise<void> {
    const { quarantine, budget, clock, random } = this.deps;
    const { trace, answer } = incoming;
    let target = matched;
    let body = engineBody(request, target);
    if (body !== undefined && quarantine.holds(body)) throw quarantined();
    budget.onRequest();
    const client = new ClientWatch(incoming.answer);
    const guarded = this.deps.guard?.(incoming, request, () => client.current?.clientLeft());
    const sink = guarded ?? answer;
    const total = this.deps.wheel.deadline(() => client.current?.giveUp('upstream_timeout', 'total deadline'));
    if (this.deps.config.deadlines.totalMs > 0)
      total.set(Math.max(1, this.deps.config.deadlines.totalMs - (clock.monotonic() - trace.startMs)));
    let made = 0;
    let failures = 0;
    let losses = 0;
    try {
      let held = this.first(source, trace);
      for (;;) {
        if (held.matched !== target) {
          target = held.matched;
          trace.destination = target.destination;
          body = engineBody(request, target);
          if (body !== undefined && quarantine.holds(body)) {
            held.held.release({ kind: 'aborted' });
            throw quarantined();
          }
        }
        const outcome = await this.attempt(held, held.call?.body ?? body!, client, { incoming, request, matched: target, sink });
        held.held.release(settlement(outcome));
        if (guarded !== undefined) {
          if (outcome.kind === 'completed' || outcome.kind === 'lost') await guarded.settled();
          if (guarded.refusal !== undefined) return refusedAnswer(guarded.refusal, outcome, incoming);
        }
        switch (outcome.kind) {
          case 'completed':
            trace.status = trace.upstreamStatus ?? 200;
            trace.usage = outcome.usage;
            trace.streamedEvents = outcome.streamedEvents ?? 0;
            return;
          case 'lost':
            trace.status = trace.upstreamStatus ?? 200;
            trace.usage = outcome.usage;
            trace.streamedEvents = outcome.streamedEvents ?? 0;
            trace.errorType = 'upstream_lost';
            trace.errorMessage = outcome.reason;
            return;
          case 'client-left':
            trace.usage = outcome.usage;
            trace.streamedEvents = outcome.streamedEvents ?? 0;
            throw new RouterError('client_closed', 'the client left');
        }
        // A provider says nothing of what the body does to an engine.
        const isEngine = target.kind === 'modelServer';
        if (isEngine && losesEndpoint(outcome)) losses += 1;
        if (losses === 2 && body !== undefined) quarantine.add(body);
        const decision = decideRetry(outcome, target.retry, { made, failures, isAdapter: target.isAdapter });
        if (isEngine && failsOnBody(outcome)) failures += 1;
        if (this.isCut) throw new RouterError('shutting_down', 'the router is shutting down');
        if (decision === 'stop' || total.isPast || !budget.take()) return this.giveUp(outcome, answer, incoming, request);
        await sleep(clock, target.retry.intervalMs * (0.5 + random.next()));
        if (client.hasLeft) throw new RouterError('client_closed', 'the client left');
        const next = this.next(source, trace);
        if (next.kind === 'none') return this.giveUp(outcome, answer, incoming, request);
        made += 1;
        held = next;
      }
    } finally {
      total.clear();
      client.close();
    }
  }

  private first(source: AttemptSource, trace: RequestTrace): HeldAttempt {
    const next = this.next(source, trace);
    if (next.kind === 'attempt') return next;
    throw next.error ?? new RouterError(next.reason === 'no-endpoints' ? 'no_endpoints' : 'no_capacity', next.message);
  }

  private next(source: AttemptSource, { spans }: RequestTrace): HeldAttempt | NoAttempt {
    if (spans === undefined) return source.next();
    const startMs = this.deps.clock.monotonic();
    const next = source.next();
    spans.scheduled(startMs, next.kind === 'attempt' ? next.attempt.endpoint.id : undefined);
    return next;
  }

  /** One attempt, with a free second and third try on a new connection where an idle one was closed in the same moment. */
  private async attempt(held: HeldAttempt, body: Buffer, client: ClientWatch, context: AttemptContext): Promise<ExchangeOutcome> {
    const { attempt, call } = held;
    const { trace } = context.incoming;
    trace.attempts += 1;
    trace.pod = attempt.endpoint.pod?.name;
    trace.prefillPod = held.handOff?.prefillPod;
    trace.chosenBy = attempt.chosenBy;
    trace.predictedCachedTokens = attempt.predictedCachedTokens;
    trace.expectedTtftMs = attempt.expectedTtftMs;
    const startMs = this.deps.clock.monotonic();
    trace.upstreamStartMs ??= startMs;
    const decision = this.deps.decisions.made(startMs, () => decisionOf(attempt, trace, this.deps.clock.now()));
    const span = trace.spans?.attempt(attempt.endpoint, attemptAttributes(attempt));
    if (span !== undefined) context = { ...context, span };
    const clients = call?.clients ?? this.deps.clients;
    const protocol = context.matched.kind === 'provider' ? 'https' : context.matched.protocol;
    let outcome: ExchangeOutcome;
    if (held.handOff === undefined) {
      const leased = clients.lease(attempt.endpoint, protocol);
      outcome = await this.exchange(held, leased, body, client, context);
      if (outcome.kind === 'failed' && outcome.isIdleClose) {
        const fresh = clients.fresh(attempt.endpoint, protocol);
        outcome = await this.exchange(held, fresh, body, client, context);
        // It took the body and is gone: the same bytes must not go on to the next endpoint as if nobody had seen them.
        if (outcome.kind === 'failed' && outcome.phase === 'connect' && outcome.isReset) outcome = { ...outcome, phase: 'sent' };
      }
    } else {
      outcome = await this.handOver(held, held.handOff, client, context);
    }
    trace.upstreamEndMs = this.deps.clock.monotonic();
    if (call !== undefined) outcome = call.read(outcome);
    decision?.end(resultOf(outcome, trace, startMs));
    span?.end(settlement(outcome), outcome.kind === 'failed' ? undefined : trace.upstreamStatus);
    return outcome;
  }

  /** An attempt of two legs; the answer of the second is the client's. */
  private async handOver(
    held: HeldAttempt,
    handOff: HandOff,
    client: ClientWatch,
    context: AttemptContext,
  ): Promise<ExchangeOutcome> {
    const { endpoint } = held.attempt;
    const protocol = context.matched.kind === 'provider' ? 'https' : context.matched.protocol;
    let decode: Exchange | undefined;
    this.running.add(handOff);
    try {
      client.follow(handOff);
      return await handOff.run({
        send: (body, firstByteMs, onBegan) => {
          const onStart = (exchange: Exchange): void => {
            decode = exchange;
          };
          const leased = this.deps.clients.lease(endpoint, protocol);
          return this.exchange(held, leased, body, client, context, { firstByteMs, onBegan, onStart });
        },
        giveUp: (code, reason) => decode?.giveUp(code, reason),
      });
    } finally {
      this.running.remove(handOff);
    }
  }

  private exchange(
    { attempt, call }: HeldAttempt,
    leased: LeasedClient,
    body: Buffer,
    client: ClientWatch,
    context: AttemptContext,
    leg?: LegHooks,
  ): Promise<ExchangeOutcome> {
    const { wheel, clock, config } = this.deps;
    const { incoming, request, matched } = context;
    const clients = call?.clients ?? this.deps.clients;
    const { head, parsed } = request;
    const { trace, answer } = incoming;
    const { span } = context;
    // An id of the router's own for each attempt: some engines read addresses out of it.
    const headers =
      call?.headers(this.ids.make()) ??
      upstreamHeaders(head.rawHeaders, head.headers.connection, this.ids.make(), head.forwarded);
    const exchange = new Exchange(
      {
        api: head.api,
        target: call?.target ?? head.path + head.query,
        headers: span === undefined ? headers : span.headers(headers),
        body,
        withholdsUsage: call?.withholdsUsage ?? (parsed.streams && !parsed.wantsUsage),
        connectMs: config.deadlines.connectMs,
        firstByteMs: leg?.firstByteMs ?? matched.firstByteMs,
        idleMs: config.deadlines.idleMs,
        streamIdleFloorMs: config.deadlines.streamIdleFloorMs,
      },
      call?.answerTo(context.sink) ?? context.sink,
      wheel,
      leased.isReused,
      {
        onHead: (status) => {
          trace.upstreamStatus = status;
        },
        onFirstToken: () => {
          attempt.firstToken();
          trace.ttftMs = clock.monotonic() - trace.startMs;
          span?.firstToken();
        },
        onCommit: () => {
          leg?.onBegan();
          if (config.explain.header && head.headers['x-kvasir-explain'] === '1')
            answer.addHeader('x-kvasir-decision', decisionHeader(attempt));
        },
        onOver: (isClean) => {
          this.running.remove(exchange);
          if (isClean) clients.giveBack(attempt.endpoint.id, leased.client);
          else clients.discard(attempt.endpoint.id, leased.client);
        },
      },
    );
    this.running.add(exchange);
    leg?.onStart(exchange);
    client.follow(exchange);
    exchange.start(leased.client);
    return exchange.outcome;
  }

  /** The last attempt's end becomes the client's answer. */
  private giveUp(outcome: UnansweredOutcome, answer: ClientAnswer, incoming: IncomingRequest, request: ReadRequest): void {
    if (outcome.kind === 'refused') {
      const { trace } = incoming;
      trace.status = outcome.status;
      if (trace.destination?.backendType === 'external_provider') {
        trace.errorType = 'upstream_response';
        trace.errorMessage = `provider ${trace.destination.backendName} returned HTTP ${trace.upstreamStatus}`;
      }
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

/** What a hand-off asks of the exchange that is its second leg. */
interface LegHooks {
  readonly firstByteMs: number;
  readonly onBegan: () => void;
  readonly onStart: (exchange: Exchange) => void;
}

interface AttemptContext {
  readonly incoming: IncomingRequest;
  readonly request: ReadRequest;
  readonly matched: MatchedRequest;
  /** Where the answer goes. */
  readonly sink: AnswerSink;
  /** Where there are traces. */
  readonly span?: AttemptSpan;
}

/** Tells the exchange of the moment that its client left. */
class ClientWatch {
  current: Underway | undefined;
  hasLeft: boolean;

  constructor(private readonly answer: ClientAnswer) {
    this.hasLeft = answer.isClosed;
    answer.watch(() => {
      this.hasLeft = true;
      this.current?.clientLeft();
    });
  }

  follow(exchange: Underway): void {
    this.current = exchange;
    if (this.hasLeft) exchange.clientLeft();
  }

  close(): void {
    this.current = undefined;
    this.answer.watch(undefined);
  }
}

/** An answer that the guardrail refused. @throws RouterError where the client can still be told by a status. */
function refusedAnswer(refusal: RouterError, outcome: ExchangeOutcome, { answer, trace }: IncomingRequest): void {
  if ('usage' in outcome) trace.usage = outcome.usage;
  if ('streamedEvents' in outcome) trace.streamedEvents = outcome.streamedEvents ?? 0;
  if (!answer.isBegun) throw refusal;
  trace.status = trace.upstreamStatus ?? 200;
  trace.errorType = refusal.kind.reason;
  trace.errorMessage = refusal.message;
}

function quarantined(): RouterError {
  return new RouterError('quarantined', 'these bytes broke the connection to two endpoints');
}

/** What an engine gets; undefined for a provider, whose call has a body of its own. */
function engineBody(request: ReadRequest, matched: MatchedRequest): Buffer | undefined {
  return matched.kind === 'provider' ? undefined : upstreamBody(request, matched.upstreamModel, matched.cacheSalt);
}

function decisionOf(attempt: HeldAttempt['attempt'], trace: RequestTrace, nowMs: number): Decision {
  return {
    at: new Date(nowMs).toISOString(),
    requestId: trace.requestId,
    model: trace.model,
    modelRoute: trace.destination?.modelRoute,
    attempt: trace.attempts,
    endpoint: attempt.endpoint.id,
    promptTokens: trace.inputTokens,
    queuedMs: trace.queuedMs,
    predictedCachedTokens: attempt.predictedCachedTokens,
    expectedTtftMs: attempt.expectedTtftMs,
    explanation: attempt.explain(),
  };
}

function resultOf(outcome: ExchangeOutcome, { startMs, ttftMs }: RequestTrace, attemptStartMs: number): DecisionResult {
  const usage = 'usage' in outcome ? outcome.usage : undefined;
  return {
    outcome: settlement(outcome).kind,
    ttftMs: ttftMs === undefined ? undefined : startMs + ttftMs - attemptStartMs,
    promptTokens: usage?.promptTokens,
    cachedTokens: usage?.cachedTokens,
  };
}

/** What was expected, beside which a trace shows what happened. */
function attemptAttributes({ predictedCachedTokens, expectedTtftMs }: HeldAttempt['attempt']): Record<string, number> {
  return {
    ...(predictedCachedTokens === undefined ? {} : { 'kvasir.predicted_cached_tokens': predictedCachedTokens }),
    ...(expectedTtftMs === undefined ? {} : { 'kvasir.expected_ttft_ms': expectedTtftMs }),
  };
}

function decisionHeader(attempt: HeldAttempt['attempt']): string {
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
