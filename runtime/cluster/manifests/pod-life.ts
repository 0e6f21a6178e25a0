import { isDeepStrictEqual } from 'node:util';
import { deepFreeze } from '../../../src/api/deep-freeze';
import type { Pod } from '../../../src/api/pod';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import type { Clock } from '../../lib/clock';
import type { Events } from '../cluster';
import { refOf, timestamp } from '../object-source';
import type { PodRunner, RunningPod } from '../pod-runner';
import type { ObjectStore } from './object-store';
import { type PodFacts, podStatus, withPortMap } from './pod-status';

// As the kubelet: the first restart at once, then 10 s doubling to 5 min, forgotten after 10 min of running.
const FIRST_BACK_OFF_MS = 10_000;
const LONGEST_BACK_OFF_MS = 300_000;
const FORGET_CRASHES_AFTER_MS = 600_000;
/** Kubernetes' default of `terminationGracePeriodSeconds`. */
const DEFAULT_GRACE_SECONDS = 30;

/** Pause before the restart that follows the `crashes`-th crash in a row, counted from 1. */
export function restartBackOffMs(crashes: number): number {
  return crashes <= 1 ? 0 : Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (crashes - 2));
}

/** What a pod's life needs of its surroundings. */
export interface PodSurroundings {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly runner: PodRunner;
  readonly events: Events;
  /** What runs in a pod, given the ModelServers and ModelRoutes of this moment. */
  readonly planEngine: (pod: Pod) => EnginePlan | undefined;
}

/** Something that happened to the pod's process, or that was asked of it. */
type Signal =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unready'; readonly message: string }
  | { readonly kind: 'exited'; readonly message: string }
  | { readonly kind: 'replan' }
  | { readonly kind: 'due' }
  | { readonly kind: 'stop' };

/** How one run of the process ended. */
type RunEnd =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'replanned' }
  | { readonly kind: 'crashed'; readonly message: string; readonly hadStarted: boolean };

/** One pod from start to removal: it runs, is restarted when it ends by itself, and is ended gracefully when asked. */
export class PodLife {
  /** Ready, or failed at least once since it was last ready. */
  isSettled = false;
  private facts: PodFacts = { stage: { kind: 'starting' }, restartCount: 0 };
  private plan: EnginePlan | undefined;
  private graceMs: number;
  private isStopping = false;
  private crashes = 0;
  private signals: Signal[] = [];
  private wake: (() => void) | undefined;

  constructor(
    private readonly parts: PodSurroundings,
    private readonly first: Pod,
  ) {
    this.graceMs = (first.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;
  }

  /** Runs the pod. Resolves when it was stopped and its object is gone. */
  async live(): Promise<void> {
    const { clock, store } = this.parts;
    while (!this.isStopping) {
      const startedAtMs = clock.monotonic();
      const end = await this.run();
      if (end.kind === 'stopped') break;
      if (end.kind === 'replanned') continue;
      if (clock.monotonic() - startedAtMs > FORGET_CRASHES_AFTER_MS) this.crashes = 0;
      this.crashes += 1;
      await this.backOff(end.message, end.hadStarted, restartBackOffMs(this.crashes));
    }
    const pod = this.current();
    if (pod !== undefined) store.remove(pod);
  }

  /** Asks for its end, as a graceful deletion does. @param graceMs at most; the pod's own grace period may be shorter. */
  stop(graceMs = Number.POSITIVE_INFINITY): void {
    this.graceMs = Math.min(this.graceMs, graceMs);
    if (this.isStopping) return;
    this.isStopping = true;
    const { store, clock } = this.parts;
    const pod = this.current();
    if (pod !== undefined) {
      const deletionTimestamp = timestamp(clock.now() + this.graceMs);
      store.update(pod, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
    }
    this.signal({ kind: 'stop' });
  }

  /** Restarts it in place when its engine is another one than when it started. */
  replan(): void {
    const pod = this.current();
    if (pod !== undefined && !this.isStopping && !isDeepStrictEqual(this.parts.planEngine(pod), this.plan)) {
      this.signal({ kind: 'replan' });
    }
  }

  private async run(): Promise<RunEnd> {
    const { runner, planEngine } = this.parts;
    const pod = this.current() ?? this.first;
    this.signals = this.signals.filter(({ kind }) => kind === 'stop');
    let running: RunningPod;
    try {
      this.plan = deepFreeze(planEngine(pod));
      running = await runner.start(pod, this.plan);
    } catch (error) {
      return { kind: 'crashed', message: messageOf(error), hadStarted: false };
    }
    // What a run that is over still says must not be taken for the next run's.
    let isOver = false;
    const tell = (signal: Signal): void => {
      if (!isOver) this.signal(signal);
    };
    running.ready.then(
      () => tell({ kind: 'ready' }),
      (error: unknown) => tell({ kind: 'unready', message: messageOf(error) }),
    );
    void running.exited.then(({ reason }) => tell({ kind: 'exited', message: reason }));
    this.write({ stage: { kind: 'running', isReady: false }, podIP: running.podIP, ports: running.ports });
    const end = await this.untilEnd(running);
    isOver = true;
    return end;
  }

  private async untilEnd(running: RunningPod): Promise<RunEnd> {
    for (;;) {
      const signal = await this.next();
      switch (signal.kind) {
        case 'ready':
          this.isSettled = true;
          this.write({ stage: { kind: 'running', isReady: true } });
          break;
        case 'due':
          break;
        case 'exited':
          return { kind: 'crashed', message: signal.message, hadStarted: true };
        case 'unready':
          await this.endProcess(running, 0);
          return { kind: 'crashed', message: signal.message, hadStarted: true };
        case 'replan':
          this.isSettled = false;
          this.write({ stage: { kind: 'running', isReady: false } });
          await this.endProcess(running, this.graceMs);
          return { kind: 'replanned' };
        case 'stop':
          await this.endProcess(running, this.graceMs);
          return { kind: 'stopped' };
      }
    }
  }

  private async endProcess(running: RunningPod, graceMs: number): Promise<void> {
    try {
      await running.stop(graceMs);
    } catch (error) {
      this.parts.events.note(this.current() ?? this.first, 'Warning', 'FailedKillPod', messageOf(error));
    }
  }

  private async backOff(message: string, hadStarted: boolean, pauseMs: number): Promise<void> {
    this.isSettled = true;
    this.write({
      stage: { kind: 'waiting', reason: hadStarted ? 'CrashLoopBackOff' : 'CreateContainerError', message },
      restartCount: this.facts.restartCount + (hadStarted ? 1 : 0),
    });
    const when = pauseMs === 0 ? 'at once' : `in ${pauseMs / 1000} s`;
    this.parts.events.note(this.current() ?? this.first, 'Warning', 'BackOff', `${message}; restarts ${when}`);
    if (pauseMs === 0) return;
    const timer = this.parts.clock.after(pauseMs, () => this.signal({ kind: 'due' }));
    while (!this.isStopping) {
      const { kind } = await this.next();
      if (kind === 'due' || kind === 'replan') break;
    }
    timer.cancel();
  }

  private signal(signal: Signal): void {
    this.signals.push(signal);
    this.wake?.();
  }

  private async next(): Promise<Signal> {
    if (this.signals.length === 0) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = undefined;
    }
    return this.signals.shift()!;
  }

  private current(): Pod | undefined {
    return this.parts.store.same(refOf(this.first), this.first.metadata.uid) as Pod | undefined;
  }

  private write(facts: Partial<PodFacts>): void {
    this.facts = { ...this.facts, ...facts };
    const pod = this.current();
    if (pod === undefined) return;
    const annotations = withPortMap(pod.metadata.annotations, this.facts.ports);
    const next: Pod = {
      ...pod,
      metadata: { ...pod.metadata, ...(annotations === undefined ? {} : { annotations }) },
      status: podStatus(pod, this.facts, this.parts.clock.now()),
    };
    this.parts.store.update(pod, next);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
