import type { ModelServer } from '../../../src/api/model-server';
import type { Clock } from '../../lib/clock';
import { refOf } from '../object-source';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { SleepersView } from '../views/sleepers-view';
import { LEASES, renewedMsOf, type WakeLease, wakeLease } from '../wake-lease';
import { type Sleeper, type WakeSignal, wakeLeaseName } from '../wake-signal';
import type { ObjectStore } from './object-store';

/** Wake leases of the workloads in the store. */
export class WakeAccess implements WakeSignal {
  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly sleepers: SleepersView,
  ) {}

  sleepersOf(server: ModelServer): readonly Sleeper[] {
    return this.sleepers.of(server);
  }

  async wake(sleeper: Sleeper): Promise<WriteOutcome> {
    const lease = wakeLease(sleeper, this.clock.now());
    const before = this.store.get(refOf(lease));
    const stored = before === undefined ? this.store.create(lease) : this.store.update(before, lease);
    return { kind: stored === before ? 'unchanged' : 'applied', version: stored.metadata.resourceVersion! };
  }

  /** When the target was last called, in milliseconds since the epoch. */
  async read(namespace: string, uid: string): Promise<ReadOutcome<number>> {
    const lease: WakeLease | undefined = this.store.get({ ...LEASES, namespace, name: wakeLeaseName(uid) });
    const renewedMs = lease && renewedMsOf(lease);
    return renewedMs === undefined ? { kind: 'gone' } : { kind: 'found', value: renewedMs };
  }
}
