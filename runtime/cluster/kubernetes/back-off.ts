import type { Random } from '../../lib/random';

const FIRST_MS = 250;
const LONGEST_MS = 10_000;

/** Growing waits between tries, each a random part of its step, so that many clients do not come back at once. */
export class BackOff {
  private failures = 0;

  constructor(private readonly random: Random) {}

  /** How long to wait now, in milliseconds. @param leastMs what the server asked for. */
  next(leastMs = 0): number {
    const step = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(this.failures, 16));
    this.failures += 1;
    return leastMs + step * (0.5 + this.random.next() / 2);
  }

  reset(): void {
    this.failures = 0;
  }
}
