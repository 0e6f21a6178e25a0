import type { Finding } from '../../../src/errors';
import { type Clock, sleep } from '../../lib/clock';
import type { Logger } from '../../lib/logger';
import type { Contest, Leadership } from '../cluster';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import {
  afterEvent,
  ELECTION_START,
  type ElectionEvent,
  type ElectionRules,
  type ElectionState,
  type ElectionStep,
  type Ending,
  leads,
  nextStep,
  standsBy,
} from './election-state';
import type { LeaseRecord, ReadLease } from './lease-record';

/** Where the Lease is kept. No call throws. */
export interface LeaseStore {
  /** `namespace/name`, for people. */
  readonly name: string;
  read(timeoutMs: number): Promise<ReadOutcome<ReadLease>>;
  /** @param version that the Lease must still have; undefined: there must be none. */
  write(record: LeaseRecord, version: string | undefined, timeoutMs: number): Promise<WriteOutcome>;
}

export interface ElectionOptions {
  readonly rules: ElectionRules;
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Takes part in an election by a Lease until this process leads, then holds the lease until it is released or lost. Nothing is asked of the
 * clocks of others: a standby measures by its own how long the lease has not changed, and the leader by its own how long ago it sent its
 * last good renewal.
 */
export class Election implements Leadership, Contest {
  readonly contest: Contest = this;
  readonly lost: Promise<Finding>;
  private state: ElectionState = ELECTION_START;
  private lose: (finding: Finding) => void = () => undefined;
  private readonly ending = new AbortController();
  private running: Promise<void> | undefined;

  constructor(private readonly options: ElectionOptions) {
    this.lost = new Promise((resolve) => {
      this.lose = resolve;
    });
  }

  start(): void {
    this.running ??= this.run();
  }

  held(): boolean {
    return leads(this.state, this.options.clock.monotonic());
  }

  epoch(): string | undefined {
    if (this.state.kind !== 'leading' || !this.held()) return undefined;
    return `${this.state.record.transitions}/${this.options.rules.identity}`;
  }

  standsBy(): boolean {
    return standsBy(this.state, this.options.rules, this.options.clock.monotonic());
  }

  concede(finding: Finding): void {
    if (this.state.kind === 'over') return;
    this.state = { kind: 'over', ending: { kind: 'released' } };
    this.ending.abort();
    this.lose(finding);
  }

  /** Ends taking part. A leader gives the lease back, so that the next one need not wait; it must have nothing on its way any more. */
  async release(): Promise<void> {
    this.ending.abort();
    await this.running;
    const { state, options } = this;
    const { clock, store, rules, log } = options;
    this.state = afterEvent(state, { kind: 'released' }, rules);
    if (state.kind !== 'leading' || state.phase.kind === 'read' || state.phase.version === undefined) return;
    if (clock.monotonic() >= state.deadlineMs) return;
    const outcome = await store.write({ ...state.record, holder: undefined }, state.phase.version, this.timeoutMs());
    if (outcome.kind === 'applied') log.info({ lease: store.name }, 'the lease was given back');
    else
      log.warn({ lease: store.name, outcome: outcome.kind }, 'the lease could not be given back; the next leader waits it out');
  }

  private async run(): Promise<void> {
    const { clock, rules } = this.options;
    while (!this.ending.signal.aborted) {
      const step = nextStep(this.state, rules, clock.monotonic(), clock.now());
      if (step.kind === 'end') return;
      const event = await this.carryOut(step);
      // It may have ended meanwhile.
      if (this.state.kind === 'over') return;
      this.enter(afterEvent(this.state, event, rules));
    }
  }

  private async carryOut(step: Exclude<ElectionStep, { kind: 'end' }>): Promise<ElectionEvent> {
    const { clock, store } = this.options;
    switch (step.kind) {
      case 'wait':
        await sleep(clock, step.ms, this.ending.signal);
        return { kind: 'woke', atMs: clock.monotonic() };
      case 'read': {
        const outcome = await store.read(this.timeoutMs());
        return { kind: 'read', atMs: clock.monotonic(), outcome };
      }
      case 'write': {
        const { record, version } = step;
        const sentMs = clock.monotonic();
        const outcome = await store.write(record, version, this.timeoutMs());
        return { kind: 'written', sentMs, atMs: clock.monotonic(), record, outcome };
      }
    }
  }

  /** A connection that hangs leaves time for another try, and none lasts beyond the deadline. */
  private timeoutMs(): number {
    const { clock, rules } = this.options;
    const half = rules.renewDeadlineMs / 2;
    const left = this.state.kind === 'leading' ? this.state.deadlineMs - clock.monotonic() : half;
    return Math.max(1, Math.min(half, left));
  }

  private enter(state: ElectionState): void {
    const { state: before, options } = this;
    const { log, store, rules } = options;
    const lease = store.name;
    this.state = state;
    if (state.kind === 'over') {
      if (before.kind === 'leading') this.lose(findingOf(state.ending, lease, rules));
      return;
    }
    const earlier = before.kind === 'over' ? undefined : before.trouble;
    if (state.trouble !== undefined && state.trouble !== earlier) {
      log.warn({ lease, trouble: state.trouble }, 'the lease cannot be read or written; trying again');
    }
    if (state.kind === 'leading') {
      if (before.kind !== 'leading') log.info({ lease, epoch: this.epoch() }, 'this process leads');
    } else if (state.seen !== undefined) {
      const { holder } = state.seen.lease;
      const known = before.kind === 'standby' ? before.seen?.lease.holder : undefined;
      if (holder !== undefined && holder !== rules.identity && holder !== known)
        log.info({ lease, leader: holder }, 'standing by');
    }
  }
}

function findingOf(ending: Ending, lease: string, { renewDeadlineMs }: ElectionRules): Finding {
  const place = { severity: 'error', object: `Lease ${lease}` } as const;
  if (ending.kind === 'taken') {
    const message = `${ending.by} leads now, so this process ends`;
    return { ...place, code: 'leader/taken', message, remedy: 'it stands by when it is started again' };
  }
  const why = ending.kind === 'late' ? ending.trouble : 'it was released';
  return {
    ...place,
    code: 'leader/late',
    message: `was not renewed within ${renewDeadlineMs} ms (${why}), so this process leads no more and ends`,
    remedy: 'it stands by when it is started again; see that the API server answers',
  };
}
