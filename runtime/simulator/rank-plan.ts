import type { EnginePlan } from '../../src/expand/engine-plan';

/** One data-parallel copy of a plan's model as a plan of its own: its share of the pod's GPUs, by which it is sized. */
export function rankPlan(plan: EnginePlan): EnginePlan {
  const ranks = plan.dataParallelSize ?? 1;
  return ranks === 1 ? plan : { ...plan, gpus: Math.floor(plan.gpus / ranks), dataParallelSize: 1 };
}
