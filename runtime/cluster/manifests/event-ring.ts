import type { KubeObject } from '../../../src/api/meta';
import type { Clock } from '../../lib/clock';
import type { Events } from '../cluster';
import { timestamp } from '../object-source';

/** One Kubernetes Event; repeats of it are counted, not listed. */
export interface NotedEvent {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** RFC 3339. */
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
}

const CAPACITY = 1000;

/** The newest 1000 events, the oldest forgotten first. */
export class EventRing implements Events {
  private readonly events = new Map<string, NotedEvent>();

  constructor(private readonly clock: Clock) {}

  note(regarding: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { kind } = regarding;
    const { namespace = 'default', name, uid } = regarding.metadata;
    const key = JSON.stringify([kind, namespace, name, uid, type, reason, message]);
    const now = timestamp(this.clock.now());
    const before = this.events.get(key);
    this.events.delete(key);
    this.events.set(key, {
      kind,
      namespace,
      name,
      type,
      reason,
      message,
      count: (before?.count ?? 0) + 1,
      firstTimestamp: before?.firstTimestamp ?? now,
      lastTimestamp: now,
    });
    if (this.events.size > CAPACITY) this.events.delete(this.events.keys().next().value!);
  }

  /** Oldest first, by their last repeat. */
  list(): readonly NotedEvent[] {
    return [...this.events.values()];
  }
}
