import type { ListenAddress } from '../lib/http-listen';
import type { EngineStats } from './core/engine-stats';
import type { EngineCore } from './engine-core';
import type { Faults } from './faults';
import type { HandOffStats } from './kv/hand-off-stats';

/** An engine that listens. */
export interface RunningEngine {
  readonly host: string;
  readonly port: number;
  /** Where its KV side channel or bootstrap server listens. */
  readonly kvAddress?: ListenAddress;
  /** The first rank's. */
  readonly core: EngineCore;
  /** One for each data-parallel rank. */
  readonly ranks: readonly EngineCore[];
  readonly faults: Faults;
  /** Resolves when the engine ended without being stopped: killed, or after its core died. Never after `stop`. */
  readonly exited: Promise<{ readonly reason: string }>;
  /**
   * Ends it as SIGTERM ends the recorded engines, and as SIGKILL after `graceMs` of its clock. With a shutdown timeout, running requests
   * finish and new ones get a 500; without one, running streams get nothing more and the socket closes a moment later.
   */
  stop(graceMs: number): Promise<void>;
  /** Ends it as a node failure does: every connection is cut at once. */
  kill(): void;
  /** Of all ranks together. */
  stats(): EngineStats;
  /** What became of the KV that it kept for other engines. */
  handOffs(): HandOffStats;
}
