/** What a client may do now and then, and an attacker does all the time. */
const BURST = 200;
/** A gateway that carries thousands of clients on one connection loses some of them every second. */
const PER_SECOND = 50;

/**
 * Counts what costs a server more than the client: streams that are reset before their answer began, pings, settings. An idle
 * connection earns 50 a second, up to 200.
 */
export class FloodGuard {
  private left = BURST;
  private atMs: number;

  constructor(nowMs: number) {
    this.atMs = nowMs;
  }

  /** @returns false when it was too much. */
  allows(nowMs: number): boolean {
    this.left = Math.min(BURST, this.left + ((nowMs - this.atMs) / 1000) * PER_SECOND) - 1;
    this.atMs = nowMs;
    return this.left >= 0;
  }
}
