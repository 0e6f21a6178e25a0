import type { ObjectSource } from '../object-source';
import type { ReadOutcome } from '../outcome';
import { isWakeLease, LEASES, wakeRequestOf } from '../wake-lease';
import type { WakeRequest, WakeRequests } from '../wake-requests';

/** The wake leases of a source, as the autoscaler reads them. */
export class WakeRequestsView implements WakeRequests {
  private readonly listeners = new Set<() => void>();
  private delivery: NodeJS.Immediate | undefined;
  private readonly unlisten: () => void;

  /** @param read reads one from the source of truth. */
  constructor(
    private readonly source: ObjectSource,
    readonly read: (namespace: string, uid: string) => Promise<ReadOutcome<number>>,
  ) {
    this.unlisten = source.listen((object, change) => {
      if (change === 'put' && isWakeLease(object)) this.note();
    });
  }

  list(): readonly WakeRequest[] {
    return [...this.source.list(LEASES)].flatMap((lease) => (isWakeLease(lease) ? (wakeRequestOf(lease) ?? []) : []));
  }

  changed(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  close(): void {
    this.unlisten();
    this.listeners.clear();
    if (this.delivery !== undefined) clearImmediate(this.delivery);
  }

  private note(): void {
    if (this.listeners.size === 0) return;
    this.delivery ??= setImmediate(() => {
      this.delivery = undefined;
      for (const listener of [...this.listeners]) listener();
    });
  }
}
