import type { Clock, Timer } from '../../lib/clock';
import type { RetainedBlocks } from '../retained-blocks';
import type { HandOffStats } from './hand-off-stats';

const ENDLESS: Timer = { cancel: () => undefined };

interface Held {
  readonly retained: RetainedBlocks;
  timer: Timer;
}

/** Blocks that prefill keeps for decode, each until it was read or its lease ended. */
export class HeldBlocks {
  private readonly held = new Map<string, Held>();
  private readonly counters = { offered: 0, taken: 0, expired: 0, leakedBlocks: 0, lateReads: 0 };

  constructor(
    private readonly clock: Clock,
    /** Infinite: they are kept until somebody takes or drops them. */
    private readonly leaseMs: number,
  ) {}

  hold(id: string, retained: RetainedBlocks): void {
    this.counters.offered += 1;
    // An id that comes twice names the newer blocks.
    this.giveBack(id);
    this.held.set(id, { retained, timer: this.lease(id) });
  }

  has(id: string): boolean {
    return this.held.has(id);
  }

  /** Starts the lease of `id` again. */
  renew(id: string): void {
    const held = this.held.get(id);
    if (held === undefined) return;
    held.timer.cancel();
    held.timer = this.lease(id);
  }

  /** The blocks of `id` were read. When they are no longer kept, the reader may have got what somebody else wrote there. */
  take(id: string): void {
    if (this.giveBack(id)) this.counters.taken += 1;
    else this.counters.lateReads += 1;
  }

  /** Nobody will read them. */
  drop(id: string): void {
    this.giveBack(id);
  }

  dropAll(): void {
    for (const id of [...this.held.keys()]) this.giveBack(id);
  }

  stats(): HandOffStats {
    return { ...this.counters, held: this.held.size };
  }

  private lease(id: string): Timer {
    if (!Number.isFinite(this.leaseMs)) return ENDLESS;
    return this.clock.after(this.leaseMs, () => {
      const held = this.held.get(id);
      if (held === undefined) return;
      this.counters.expired += 1;
      this.counters.leakedBlocks += held.retained.blocks.length;
      this.giveBack(id);
    });
  }

  private giveBack(id: string): boolean {
    const held = this.held.get(id);
    if (held === undefined) return false;
    this.held.delete(id);
    held.timer.cancel();
    held.retained.release();
    return true;
  }
}
