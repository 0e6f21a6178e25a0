import type { TargetModel } from '../../../../src/api/model-route';
import type { QueueConfig } from '../../../../src/config/queue-config';
import type { Clock } from '../../../lib/clock';
import { inTurns } from '../../../lib/in-turns';
import type { Rooms } from '../../endpoints/pod-rooms';
import { RouterError, type RouterErrorCode } from '../../errors';
import type { QueueMetrics } from '../../observability/queue-metrics';
import type { AttemptSource } from '../../relay/attempt-source';
import type { DeadlineWheel } from '../../relay/deadline-wheel';
import type { MatchedRequest, MatchedServer, ReadRequest } from '../../request';
import type { Reservations } from '../../reservations';
import type { Identity } from '../identity';
import type { Arrival } from './arrival';
import { FairQueue } from './fair-queue';
import { Hold } from './hold';
import { PriorityClasses } from './priority-classes';
import { QueueLane } from './queue-lane';
import { QueuePolicies, type QueuePolicy } from './queue-policies';
import { queueRefusal } from './queue-refusal';
import { type QueueStatus, queueStatus } from './queue-status';
import type { Sleepers } from './sleepers';
import { TenantPermits } from './tenant-permits';
import { Turns } from './turns';
import { Waiting } from './waiting';
import { Waker } from './waker';

/** Requests whose wait ends in one turn. */
const CUT_IN_A_TURN = 32;

export interface RequestQueueOptions {
  readonly config: QueueConfig;
  /** From a request's head to the end of its answer; 0: no limit. */
  readonly totalMs: number;
  readonly clock: Clock;
  readonly wheel: DeadlineWheel;
  readonly rooms: Rooms;
  readonly metrics: QueueMetrics;
  /** Absent where nothing can be woken. */
  readonly sleepers?: Sleepers | undefined;
  readonly source: (request: ReadRequest, matched: MatchedRequest, reservations: Reservations) => AttemptSource;
  /** Draws the target anew among some of its rule. */
  readonly redraw: (
    matched: MatchedRequest,
    request: ReadRequest,
    mayTake: (target: TargetModel) => boolean,
  ) => MatchedRequest | undefined;
  /** The provider that takes what finds no room. */
  readonly overflow: (matched: MatchedRequest, request: ReadRequest) => MatchedRequest | undefined;
  /** What the request costs there, in seconds; undefined where providers are not weighed, or there is none. */
  readonly overflowSeconds: (matched: MatchedRequest, request: ReadRequest) => number | undefined;
  readonly isCurrent: (matched: MatchedRequest) => boolean;
  /** Matches a request again whose route has changed. */
  readonly rematch: (request: ReadRequest, identity: Identity, before: MatchedRequest) => MatchedRequest;
}

/**
 * Lets requests go on to endpoints while pods have room, and holds the others in order until there is some. Target and pod are chosen when
 * a request leaves. Nothing is polled: a pod's release, the modelled end of a prefill and a change of the cluster wake those that may go.
 * A request that finds room, with nobody waiting, passes at once and at no cost.
 */
export class RequestQueue {
  private readonly queue: FairQueue<Waiting>;
  private readonly lanes = new Map<string, QueueLane>();
  private readonly classes: PriorityClasses;
  private readonly policies: QueuePolicies;
  private readonly tenants: TenantPermits;
  private readonly turns: Turns;
  private readonly hold: Hold | undefined;
  private order = 0;
  private readonly waker: Waker;

  constructor(private readonly options: RequestQueueOptions) {
    const { config, clock, metrics } = options;
    this.classes = new PriorityClasses(config);
    this.policies = new QueuePolicies(config);
    this.tenants = new TenantPermits(config.tenantConcurrency, clock);
    this.turns = new Turns({ config, policies: this.policies, clock, metrics, onReleased: () => this.waker.released() });
    const { sleepers } = options;
    this.hold =
      sleepers === undefined
        ? undefined
        : new Hold({
            sleepers,
            clock,
            config: config.wake,
            lanes: () => this.lanes.values(),
            rooms: options.rooms,
            onRenewed: () => this.waker.soon(),
          });
    const { enabled, gracePeriodMs } = config.sessionBoost;
    this.waker = new Waker({
      rooms: options.rooms,
      clock,
      graceMs: enabled ? gracePeriodMs : 0,
      lanes: () => this.lanes.values(),
      wake: (clusterChanged) => this.wake(clusterChanged),
    });
    this.queue = new FairQueue((account) => this.turns.usage(account));
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.queue.size;
  }

  /** Everything that must be zero when no request is under way. */
  get held(): number {
    return this.queue.size + this.tenants.taken + this.turns.taken + this.lanes.size;
  }

  /**
   * At once while there is room and nobody waits for it.
   *
   * @throws RouterError (or rejects with it) `tenant_concurrency`, `queue_full`, `queue_timeout`, `wait_too_long`, `shed`,
   * `shutting_down`, `client_closed`, and those of a match.
   */
  enter(arrival: Arrival): AttemptSource | Promise<AttemptSource> {
    const { matched, request, reservations, identity, incoming } = arrival;
    const { config, rooms, source } = this.options;
    this.tenants.take(identity, reservations);
    if (matched.kind === 'provider') return source(request, matched, reservations);
    const policy = this.policies.of(incoming.trace.model);
    if (this.queue.size === 0 && policy.maxExpectedWaitMs === undefined && !this.turns.counts) {
      const state = rooms.state(matched.modelServerKey, matched.stateful?.endpointId);
      const isOpen = state === 'free' || (state === 'full' ? !config.lateBinding : this.hold === undefined);
      if (isOpen) return source(request, matched, reservations);
    }
    return this.join(arrival, matched, policy);
  }

  /** The provider that takes a request whose targets have nobody, where its model may overflow. */
  overflow(matched: MatchedRequest, request: ReadRequest): MatchedRequest | undefined {
    const model = matched.stateful?.model ?? request.parsed.model;
    if (!this.policies.of(model).overflows || matched.stateful?.endpointId !== undefined) return undefined;
    const other = this.options.overflow(matched, request);
    if (other !== undefined) this.options.metrics.overflowed(model);
    return other;
  }

  /** Ends the wait of everybody with an error that the client sees. */
  async cutAll(): Promise<void> {
    await inTurns([...this.queue.all()], CUT_IN_A_TURN, (waiting) =>
      this.end(waiting, new RouterError('shutting_down', 'the router is shutting down')),
    );
  }

  /** What waits, and why. */
  status(): QueueStatus {
    return queueStatus({
      all: this.queue.all(),
      bytes: this.queue.bytes,
      nowMs: this.options.clock.monotonic(),
      reasonOf: (lane) => {
        const state = this.stateOf(lane);
        if (state !== 'free') return state;
        return this.turns.isOpen(lane.model) ? 'next' : 'max-concurrent';
      },
      expectedMsOf: (lane) => this.expectedWaitMs(lane, Number.POSITIVE_INFINITY),
    });
  }

  private join(arrival: Arrival, matched: MatchedServer, policy: QueuePolicy): AttemptSource | Promise<AttemptSource> {
    const { incoming, request, identity } = arrival;
    const { rooms } = this.options;
    const { trace, answer } = incoming;
    const { model } = trace;
    const priority = this.classes.of(identity, request.head);
    trace.priorityClass = priority.name;
    const made = QueueLane.of(matched, model);
    const lane = this.lanes.get(made.key) ?? made;
    const waiting = new Waiting(arrival, matched, lane, priority, this.turns.of(identity, request.head, lane), this.order++);
    const expectedMs = this.expectedWaitMs(lane, priority.rank);
    if (policy.maxExpectedWaitMs !== undefined && expectedMs > policy.maxExpectedWaitMs) {
      const limit = policy.maxExpectedWaitMs;
      return this.turnAway(waiting, 'wait_too_long', `the wait would be ${seconds(expectedMs)}`, expectedMs - limit);
    }
    if (this.hold !== undefined && rooms.state(matched.modelServerKey) === 'nobody') this.hold.signal(matched.modelServerKey);
    const blockers = this.queue.size === 0 ? 0 : this.competitors(lane);
    if (blockers === 0 && this.mayGo(lane)) return this.go(waiting, true);
    if (answer.isClosed) throw new RouterError('client_closed', 'the client left');
    const elsewhere = policy.overflows ? this.sooner(waiting, expectedMs) : undefined;
    if (elsewhere !== undefined) return elsewhere;
    const refusal = this.makeRoom(waiting);
    if (refusal !== undefined) return this.turnAway(waiting, 'queue_full', refusal, expectedMs);
    return this.wait(waiting);
  }

  private wait(waiting: Waiting): Promise<AttemptSource> {
    const { totalMs, clock, wheel, metrics } = this.options;
    const { trace, answer } = waiting.arrival.incoming;
    const { path: lane, priority } = waiting;
    const nowMs = clock.monotonic();
    waiting.sinceMs = nowMs;
    this.lanes.set(lane.key, lane);
    this.queue.add(waiting);
    metrics.waits(lane.model, priority.name, waiting.bytes);
    answer.watch(() => this.end(waiting, new RouterError('client_closed', 'the client left while it waited')));
    waiting.deadline = wheel.deadline(() => this.late(waiting));
    const leftMs = totalMs > 0 ? Math.max(1, totalMs - (nowMs - trace.startMs)) : Number.POSITIVE_INFINITY;
    waiting.isHeld = this.stateOf(lane) === 'asleep';
    waiting.deadline.set(Math.min(waiting.isHeld ? this.hold!.silentMs : priority.maxWaitMs, leftMs));
    if (waiting.isHeld) this.hold!.begin();
    const outcome = waiting.outcome();
    // Somebody before it may have been about to go: then it is looked at together with them.
    this.waker.begin();
    return outcome;
  }

  private late(waiting: Waiting): void {
    const { path: lane, priority } = waiting;
    const isAsleep = waiting.isHeld && this.stateOf(lane) === 'asleep';
    if (waiting.isHeld && this.hold!.goesOn(waiting, isAsleep)) return;
    if (waiting.isHeld && !isAsleep) {
      // Pods came, and are full: from now on it waits as everybody does.
      waiting.isHeld = false;
      waiting.deadline!.set(priority.maxWaitMs);
      return;
    }
    if (isAsleep) {
      const ms = this.hold!.expectedMs(lane);
      this.options.metrics.refused(lane.model, priority.name, 'waking');
      this.end(waiting, queueRefusal('waking', `no pod of ${lane.model} runs, and one is being started`, ms));
      return;
    }
    const ahead = this.expectedWaitMs(lane, priority.rank);
    const waitedMs = this.options.clock.monotonic() - waiting.sinceMs;
    const error = queueRefusal('queue_timeout', `no pod had room for ${seconds(waitedMs)}`, ahead);
    const other = this.overflowOf(waiting);
    if (other === undefined) {
      this.options.metrics.refused(lane.model, priority.name, error.code);
      this.end(waiting, error);
      return;
    }
    this.remove(waiting, 'ended');
    waiting.goes(other);
  }

  /** @returns a clause that says why a newcomer may not wait; undefined when it may. */
  private makeRoom(waiting: Waiting): string | undefined {
    const { maxRequests, maxBytes } = waiting.priority;
    const { queue } = this;
    for (;;) {
      const isLong = queue.size + 1 > maxRequests;
      if (!isLong && queue.bytes + waiting.bytes <= maxBytes) return undefined;
      const loser = queue.size === 0 ? undefined : queue.givesWay(waiting.rank, waiting.user);
      if (loser === undefined) return isLong ? `${queue.size} requests wait` : `${queue.bytes} bytes wait`;
      const other = this.overflowOf(loser);
      const { path: lane, priority } = loser;
      if (other === undefined) {
        const ms = this.expectedWaitMs(lane, priority.rank);
        this.options.metrics.refused(lane.model, priority.name, 'shed');
        this.end(loser, queueRefusal('shed', 'it gave way to others while it waited', ms));
      } else {
        this.remove(loser, 'ended');
        loser.goes(other);
      }
    }
  }

  /** A provider takes the request, or nobody does. */
  private turnAway(waiting: Waiting, code: RouterErrorCode, what: string, afterMs: number): AttemptSource {
    const other = this.overflowOf(waiting);
    if (other !== undefined) return other;
    this.options.metrics.refused(waiting.path.model, waiting.priority.name, code);
    throw queueRefusal(code, what, afterMs);
  }

  /** A provider takes the request, if that costs less than the wait. */
  private sooner(waiting: Waiting, expectedMs: number): AttemptSource | undefined {
    const atProvider = this.options.overflowSeconds(waiting.matched, waiting.arrival.request);
    return atProvider !== undefined && 1_000 * atProvider < expectedMs ? this.overflowOf(waiting) : undefined;
  }

  private overflowOf({ matched, arrival }: Waiting): AttemptSource | undefined {
    const other = this.overflow(matched, arrival.request);
    if (other === undefined) return undefined;
    arrival.incoming.trace.destination = other.destination;
    return this.options.source(arrival.request, other, arrival.reservations);
  }

  private expectedWaitMs(lane: QueueLane, rank: number): number {
    return lane.expectedWaitMs(this.options.rooms, this.queue.ahead(lane.key, rank));
  }

  private mayGo(lane: QueueLane): boolean {
    return this.turns.isOpen(lane.model) && this.stateOf(lane) === 'free';
  }

  private stateOf(lane: QueueLane): 'free' | 'full' | 'asleep' {
    const { rooms, config } = this.options;
    const canHold = this.hold !== undefined && !this.policies.of(lane.model).overflows;
    const state = lane.state(rooms, canHold ? (server) => this.hold!.canWake(server) : undefined);
    return state === 'full' && !config.lateBinding ? 'free' : state;
  }

  /** Those that wait for what a newcomer of the lane wants as well. */
  private competitors(lane: QueueLane): number {
    let count = 0;
    for (const other of this.lanes.values()) if (other.servers.some((server) => lane.servers.includes(server))) count += 1;
    return count;
  }

  /** Lets everybody go who can. */
  private wake(clusterChanged: boolean): void {
    if (clusterChanged) this.matchAgain();
    for (;;) {
      const next = this.queue.first((key) => this.mayGo(this.lanes.get(key)!));
      if (next === undefined) break;
      this.remove(next, 'went');
      try {
        next.goes(this.go(next, false));
      } catch (error) {
        next.ends(error);
      }
    }
  }

  /** Routes changed: those whose own did are matched again, and may wait for something else now. */
  private matchAgain(): void {
    const { isCurrent, rematch, source } = this.options;
    for (const waiting of [...this.queue.all()]) {
      if (isCurrent(waiting.matched)) continue;
      const { request, identity, reservations } = waiting.arrival;
      try {
        const matched = rematch(request, identity, waiting.matched);
        if (matched.kind === 'provider') {
          this.remove(waiting, 'went');
          waiting.goes(source(request, matched, reservations));
        } else this.move(waiting, matched);
      } catch (error) {
        this.end(waiting, error);
      }
    }
  }

  private move(waiting: Waiting, matched: MatchedServer): void {
    this.queue.remove(waiting);
    this.forgetLane(waiting.path);
    const made = QueueLane.of(matched, waiting.path.model);
    const lane = this.lanes.get(made.key) ?? made;
    this.lanes.set(lane.key, lane);
    waiting.matched = matched;
    waiting.path = lane;
    this.queue.add(waiting);
  }

  /** The request goes on: its target and its first endpoint are drawn now, so that its room is taken. */
  private go(waiting: Waiting, isImmediate: boolean): AttemptSource {
    const { clock, metrics, source, redraw, rooms, config } = this.options;
    const { arrival, path: lane } = waiting;
    const { request, reservations, incoming } = arrival;
    const nowMs = clock.monotonic();
    if (!isImmediate) {
      lane.departed(nowMs);
      incoming.trace.queuedMs = nowMs - waiting.sinceMs;
    } else if (this.turns.counts) metrics.passed(lane.model);
    this.turns.take(waiting.turn, incoming, lane.model, reservations);
    let { matched } = waiting;
    if (
      config.lateBinding &&
      (!isImmediate || rooms.state(matched.modelServerKey, lane.only) === 'full') &&
      lane.only === undefined
    ) {
      const namespace = matched.route.metadata.namespace ?? 'default';
      const hasRoom = ({ modelServerName }: TargetModel): boolean =>
        Boolean(modelServerName) && rooms.state(`${namespace}/${modelServerName}`) === 'free';
      const drawn = redraw(matched, request, hasRoom);
      if (drawn?.kind === 'modelServer') matched = drawn;
    }
    const attempts = source(request, matched, reservations);
    attempts.draw();
    return attempts;
  }

  private end(waiting: Waiting, error: unknown): void {
    this.remove(waiting, 'ended');
    waiting.ends(error);
  }

  private remove(waiting: Waiting, how: 'went' | 'ended'): void {
    if (!this.queue.remove(waiting)) return;
    const { path: lane, priority } = waiting;
    waiting.deadline!.clear();
    waiting.arrival.incoming.answer.watch(undefined);
    const waitedMs = this.options.clock.monotonic() - waiting.sinceMs;
    waiting.arrival.incoming.trace.queuedMs = waitedMs;
    this.options.metrics.left(lane.model, priority.name, waiting.bytes, how, waitedMs);
    if (how === 'went' && waiting.isHeld) this.hold?.over(lane);
    this.forgetLane(lane);
    if (this.queue.size === 0) this.waker.end();
  }

  private forgetLane(lane: QueueLane): void {
    if (this.queue.ahead(lane.key, Number.POSITIVE_INFINITY).requests > 0) return;
    this.lanes.delete(lane.key);
    this.hold?.left(lane);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
