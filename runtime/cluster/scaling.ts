import type { ReadOutcome, WriteOutcome } from './outcome';

/** An object with a `/scale` subresource. */
export interface TargetRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the `/scale` subresource of a target says. */
export interface Scale {
  readonly uid: string;
  /** Replicas asked for (`spec.replicas`, 1 when absent). */
  readonly desired: number;
  /** Replicas that exist (`status.replicas`). */
  readonly actual: number;
  /** Labels of the target's pods. */
  readonly selector: Readonly<Record<string, string>>;
  /** resourceVersion; a later `set` with it fails with `conflict` when somebody else wrote in between. */
  readonly version: string;
}

/** Reads and writes replicas. Always from and to the source of truth, never from a cache. */
export interface Scaling {
  read(target: TargetRef): Promise<ReadOutcome<Scale>>;
  set(target: TargetRef, replicas: number, version: string): Promise<WriteOutcome>;
  /** Replicas of several roles of a ModelServing, all or none. */
  setRoles(target: TargetRef, replicas: Readonly<Record<string, number>>, version: string): Promise<WriteOutcome>;
}
