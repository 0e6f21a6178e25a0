import type { RouterConfig } from '../../../src/config/router-config';
import type { Clock } from '../../lib/clock';
import type { Series } from '../../lib/metrics';
import type { Deadline, DeadlineWheel } from '../relay/deadline-wheel';
import type { EndpointClients } from '../relay/endpoint-clients';
import { Exchange } from '../relay/exchange';
import type { ExchangeOutcome } from '../relay/exchange-outcome';
import type { DecodeLeg, HandOff } from '../relay/hand-off';
import { settlement } from '../relay/settlement';
import type { MatchedServer, RequestHead } from '../request';
import type { RequestIds } from '../request/request-ids';
import { upstreamHeaders } from '../request/upstream-headers';
import type { PairAttempt } from '../scheduling/pair-attempt';
import { CollectedAnswer } from './collected-answer';
import type { HandOffConnector, HandOffTerms } from './connector';
import { type HandOffCommand, type HandOffEvent, type HandOffState, handOffStep, IDLE } from './hand-off-machine';
import type { HandOffMetrics } from './hand-off-metrics';
import type { KeptKv } from './kept-kv';
import type { LegBodies } from './leg-bodies';

/** What all hand-offs of a router share. */
export interface HandOffDependencies {
  readonly clients: EndpointClients;
  readonly wheel: DeadlineWheel;
  readonly clock: Clock;
  readonly config: Pick<RouterConfig, 'deadlines'>;
  readonly ids: RequestIds;
  readonly metrics: HandOffMetrics;
  readonly kept: KeptKv;
}

export interface HandOffInput {
  readonly head: RequestHead;
  readonly matched: MatchedServer;
  /** Label of metrics. */
  readonly model: string;
  readonly pair: PairAttempt;
  readonly connector: HandOffConnector;
  readonly bodies: LegBodies;
  /** Attempts in flight at the destination. */
  readonly upstream: Series;
}

/** Largest answer of a prefill leg: block ids of ten million tokens. */
const MOST_ANSWER_BYTES = 16 * 2 ** 20;
/** How long prefill's answer is waited for when decode is done, in ms: it is on its way. */
const LAST_ANSWER_MS = 1_000;

type Unanswered = Extract<ExchangeOutcome, { kind: 'failed' | 'refused' }>;
type Completed = Extract<ExchangeOutcome, { kind: 'completed' }>;

/** One hand-off: does what the state machine says, with one exchange per leg. */
export class HandOffRun implements HandOff {
  listIndex = -1;
  readonly failed: string[] = [];
  readonly doubted: string[] = [];
  private state: HandOffState = IDLE;
  private outcome: ExchangeOutcome | undefined;
  private terms: HandOffTerms | undefined;
  private prefill: Exchange | undefined;
  /** The head of prefill's answer came: its KV is kept, whether or not the rest is waited for. */
  private isPrefillAnswered = false;
  private prefillOutcome: Completed | undefined;
  private prefillAnswer: Buffer | undefined;
  /** Decode was told where the KV is, or finds it by itself. */
  private isHanded = false;
  private decode: DecodeLeg | undefined;
  private awaitsPrefill = false;
  private finish: (outcome: ExchangeOutcome) => void = () => undefined;
  private fail: (error: unknown) => void = () => undefined;
  private startMs = 0;
  private readonly lastAnswer: Deadline;

  constructor(
    private readonly deps: HandOffDependencies,
    private readonly input: HandOffInput,
  ) {
    this.lastAnswer = deps.wheel.deadline(() => this.prefill?.clientLeft());
  }

  get prefillPod(): string {
    return this.input.pair.prefill.pod.name;
  }

  run(decode: DecodeLeg): Promise<ExchangeOutcome> {
    this.decode = decode;
    this.startMs = this.deps.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
      if (this.outcome !== undefined) resolve(this.outcome);
      else this.open(() => this.step('start'));
    });
  }

  clientLeft(): void {
    this.step('cancel', { kind: 'client-left' });
  }

  giveUp(code: 'upstream_timeout' | 'shutting_down', reason: string): void {
    // The leg that speaks to the client says why.
    if (this.state.decode === 'underway') this.decode!.giveUp(code, reason);
    else this.step('cancel', failedLeg('sent', reason, true));
  }

  /** Makes new terms, and goes on unless the hand-off ended meanwhile. */
  private open(then: () => void): void {
    const { connector, bodies, pair } = this.input;
    const { wheel, config } = this.deps;
    const prefill = { id: pair.prefill.id, host: pair.prefill.host, place: pair.place };
    const goOn = (terms: HandOffTerms): void => {
      this.terms = terms;
      if (this.state.stage !== 'done') then();
    };
    const terms = connector.open(prefill, bodies.generations);
    if (!(terms instanceof Promise)) {
      goOn(terms);
      return;
    }
    const unopened = (reason: string, isTimeout: boolean): void => this.prefillFailed(failedLeg('connect', reason, isTimeout));
    const deadline = wheel.deadline(() => unopened('bootstrap deadline', true));
    deadline.set(config.deadlines.connectMs);
    terms
      .finally(() => deadline.clear())
      .then(goOn, (error: unknown) => unopened(`bootstrap: ${error instanceof Error ? error.message : 'no answer'}`, false))
      .catch(this.fail);
  }

  private step(event: HandOffEvent, outcome?: ExchangeOutcome): void {
    const before = this.state;
    if (before.stage === 'done') return;
    const { state, commands } = handOffStep(before, event, this.input.connector.order);
    this.state = state;
    if (state.kv !== before.kv) this.onKv(state.kv);
    for (const command of commands) this.do(command);
    if (state.stage === 'done') this.onDone(state, outcome!);
  }

  private do(command: HandOffCommand): void {
    switch (command) {
      case 'send-prefill':
        this.sendPrefill(false);
        return;
      case 'send-decode':
        this.sendDecode();
        return;
      case 'abort-prefill':
        this.abortPrefill();
        return;
      case 'abort-decode':
        this.decode!.giveUp('upstream_timeout', 'the hand-off ended');
        return;
      case 'await-prefill':
        this.awaitsPrefill = true;
        this.lastAnswer.set(LAST_ANSWER_MS);
        return;
    }
  }

  private onDone({ end }: HandOffState, outcome: ExchangeOutcome): void {
    const { matched, connector, pair } = this.input;
    this.outcome = outcome;
    this.deps.metrics.ended(matched.modelServerKey, connector.name, end!);
    if (end === 'prefill-failed' || end === 'decode-failed') connector.forget(pair.prefill.id);
    if (!this.awaitsPrefill) this.finish(outcome);
  }

  private sendPrefill(isSecond: boolean): void {
    const { clients, wheel, ids, clock, metrics, config } = this.deps;
    const { head, matched, model, pair, connector, bodies, upstream } = this.input;
    const { prefillMembers, prefillHeaders } = this.terms!;
    const leased = isSecond ? clients.fresh(pair.prefill, matched.protocol) : clients.lease(pair.prefill, matched.protocol);
    const answer = new CollectedAnswer(MOST_ANSWER_BYTES);
    const sentMs = clock.monotonic();
    upstream.add(1);
    const exchange = new Exchange(
      {
        api: head.api,
        target: head.path + head.query,
        headers: [...upstreamHeaders(head.rawHeaders, head.headers.connection, ids.make(), head.forwarded), ...prefillHeaders],
        body: bodies.prefill(prefillMembers, connector.order === 'both-at-once'),
        withholdsUsage: false,
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
          this.isPrefillAnswered = status < 300;
        },
        onFirstToken: () => undefined,
        onCommit: () => undefined,
        onOver: (isClean) => {
          upstream.add(-1);
          if (isClean) clients.giveBack(pair.prefill.id, leased.client);
          else clients.discard(pair.prefill.id, leased.client);
        },
      },
    );
    this.prefill = exchange;
    exchange.start(leased.client);
    exchange.outcome
      .then((outcome) => {
        const isGood = outcome.kind === 'completed' && !answer.isBroken;
        metrics.durationOf('prefill', model, head.api.path, isGood).observe((clock.monotonic() - sentMs) / 1000);
        if (outcome.kind === 'completed' && isGood) this.prefilled(outcome, answer.body);
        else this.unanswered(outcome, isSecond);
        this.lastAnswer.clear();
        if (this.awaitsPrefill) this.finish(this.outcome!);
      })
      .catch(this.fail);
  }

  private prefilled(outcome: Completed, answer: Buffer): void {
    const { pair, connector } = this.input;
    pair.prefilled();
    this.prefillOutcome = outcome;
    this.prefillAnswer = answer;
    // Where decode fetched the KV before prefill answered, nothing more becomes of it.
    if (connector.order === 'both-at-once') this.settlePrefill();
    this.step('prefilled');
  }

  private unanswered(outcome: ExchangeOutcome, isSecond: boolean): void {
    const { connector, pair } = this.input;
    if (this.state.prefill !== 'underway') {
      // It was ended from here.
      pair.settlePrefill({ kind: 'aborted' });
      return;
    }
    const isIdleClose = outcome.kind === 'failed' && outcome.isIdleClose;
    if (isIdleClose && !isSecond && connector.order === 'prefill-first') {
      // Nobody can be sure that the engine did not see the old terms.
      this.open(() => this.sendPrefill(true));
      return;
    }
    this.prefillFailed(isIdleClose ? notSent(outcome) : unansweredOutcome(outcome));
  }

  private prefillFailed(outcome: Unanswered): void {
    const { pair } = this.input;
    const { reason, ...rest } = { reason: '', ...outcome };
    pair.settlePrefill(outcome.kind === 'refused' ? settlement(outcome) : { kind: 'failed', reason: reason || rest.kind });
    if (this.state.stage !== 'decoding') {
      pair.spareDecode();
      this.failed.push(pair.prefill.id);
    }
    this.step('prefill-failed', outcome);
  }

  private abortPrefill(): void {
    const { connector, pair } = this.input;
    this.prefill?.clientLeft();
    pair.settlePrefill({ kind: 'aborted' });
    // Too late to abort: the prompt is computed, and its KV waits for a decode that will not come.
    if (this.isPrefillAnswered && connector.order === 'prefill-first') this.keep();
  }

  private sendDecode(): void {
    const { clock, metrics } = this.deps;
    const { matched, model, head, bodies, pair } = this.input;
    const { firstByteMs } = matched;
    const members = this.terms!.decodeMembers(this.prefillAnswer);
    this.isHanded = members.kind === 'members';
    if (members.kind === 'none') {
      metrics.whole(matched.modelServerKey, 'nothing-handed');
      if (members.keepsKv) this.keep();
    }
    const sentMs = clock.monotonic();
    const leftMs = firstByteMs > 0 ? Math.max(1, firstByteMs - (sentMs - this.startMs)) : 0;
    const body = bodies.decode(members.kind === 'members' ? members.text : '');
    this.decode!.send(body, leftMs, () => this.step('decode-began'))
      .then((outcome) => {
        const isGood = outcome.kind === 'completed';
        metrics.durationOf('decode', model, head.api.path, isGood).observe((clock.monotonic() - sentMs) / 1000);
        if (isGood) this.step('decode-completed', outcome);
        else if (outcome.kind === 'client-left') this.step('cancel', outcome);
        else if (outcome.kind === 'failed' && outcome.isIdleClose) this.step('decode-failed', notSent(outcome));
        else this.decodeFailed(outcome, pair);
      })
      .catch(this.fail);
  }

  private decodeFailed(outcome: Exclude<ExchangeOutcome, Completed>, pair: PairAttempt): void {
    if (this.state.decode !== 'underway') return;
    this.failed.push(pair.endpoint.id);
    // Decode says no more than 500 when it could not get the KV: after 5 s with NIXL, after 11 or 14 s with SGLang.
    const isPairs = outcome.kind === 'refused' && outcome.status === 500 && !outcome.isDead && !outcome.isDraining;
    if (isPairs && this.isHanded && this.state.stage !== 'decoding') {
      this.doubted.push(pair.prefill.id);
      pair.settlePrefill({ kind: 'failed', reason: 'decode could not go on from it' });
    }
    this.step('decode-failed', outcome);
  }

  private onKv(kv: HandOffState['kv']): void {
    if (kv === 'kept' || this.prefillOutcome === undefined) return;
    this.settlePrefill();
    if (kv === 'left' && this.isHanded) this.keep();
  }

  private settlePrefill(): void {
    const { usage } = this.prefillOutcome!;
    this.input.pair.settlePrefill(usage === undefined ? { kind: 'completed' } : { kind: 'completed', usage });
  }

  /** Prefill keeps KV that nobody will fetch. */
  private keep(): void {
    const { connector, pair, matched } = this.input;
    const leaseMs = connector.leaseMs(pair.place);
    if (leaseMs !== undefined) this.deps.kept.add(pair.prefill.id, matched.modelServerKey, leaseMs, pair.keepKv());
  }
}

function failedLeg(phase: 'connect' | 'sent', reason: string, isTimeout: boolean): Unanswered {
  return { kind: 'failed', phase, reason, isTimeout, isReset: false, isIdleClose: false };
}

/** An idle connection that was closed in the moment of its use says nothing of the pod or the body. */
function notSent({ reason }: { readonly reason: string }): Unanswered {
  return failedLeg('connect', reason, false);
}

function unansweredOutcome(outcome: ExchangeOutcome): Unanswered {
  switch (outcome.kind) {
    case 'refused':
    case 'failed':
      return outcome;
    case 'lost':
      return { ...failedLeg('sent', outcome.reason, false), isReset: true } as Unanswered;
    default:
      return failedLeg('sent', 'prefill answered with what is no document', false);
  }
}
