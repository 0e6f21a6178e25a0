import type { Pod } from '../../../src/api/pod';

/** A target as it was read, and the version that a later write must still find. */
export interface TargetHandle {
  readonly uid: string;
  readonly version: string;
  /** Its pods that serve, ready or not. */
  readonly pods: readonly Pod[];
  /** Whether pods of two revisions are there. */
  readonly isRollingOut: boolean;
}
