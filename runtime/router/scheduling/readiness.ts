import type { Clock, Timer } from '../../lib/clock';

const READY_POLL_MS = 50;

/** Latches once a condition holds. The condition may come true without a sign, so it is also asked from time to time. */
export class Readiness {
  private ready = false;
  private timer: Timer | undefined;
  private readonly waiters: (() => void)[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly condition: () => boolean,
  ) {
    this.poll();
  }

  isReady(): boolean {
    return this.check();
  }

  whenReady(): Promise<void> {
    return new Promise((resolve) => {
      this.waiters.push(resolve);
      this.check();
    });
  }

  check(): boolean {
    if (!this.ready && this.condition()) {
      this.ready = true;
      this.close();
    }
    if (this.ready) for (const resolve of this.waiters.splice(0)) resolve();
    return this.ready;
  }

  close(): void {
    this.timer?.cancel();
  }

  private poll(): void {
    this.timer = this.clock.after(READY_POLL_MS, () => {
      if (!this.check()) this.poll();
    });
  }
}
