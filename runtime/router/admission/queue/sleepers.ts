import type { Objects } from '../../../cluster/objects';
import type { Sleeper, WakeSignal } from '../../../cluster/wake-signal';
import type { Clock } from '../../../lib/clock';
import type { Logger } from '../../../lib/logger';

/** Least time between two writes of one target's lease. */
export const RENEW_MS = 5_000;
/** How long a model takes to start where none was seen yet: a pod, its weights, a warm-up. */
const FIRST_START_MS = 120_000;
/** Weight of the newest start in the running average. */
const NEWEST_WEIGHT = 0.3;

/** A start that is late is expected to take as much longer, of the time that it took so far. */
const OVERDUE_RATIO = 0.25;

export interface SleepersOptions {
  readonly wake: WakeSignal;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly log: Logger;
}

/** ModelServers without a ready pod whose workload sleeps or starts, and the leases that wake them. */
export class Sleepers {
  private readonly writtenMs = new Map<string, number>();
  /** Since when somebody waits, by ModelServer. */
  private readonly sinceMs = new Map<string, number>();
  private startMs = FIRST_START_MS;

  constructor(private readonly options: SleepersOptions) {}

  /** Whether pods of a ModelServer that has none ready can be waited for. @param server `namespace/name`. */
  canWake(server: string): boolean {
    return this.of(server).length > 0;
  }

  /** Somebody waits for a ModelServer without ready pods: its sleeping workloads are to wake. */
  signal(server: string): void {
    const { clock, wake, log } = this.options;
    const nowMs = clock.monotonic();
    if (!this.sinceMs.has(server)) this.sinceMs.set(server, nowMs);
    for (const sleeper of this.of(server)) {
      const written = this.writtenMs.get(sleeper.uid);
      if (written !== undefined && nowMs - written < RENEW_MS) continue;
      this.writtenMs.set(sleeper.uid, nowMs);
      void wake.wake(sleeper).then(
        (outcome) => {
          if (outcome.kind !== 'applied' && outcome.kind !== 'unchanged') {
            log.warn({ target: sleeper.target, outcome: outcome.kind }, 'a wake lease could not be written');
          }
        },
        (error: unknown) => log.error({ err: error, target: sleeper.target }, 'a wake lease could not be written'),
      );
    }
  }

  /** A ModelServer that was waited for has pods again. */
  woke(server: string): void {
    const since = this.sinceMs.get(server);
    if (since === undefined) return;
    this.forget(server);
    this.startMs += NEWEST_WEIGHT * (this.options.clock.monotonic() - since - this.startMs);
  }

  /** Nobody waits any more. */
  forget(server: string): void {
    this.sinceMs.delete(server);
    for (const { uid } of this.of(server)) this.writtenMs.delete(uid);
  }

  /** Milliseconds until a ModelServer that is waited for is expected to have pods: as starts took lately, and longer once it is late. */
  expectedMs(server: string): number {
    const since = this.sinceMs.get(server);
    if (since === undefined) return this.startMs;
    const waitedMs = this.options.clock.monotonic() - since;
    return Math.max(this.startMs - waitedMs, OVERDUE_RATIO * waitedMs);
  }

  private of(server: string): readonly Sleeper[] {
    const { objects, wake } = this.options;
    const slash = server.indexOf('/');
    const object = objects.get('ModelServer', server.slice(0, slash), server.slice(slash + 1));
    return object === undefined ? [] : wake.sleepersOf(object);
  }
}
