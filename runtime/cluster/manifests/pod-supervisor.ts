import type { Pod } from '../../../src/api/pod';
import { PodLife, type PodSurroundings } from './pod-life';

/** Runs the pods that were given to it, each until it is stopped, and writes their status: what the kubelets do. */
export class PodSupervisor {
  private readonly lives = new Map<string, { readonly life: PodLife; readonly over: Promise<void> }>();

  constructor(private readonly parts: PodSurroundings) {}

  /** Runs `pod`, which is in the store. */
  start(pod: Pod): void {
    const uid = pod.metadata.uid!;
    if (this.lives.has(uid)) return;
    const life = new PodLife(this.parts, pod);
    const over = life.live().finally(() => this.lives.delete(uid));
    this.lives.set(uid, { life, over });
  }

  /** Ends a pod as a graceful deletion does; its object goes when its process is gone. One that never ran goes at once. */
  stop(pod: Pod): void {
    const entry = this.lives.get(pod.metadata.uid!);
    if (entry === undefined) this.parts.store.remove(pod);
    else entry.life.stop();
  }

  /** Restarts, in place, the pods whose engine is another one than when they started. */
  replan(): void {
    for (const { life } of this.lives.values()) life.replan();
  }

  /** Whether every pod is ready or has failed since it was last ready. */
  isSettled(): boolean {
    return [...this.lives.values()].every(({ life }) => life.isSettled);
  }

  /** Ends all pods and resolves when none runs. @param graceMs at most, in the cluster's clock. */
  async close(graceMs: number): Promise<void> {
    for (const { life } of this.lives.values()) life.stop(graceMs);
    await Promise.all([...this.lives.values()].map(({ over }) => over));
  }
}
