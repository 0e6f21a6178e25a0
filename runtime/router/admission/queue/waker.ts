import type { Clock, Timer } from '../../../lib/clock';
import type { Rooms } from '../../endpoints/pod-rooms';
import type { QueueLane } from './queue-lane';

export interface WakerOptions {
  readonly rooms: Rooms;
  readonly clock: Clock;
  /** How long room that a pod released is kept for whoever comes next. */
  readonly graceMs: number;
  /** Lanes in which somebody waits. */
  readonly lanes: () => Iterable<QueueLane>;
  /** Lets everybody go who can. @param clusterChanged whether routes or pods changed since the last call. */
  readonly wake: (clusterChanged: boolean) => void;
}

/** A timer that is due sooner is as good as this. */
const LEAST_TIMER_MS = 1;

/** Knows when somebody who waits may have room: after a release, at the modelled end of a prefill, and when the cluster changed. */
export class Waker {
  private unwatch: (() => void) | undefined;
  private timer: Timer | undefined;
  private isSet = false;
  private clusterChanged = false;

  constructor(private readonly options: WakerOptions) {}

  /** Somebody waits. */
  begin(): void {
    this.unwatch ??= this.options.rooms.watch((servers) => this.changed(servers));
    this.soon();
  }

  /** Nobody waits any more. */
  end(): void {
    this.unwatch?.();
    this.unwatch = undefined;
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Room was released otherwise than by a pod. */
  released(): void {
    if (this.unwatch !== undefined) this.soon(this.options.graceMs);
  }

  /** In a later turn: what released room may be in the middle of something, and more may follow. */
  soon(afterMs = 0): void {
    if (this.isSet) return;
    this.isSet = true;
    if (afterMs > 0) this.options.clock.after(afterMs, () => this.wake());
    else queueMicrotask(() => this.wake());
  }

  private wake(): void {
    this.isSet = false;
    if (this.unwatch === undefined) return;
    const { clusterChanged } = this;
    this.clusterChanged = false;
    this.options.wake(clusterChanged);
    if (this.unwatch !== undefined) this.setTimer();
  }

  private changed(servers: readonly string[] | undefined): void {
    if (servers === undefined) {
      this.clusterChanged = true;
      this.soon();
      return;
    }
    for (const lane of this.options.lanes()) {
      if (!lane.servers.some((server) => servers.includes(server))) continue;
      this.soon(this.options.graceMs);
      return;
    }
  }

  private setTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
    let least: number | undefined;
    for (const lane of this.options.lanes()) {
      const ms = lane.msUntilOpen(this.options.rooms);
      if (ms !== undefined && (least === undefined || ms < least)) least = ms;
    }
    if (least !== undefined) this.timer = this.options.clock.after(Math.max(least, LEAST_TIMER_MS), () => this.soon());
  }
}
