import type { Pod } from '../../src/api/pod';
import type { EnginePlan } from '../../src/expand/engine-plan';

/** A pod that a runner started. */
export interface RunningPod {
  readonly podIP: string;
  /** Container port → port that really listens, when they differ. */
  readonly ports?: Readonly<Record<number, number>>;
  /** Resolves when the pod is ready to serve; rejects when it cannot start, with a sentence for its status. */
  readonly ready: Promise<void>;
  /** Resolves when the pod's process ended by itself or was killed; the cluster restarts it. Never resolves after `stop`. */
  readonly exited: Promise<{ readonly reason: string }>;
  /** Ends it as SIGTERM does, and at the latest after `graceMs` of the cluster's clock. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
}

/** Runs the pods of a manifest cluster. The CLI supplies one that runs simulated engines. */
export interface PodRunner {
  /** @param engine undefined for a pod that is no engine (a sidecar, a job): it may be treated as ready at once. */
  start(pod: Pod, engine: EnginePlan | undefined): Promise<RunningPod>;
}
