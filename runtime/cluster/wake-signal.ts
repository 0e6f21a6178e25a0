import type { ModelServer } from '../../src/api/model-server';
import type { WriteOutcome } from './outcome';
import type { TargetRef } from './scaling';

/** A workload that could have pods of a ModelServer. */
export interface Sleeper {
  readonly target: TargetRef;
  readonly uid: string;
  /** Whether it asks for no pods; otherwise they are on their way, or broken. */
  readonly isAsleep: boolean;
}

/** Name of the Lease that says that requests wait for a target. */
export function wakeLeaseName(uid: string): string {
  return `kvasir-wake-${uid}`;
}

/** How long after its renewal a wake lease still says that somebody waits. */
export const WAKE_LEASE_SECONDS = 15;

/** Says that requests wait for targets whose replicas are zero. */
export interface WakeSignal {
  /** Workloads whose pods a ModelServer selects, from cache. */
  sleepersOf(server: ModelServer): readonly Sleeper[];
  /** Writes or renews the target's wake lease. At most one call in 5 s for each target is the caller's part. */
  wake(sleeper: Sleeper): Promise<WriteOutcome>;
}
