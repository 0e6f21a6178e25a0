/** A timer that was set on a clock. */
export interface Timer {
  cancel(): void;
}

/**
 * Time as the parts of an image see it. Real images use `wallClock()`; `preview --speed` uses a faster one; replay and tests use
 * `VirtualClock`. All figures are in this clock's own milliseconds.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. Deadlines and intervals use this one. */
  monotonic(): number;
  /** Runs `callback` once, `delayMs` from now. Such a timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

/** Resolves `delayMs` later, or at once when `signal` is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.after(delayMs, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
