import type { MatchedServer, ReadRequest } from '../request';
import { upstreamBody } from '../request/upstream-body';
import { upstreamHeaders } from '../request/upstream-headers';
import type { HeldAttempt } from './attempt-source';
import type { AnswerSink } from './client-answer';
import type { DeadlineWheel } from './deadline-wheel';
import type { EndpointClients, LeasedClient } from './endpoint-clients';
import { Exchange } from './exchange';
import type { ExchangeOutcome } from './exchange-outcome';
import type { HandOff } from './hand-off';
import type { RelayDependencies } from './relay';
import type { Underway } from './underway';

/** Nobody reads it. */
const DISCARDED: AnswerSink = {
  begin: () => undefined,
  whole: () => undefined,
  write: () => true,
  onDrain: () => undefined,
  end: () => undefined,
  cut: () => undefined,
};

export interface ShadowCopyOptions {
  readonly clients: EndpointClients;
  readonly wheel: DeadlineWheel;
  readonly deadlines: RelayDependencies['config']['deadlines'];
  readonly request: ReadRequest;
  readonly target: MatchedServer;
  readonly held: HeldAttempt;
  /** The router's own for this copy. */
  readonly requestId: string;
}

/** What is sent, and how long its head may take. */
interface Leg {
  readonly body: Buffer;
  readonly firstByteMs: number;
  onBegan(): void;
}

/** One copy of a request, at one endpoint or a pair of them, whose answer goes nowhere. */
export class ShadowCopy {
  private exchange: Exchange | undefined;

  constructor(private readonly options: ShadowCopyOptions) {}

  /** Never rejects. */
  async run(): Promise<ExchangeOutcome> {
    const { wheel, deadlines, held } = this.options;
    const total = wheel.deadline(() => this.underway?.giveUp('upstream_timeout', 'total deadline'));
    if (deadlines.totalMs > 0) total.set(deadlines.totalMs);
    const outcome = await (held.handOff === undefined ? this.whole() : this.handOver(held.handOff));
    total.clear();
    return outcome;
  }

  abort(): void {
    this.underway?.clientLeft();
  }

  private get underway(): Underway | undefined {
    return this.options.held.handOff ?? this.exchange;
  }

  private async whole(): Promise<ExchangeOutcome> {
    const { clients, request, target, held } = this.options;
    const { endpoint } = held.attempt;
    const body = upstreamBody(request, target.upstreamModel, target.cacheSalt);
    const leg: Leg = { body, firstByteMs: target.firstByteMs, onBegan: () => undefined };
    const outcome = await this.send(clients.lease(endpoint, target.protocol), leg);
    // The engine closed an idle connection in the same moment.
    const isIdleClose = outcome.kind === 'failed' && outcome.isIdleClose;
    return isIdleClose ? this.send(clients.fresh(endpoint, target.protocol), leg) : outcome;
  }

  private handOver(handOff: HandOff): Promise<ExchangeOutcome> {
    const { clients, target, held } = this.options;
    return handOff.run({
      send: (body, firstByteMs, onBegan) =>
        this.send(clients.lease(held.attempt.endpoint, target.protocol), { body, firstByteMs, onBegan }),
      giveUp: (code, reason) => this.exchange?.giveUp(code, reason),
    });
  }

  private send(leased: LeasedClient, { body, firstByteMs, onBegan }: Leg): Promise<ExchangeOutcome> {
    const { clients, wheel, deadlines, request, held, requestId } = this.options;
    const { head } = request;
    const { attempt } = held;
    const exchange = new Exchange(
      {
        api: head.api,
        target: head.path + head.query,
        headers: upstreamHeaders(head.rawHeaders, head.headers.connection, requestId, head.forwarded),
        body,
        withholdsUsage: false,
        connectMs: deadlines.connectMs,
        firstByteMs,
        idleMs: deadlines.idleMs,
        streamIdleFloorMs: deadlines.streamIdleFloorMs,
      },
      DISCARDED,
      wheel,
      leased.isReused,
      {
        onHead: () => undefined,
        onFirstToken: () => attempt.firstToken(),
        onCommit: onBegan,
        onOver: (isClean) => {
          if (isClean) clients.giveBack(attempt.endpoint.id, leased.client);
          else clients.discard(attempt.endpoint.id, leased.client);
        },
      },
    );
    this.exchange = exchange;
    exchange.start(leased.client);
    return exchange.outcome;
  }
}
