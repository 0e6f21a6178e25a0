import type { StepTime } from '../../src/catalog/step-time';
import type { Clock, Timer } from '../lib/clock';
import { type BatchLimits, BatchScheduler, type StepBatch } from './core/batch-scheduler';
import { BlockPool } from './core/block-pool';
import type { EngineOccupancy, EngineStats } from './core/engine-stats';
import { knownTokens, newSequence, type Sequence } from './core/sequence';
import { stepDurationMs } from './core/step-duration';
import { endOfSteps, type Stride, stepsDone } from './core/stride';
import type { EngineOutcome, EngineRequest } from './engine-request';
import type { FetchResult } from './remote-kv';
import type { RetainedBlocks } from './retained-blocks';

/** What a step did, told when it ends. */
export interface StepReport {
  readonly startMs: number;
  readonly endMs: number;
  readonly prefillTokens: number;
  readonly decodeSequences: number;
  /** Steps that this tells of, all alike; more than 1 only with `strides`. */
  readonly steps: number;
}

/** Told in core time what request callbacks do not say. */
export interface EngineObserver {
  /** A request is part of a step for the first time. */
  onAdmitted?(request: EngineRequest, atMs: number, cachedTokens: number): void;
  onStep?(step: StepReport): void;
}

export interface EngineCoreOptions extends BatchLimits {
  readonly clock: Clock;
  readonly stepTime: StepTime;
  /** Blocks of KV cache as engines count them, ≥ 2. One of them is the placeholder that vLLM keeps for itself. */
  readonly numBlocks: number;
  /** Context length: most tokens of prompt and output together. */
  readonly maxModelLen: number;
  readonly observer?: EngineObserver;
  /**
   * Whether steps in which the same sequences decode are computed together, with the same times: a request's `onToken` is then called for
   * its first token, for its last, and for some between, each with its own index. For days of virtual time. @default false
   */
  readonly strides?: boolean;
}

/** A request in the core. */
export interface Submission {
  /** Ends the request; its slot and blocks are free when the step that runs now is over. Does nothing after its end. */
  abort(): void;
}

interface Event {
  readonly at: number;
  readonly kind: 'begin' | 'end';
}

/**
 * An inference engine as a discrete-event simulation: continuous batching over a KV block pool with a prefix cache.
 *
 * It has one timer and its own time: a step ends when its duration says, and the next begins at that moment, however late the clock's
 * timer fires. So a wall clock accumulates no drift, and the same submissions at the same times give the same trace on every clock.
 */
export class EngineCore {
  /** Most tokens of prompt and output together that `submit` takes: the context length, or what the KV cache holds. */
  readonly maxTokens: number;
  private readonly clock: Clock;
  private readonly pool: BlockPool;
  private readonly scheduler: BatchScheduler;
  private readonly unfinished = new Set<Sequence>();
  private readonly idleWaiters: (() => void)[] = [];
  private batch: StepBatch | undefined;
  private stepStartMs = 0;
  /** Steps that end together with the one of `batch`; undefined: it is alone. */
  private stride: Stride | undefined;
  private event: Event | undefined;
  private timer: Timer | undefined;
  /** Core time while callbacks run, so that what they submit arrives then. */
  private deliveringAtMs: number | undefined;
  private frozenSinceMs: number | undefined;
  private slowness = 1;
  private retainedBlocks = 0;
  private dead = false;
  private readonly counters = {
    submitted: 0,
    finished: 0,
    aborted: 0,
    killed: 0,
    loadFailed: 0,
    preemptions: 0,
    steps: 0,
    busyMs: 0,
    promptTokens: 0,
    cachedTokens: 0,
    crossTenantTokens: 0,
    remoteTokens: 0,
    arrivedTokens: 0,
    loadFailedTokens: 0,
    prefilledTokens: 0,
    generatedTokens: 0,
    wastedTokens: 0,
    abandonedTokens: 0,
  };

  /** @throws RangeError when a limit is out of range. */
  constructor(private readonly options: EngineCoreOptions) {
    for (const name of ['blockSize', 'maxNumSeqs', 'maxNumBatchedTokens', 'maxModelLen'] as const) {
      if (!(Number.isInteger(options[name]) && options[name] >= 1))
        throw new RangeError(`${name} must be at least 1, got ${options[name]}`);
    }
    if (!(Number.isInteger(options.numBlocks) && options.numBlocks >= 2)) {
      throw new RangeError(`numBlocks must be at least 2, got ${options.numBlocks}`);
    }
    this.clock = options.clock;
    this.pool = new BlockPool(options.numBlocks - 1);
    this.scheduler = new BatchScheduler(this.pool, options);
    this.maxTokens = Math.min(options.maxModelLen, this.pool.size * options.blockSize);
  }

  /** Whether it was not killed. */
  get isAlive(): boolean {
    return !this.dead;
  }

  /**
   * Takes a request. On a killed core it ends as `killed` at once.
   *
   * @throws RangeError when it could never be finished: no tokens, or more than `maxTokens`.
   */
  submit(request: EngineRequest): Submission {
    const total = request.promptTokens + request.outputTokens;
    if (!(request.promptTokens >= 1 && request.outputTokens >= 1 && total <= this.maxTokens)) {
      throw new RangeError(
        `request ${request.id}: ${request.promptTokens} prompt and ${request.outputTokens} output tokens; both must be at least 1, together at most ${this.maxTokens}`,
      );
    }
    const now = this.arriveNow(true);
    const sequence = newSequence(request, now);
    this.counters.submitted += 1;
    if (this.dead) {
      this.end(sequence, 'killed', now);
      return { abort: () => undefined };
    }
    this.unfinished.add(sequence);
    this.scheduler.waiting.push(sequence);
    this.endStrideSoon();
    this.wake(now);
    return { abort: () => this.abort(sequence) };
  }

  /** Ends everything at once as a crashed engine does: no request gets another token. */
  kill(): void {
    const now = this.arriveNow();
    if (this.dead) return;
    this.dead = true;
    this.timer?.cancel();
    this.event = undefined;
    this.batch = undefined;
    this.stride = undefined;
    for (const sequence of this.unfinished) {
      if (sequence.load === 'underway') sequence.request.remoteKv?.cancel();
      this.scheduler.remove(sequence);
      this.end(sequence, 'killed', now);
    }
    this.dropLeavers();
    this.settleIdle();
  }

  /** Stops computing, as a wedged device does, until `resume`. The step that runs keeps what is left of it. */
  freeze(): void {
    const now = this.arriveNow();
    if (this.frozenSinceMs !== undefined) return;
    this.frozenSinceMs = now;
    this.timer?.cancel();
  }

  resume(): void {
    if (this.frozenSinceMs === undefined) return;
    const pause = this.clock.monotonic() - this.frozenSinceMs;
    this.frozenSinceMs = undefined;
    if (this.stride !== undefined) this.stride = { ...this.stride, startMs: this.stride.startMs + pause };
    if (this.event !== undefined) this.setEvent({ at: this.event.at + pause, kind: this.event.kind });
  }

  /** Makes every step from the next on `factor` times as long. 1 is normal speed. */
  slowDown(factor: number): void {
    if (this.stride !== undefined) {
      this.arriveNow();
      this.endStrideSoon();
    }
    this.slowness = factor;
  }

  /** Forgets the prefix cache. Running requests keep their blocks. */
  resetPrefixCache(): void {
    this.arriveNow();
    this.pool.clearCache();
  }

  /** Resolves when no request is unfinished. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.idleWaiters.push(resolve);
      this.settleIdle();
    });
  }

  /** The part of `stats` that routers ask for every second; it costs the same however many wait. */
  occupancy(): EngineOccupancy {
    this.arriveNow(true);
    const { running, waiting, loading } = this.scheduler;
    const usedBlocks = this.pool.size - this.pool.free;
    return {
      running: running.length,
      waiting: waiting.length + loading.size,
      kvUsage: usedBlocks / this.pool.size,
      usedBlocks,
      totalBlocks: this.pool.size,
    };
  }

  stats(): EngineStats {
    const occupancy = this.occupancy();
    const { running, waiting, loading } = this.scheduler;
    const remoteLoads = {
      wanted: waiting.filter(({ load }) => load === 'wanted').length,
      underway: loading.size,
      arrived: waiting.filter(({ load }) => load === 'arrived').length,
    };
    return {
      ...this.counters,
      ...occupancy,
      deferred: this.scheduler.deferred + loading.size,
      remoteLoads,
      retainedBlocks: this.retainedBlocks,
      runningAdapters: adaptersOf(running),
      waitingAdapters: adaptersOf(waiting),
    };
  }

  /**
   * Core time for something that happens now, after all steps that ended before it. A step that begins at this very instant takes in
   * what is submitted in it (`joins`) and is already running for everything else, whichever of the two the clock calls first.
   */
  private arriveNow(joins = false): number {
    if (this.deliveringAtMs !== undefined) return this.deliveringAtMs;
    const now = this.clock.monotonic();
    this.catchUp(now, !joins);
    return now;
  }

  /** Runs events up to `now`; one that begins a step exactly now only `withBegin`. */
  private catchUp(now: number, withBegin: boolean): void {
    if (this.frozenSinceMs !== undefined || this.dead) return;
    let event = this.event;
    if (event === undefined) return;
    if (event.at > now) {
      this.endStepsBefore(now);
      return;
    }
    for (; event !== undefined && event.at <= now; event = this.event) {
      if (event.kind === 'end') this.endStep(event.at);
      else if (event.at < now || withBegin) this.beginStep(event.at);
      else break;
      if (this.frozenSinceMs !== undefined || this.dead) return;
    }
    this.setEvent(this.event);
  }

  /** Ends the steps of a stride that are over; the others become a stride of their own. */
  private endStepsBefore(now: number): void {
    const { stride } = this;
    const done = stride === undefined ? 0 : stepsDone(stride, now);
    if (stride === undefined || done === 0) return;
    this.stride = { ...stride, steps: done };
    this.endStep(endOfSteps(stride, done));
    this.setEvent(this.event);
  }

  /** Lets no step begin but the one that runs, since the next one may compute others. */
  private endStrideSoon(): void {
    const { stride } = this;
    if (stride === undefined) return;
    this.stride = undefined;
    this.setEvent({ at: endOfSteps(stride, 1), kind: 'end' });
  }

  private setEvent(event: Event | undefined): void {
    this.timer?.cancel();
    this.event = event;
    if (event === undefined || this.frozenSinceMs !== undefined) return;
    this.timer = this.clock.after(event.at - this.clock.monotonic(), () => {
      const now = this.clock.monotonic();
      if (event.at <= now) this.catchUp(now, true);
      else this.setEvent(event);
    });
  }

  private beginStep(atMs: number): void {
    const batch = this.scheduler.next();
    this.counters.promptTokens += batch.cacheQueries;
    this.counters.cachedTokens += batch.cacheHits;
    this.counters.crossTenantTokens += batch.crossTenantHits;
    const hasNews = this.startLoads(batch.loads, atMs);
    if (this.dead) return;
    if (batch.sequences.length === 0) {
      this.event = hasNews ? { at: atMs, kind: 'begin' } : undefined;
      return;
    }
    this.batch = batch;
    this.stepStartMs = atMs;
    const firstMs = stepDurationMs(this.options.stepTime, batch) * this.slowness;
    this.event = { at: atMs + firstMs, kind: 'end' };
    const steps = this.options.strides === true ? this.scheduler.stepsAlike(batch) : 1;
    if (steps > 1) {
      const growthMs = this.options.stepTime.perKvTokenMs * batch.sequences.length * this.slowness;
      this.stride = { startMs: atMs, firstMs, growthMs, steps };
      this.event = { at: endOfSteps(this.stride, steps), kind: 'end' };
    }
    this.counters.preemptions += batch.preempted.length;
    const onAdmitted = this.options.observer?.onAdmitted;
    if (onAdmitted !== undefined) {
      for (const sequence of batch.admitted) onAdmitted.call(this.options.observer, sequence.request, atMs, sequence.hitTokens);
    }
  }

  private endStep(atMs: number): void {
    const batch = this.batch!;
    const steps = this.stride?.steps ?? 1;
    this.batch = undefined;
    this.stride = undefined;
    this.counters.steps += steps;
    this.counters.busyMs += atMs - this.stepStartMs;
    this.counters.prefilledTokens += batch.prefillTokens;
    const produced: Sequence[] = [];
    for (const sequence of batch.sequences) {
      const tokens = sequence.scheduledTokens;
      sequence.scheduledTokens = 0;
      if (sequence.state === 'ended') {
        this.scheduler.remove(sequence);
        continue;
      }
      if (steps > 1) this.scheduler.extend(sequence, steps);
      sequence.computedTokens += tokens + steps - 1;
      if (sequence.computedTokens < knownTokens(sequence)) continue;
      sequence.generatedTokens += steps;
      this.counters.generatedTokens += steps;
      if (sequence.generatedTokens === sequence.request.outputTokens) {
        if (sequence.request.retainsBlocks === true) this.scheduler.retire(sequence);
        else this.scheduler.remove(sequence);
      }
      produced.push(sequence);
    }
    this.deliver(produced, batch, atMs, steps);
    if (!this.dead) this.beginStep(atMs);
  }

  /** Calls back when the state is whole again, since callbacks may submit, abort or kill. */
  private deliver(produced: readonly Sequence[], batch: StepBatch, atMs: number, steps: number): void {
    this.deliveringAtMs = atMs;
    this.options.observer?.onStep?.({
      startMs: this.stepStartMs,
      endMs: atMs,
      prefillTokens: batch.prefillTokens,
      decodeSequences: batch.decodeSequences,
      steps,
    });
    for (const sequence of produced) {
      if (sequence.state === 'ended') continue;
      const { request, generatedTokens } = sequence;
      request.onToken(generatedTokens - 1, atMs);
      // TypeScript cannot see that the callback may have ended it.
      if (generatedTokens === request.outputTokens && (sequence.state as Sequence['state']) !== 'ended')
        this.end(sequence, 'finished', atMs);
    }
    this.deliveringAtMs = undefined;
    this.settleIdle();
  }

  private abort(sequence: Sequence): void {
    const now = this.arriveNow();
    if (sequence.state === 'ended') return;
    if (sequence.load === 'underway') sequence.request.remoteKv?.cancel();
    this.endStrideSoon();
    const isInStep = this.batch !== undefined && sequence.scheduledTokens > 0;
    if (isInStep) this.counters.wastedTokens += sequence.scheduledTokens;
    else this.scheduler.remove(sequence);
    this.end(sequence, 'aborted', now);
    if (this.deliveringAtMs === undefined) this.settleIdle();
    // Its blocks may be what the first in the queue waits for.
    if (this.scheduler.waiting.length > 0) this.wake(now);
  }

  private end(sequence: Sequence, kind: EngineOutcome['kind'], atMs: number): void {
    sequence.state = 'ended';
    this.unfinished.delete(sequence);
    this.counters[kind] += 1;
    if (kind !== 'finished') this.counters.abandonedTokens += sequence.generatedTokens;
    const retains = kind === 'finished' && sequence.request.retainsBlocks === true;
    sequence.request.onEnd({
      kind,
      atMs,
      cachedTokens: sequence.hitTokens,
      generatedTokens: sequence.generatedTokens,
      preemptions: sequence.preemptions,
      ...(retains ? { retained: this.retain(sequence) } : {}),
    });
  }

  /** Starts a step when none runs, unless a callback is being told something: then one begins after it. */
  private wake(atMs: number): void {
    if (this.event === undefined && this.deliveringAtMs === undefined && !this.dead) this.setEvent({ at: atMs, kind: 'begin' });
  }

  /** @returns whether one of them is back already. */
  private startLoads(loads: readonly Sequence[], atMs: number): boolean {
    if (loads.length === 0) return false;
    this.deliveringAtMs = atMs;
    for (const sequence of loads) {
      this.counters.remoteTokens += sequence.remoteTokens;
      sequence.request.remoteKv!.fetch(sequence.remoteTokens, (result) => this.endLoad(sequence, result));
    }
    this.deliveringAtMs = undefined;
    this.settleIdle();
    return loads.some(({ load, state }) => load !== 'underway' && state !== 'ended');
  }

  private endLoad(sequence: Sequence, result: FetchResult): void {
    const now = this.arriveNow(true);
    if (sequence.state === 'ended' || sequence.load !== 'underway') return;
    if (result === 'failed') {
      this.scheduler.remove(sequence);
      this.counters.loadFailedTokens += sequence.request.promptTokens;
      this.end(sequence, 'loadFailed', now);
      if (this.deliveringAtMs === undefined) this.settleIdle();
    } else {
      if (result === 'arrived') this.counters.arrivedTokens += sequence.remoteTokens;
      this.scheduler.endLoad(sequence, result === 'arrived');
    }
    this.wake(now);
  }

  private retain(sequence: Sequence): RetainedBlocks {
    const { blocks } = sequence;
    sequence.blocks = [];
    this.retainedBlocks += blocks.length;
    let isHeld = true;
    return {
      blocks,
      tokens: sequence.computedTokens,
      release: () => {
        if (!isHeld) return;
        const now = this.arriveNow(true);
        isHeld = false;
        this.retainedBlocks -= blocks.length;
        this.scheduler.giveBack(blocks);
        this.wake(now);
      },
    };
  }

  /** Gives back what aborted sequences of a step hold that will never end. */
  private dropLeavers(): void {
    for (const sequence of [...this.scheduler.running]) this.scheduler.remove(sequence);
  }

  private settleIdle(): void {
    if (this.unfinished.size > 0) return;
    for (const resolve of this.idleWaiters.splice(0)) resolve();
  }
}

function adaptersOf(sequences: readonly Sequence[]): readonly string[] {
  const names = new Set<string>();
  for (const { request } of sequences) if (request.adapter !== undefined) names.add(request.adapter);
  return [...names].sort();
}
