import type { Clock, Timer } from './clock';

/**
 * The machine's clock, `speed` times as fast: at speed 20 a five-minute window passes in 15 real seconds.
 *
 * @param speed 1 is real time; any positive number.
 */
export function wallClock(speed = 1): Clock {
  const startEpoch = Date.now();
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) * speed;
  return {
    now: () => startEpoch + elapsed(),
    monotonic: elapsed,
    after(delayMs, callback): Timer {
      const handle = setTimeout(callback, Math.max(0, delayMs) / speed);
      handle.unref();
      return { cancel: () => clearTimeout(handle) };
    },
  };
}
