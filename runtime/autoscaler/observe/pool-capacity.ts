import type { Objects } from '../../cluster/objects';
import type { TargetRef } from '../../cluster/scaling';
import type { Workloads } from '../../cluster/workloads';
import { type PoolEngine, poolEngine } from './pool-engine';
import { replicaEngines } from './replica-engines';

/** A batch that engines of all sizes reach, and a context that chats have in the middle: where pools are compared. Assumptions. */
const SEQUENCES = 32;
const CONTEXT_TOKENS = 1024;

/**
 * Tokens per second that one replica of a target generates, by the catalogue: sequences of a batch ÷ time of one step.
 *
 * @returns undefined when its pods run no engine or several that are not alike, or name no accelerator of the catalogue.
 */
export function poolCapacity(
  target: TargetRef,
  view: { readonly objects: Objects; readonly workloadPods: Workloads },
): number | undefined {
  const engine = poolEngine(target, view);
  const engines = replicaEngines(target, view);
  return engine && engines && engines * tokensPerSecond(engine);
}

/** Of one engine, as `poolCapacity`. */
export function tokensPerSecond({ stepTime: { baseMs, perSequenceMs, perKvTokenMs } }: PoolEngine): number {
  const stepMs = baseMs + SEQUENCES * (perSequenceMs + CONTEXT_TOKENS * perKvTokenMs);
  return (SEQUENCES * 1000) / stepMs;
}
