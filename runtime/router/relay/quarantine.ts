import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock';

/** Bodies remembered at one time; the oldest goes first. */
const MAX_BODIES = 1_000;

/** Bodies that cost two endpoints their life: the same bytes must not walk the whole fleet. Empty in every healthy hour, and free then. */
export class Quarantine {
  private readonly untilMs = new Map<string, number>();

  constructor(
    private readonly clock: Clock,
    /** Of bodies that are added from now on. */
    public durationMs: number,
  ) {}

  holds(body: Buffer): boolean {
    if (this.untilMs.size === 0) return false;
    const key = digest(body);
    const until = this.untilMs.get(key);
    if (until === undefined) return false;
    if (until > this.clock.monotonic()) return true;
    this.untilMs.delete(key);
    return false;
  }

  add(body: Buffer): void {
    if (this.durationMs <= 0) return;
    if (this.untilMs.size >= MAX_BODIES) this.untilMs.delete(this.untilMs.keys().next().value!);
    this.untilMs.set(digest(body), this.clock.monotonic() + this.durationMs);
  }
}

function digest(body: Buffer): string {
  return createHash('sha256').update(body).digest('base64');
}
