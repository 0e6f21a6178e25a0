import type { Pod } from '../../../src/api/pod';
import { sizeEngine } from '../../../src/expand/engine-sizing';
import { planEngine } from '../../../src/expand/plan-engine';
import type { Objects } from '../../cluster/objects';
import type { TargetRef } from '../../cluster/scaling';
import type { Workloads } from '../../cluster/workloads';

/** A batch that engines of all sizes reach, and a context that chats have in the middle: where pools are compared. Assumptions. */
const SEQUENCES = 32;
const CONTEXT_TOKENS = 1024;

/**
 * Tokens per second that one replica of a target generates, by the catalogue: sequences of a batch ÷ time of one step.
 *
 * @returns undefined when its pods run no engine, or name no accelerator of the catalogue.
 */
export function poolCapacity(
  target: TargetRef,
  { objects, workloadPods }: { readonly objects: Objects; readonly workloadPods: Workloads },
): number | undefined {
  const context = { modelServers: objects.list('ModelServer'), modelRoutes: objects.list('ModelRoute') };
  for (const pod of workloadPods.podsOf(target)) {
    const plan = planEngine(pod as Pod, context);
    if (plan?.accelerator === undefined) continue;
    const { baseMs, perSequenceMs, perKvTokenMs } = sizeEngine(plan).stepTime;
    const stepMs = baseMs + SEQUENCES * (perSequenceMs + CONTEXT_TOKENS * perKvTokenMs);
    return (SEQUENCES * 1000) / stepMs;
  }
  return undefined;
}
