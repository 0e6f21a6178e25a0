import type { Clock, Timer } from '../../lib/clock';
import type { HandOffMetrics } from './hand-off-metrics';

interface Kept {
  readonly modelServer: string;
  readonly timer: Timer;
  readonly giveBack: () => void;
}

/** KV at prefill pods that decode did not fetch: nobody can use its memory until the engine's lease ends. */
export class KeptKv {
  private readonly kept = new Map<string, Set<Kept>>();

  constructor(
    private readonly clock: Clock,
    private readonly metrics: HandOffMetrics,
  ) {}

  /** Counts it as pending for `leaseMs`, and then as leaked. @param giveBack called when it is no longer there. */
  add(prefillId: string, modelServer: string, leaseMs: number, giveBack: () => void): void {
    const ofPod = this.kept.get(prefillId) ?? new Set();
    this.kept.set(prefillId, ofPod);
    this.metrics.pending(modelServer, 1);
    const timer = this.clock.after(leaseMs, () => {
      ofPod.delete(kept);
      if (ofPod.size === 0) this.kept.delete(prefillId);
      this.end(kept);
      this.metrics.leaked(modelServer);
    });
    const kept: Kept = { modelServer, timer, giveBack };
    ofPod.add(kept);
  }

  /** The pod is gone, and its memory with it. */
  forget(prefillId: string): void {
    const ofPod = this.kept.get(prefillId);
    this.kept.delete(prefillId);
    for (const kept of ofPod ?? []) this.end(kept);
  }

  close(): void {
    for (const prefillId of [...this.kept.keys()]) this.forget(prefillId);
  }

  private end({ modelServer, timer, giveBack }: Kept): void {
    timer.cancel();
    giveBack();
    this.metrics.pending(modelServer, -1);
  }
}
