import type { ReadOutcome, WriteOutcome } from './outcome';
import type { TargetRef } from './scaling';

/** Which leader a target was last decided on by. */
export interface TargetEpoch {
  readonly uid: string;
  /** resourceVersion; a later `stamp` with it fails with `conflict` when somebody else wrote in between. */
  readonly version: string;
  /** Absent where no leader has stamped it. */
  readonly epoch?: string;
}

/**
 * Marks of leaders on targets. A stamp changes the version of the target, so that every write that an earlier leader decided on before
 * meets a conflict, however late it comes.
 */
export interface Epochs {
  read(target: TargetRef): Promise<ReadOutcome<TargetEpoch>>;
  stamp(target: TargetRef, epoch: string, version: string): Promise<WriteOutcome>;
}
