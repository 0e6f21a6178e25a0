import type { ReadOutcome } from './outcome';
import type { TargetRef } from './scaling';

/** A target for which requests waited. */
export interface WakeRequest {
  readonly target: Pick<TargetRef, 'kind' | 'namespace' | 'name'>;
  readonly uid: string;
  /** When a router last said so, in milliseconds since the epoch. */
  readonly renewedMs: number;
}

/** Sees what routers say through `WakeSignal`. */
export interface WakeRequests {
  /** All of them, old ones too, from cache. */
  list(): readonly WakeRequest[];
  /** When a router last called the target, in milliseconds since the epoch, from the source of truth and not from a cache; `gone`: never. */
  read(namespace: string, uid: string): Promise<ReadOutcome<number>>;
  /** Calls `listener` in a later turn after a router said so, once for those that come together. @returns a function that ends it. */
  changed(listener: () => void): () => void;
}
