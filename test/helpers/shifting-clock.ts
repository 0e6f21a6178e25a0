import type { Clock, Timer } from '../../runtime/lib/clock';

/** A wall clock whose speed can change: timers keep the speed at which they were set. */
export class ShiftingClock implements Clock {
  private base = 0;
  private realBase = performance.now();

  constructor(private speed: number) {}

  shift(speed: number): void {
    this.base = this.monotonic();
    this.realBase = performance.now();
    this.speed = speed;
  }

  now(): number {
    return Date.UTC(2026, 0, 1) + this.monotonic();
  }

  monotonic(): number {
    return this.base + (performance.now() - this.realBase) * this.speed;
  }

  after(delayMs: number, callback: () => void): Timer {
    const handle = setTimeout(callback, Math.max(0, delayMs) / this.speed);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  }
}
