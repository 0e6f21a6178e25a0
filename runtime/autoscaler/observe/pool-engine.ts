import { createHash } from 'node:crypto';
import type { Pod } from '../../../src/api/pod';
import type { Engine } from '../../../src/catalog/engines/engine';
import { ENGINES } from '../../../src/catalog/engines/engine-table';
import type { StepTime } from '../../../src/catalog/step-time';
import type { EnginePlan } from '../../../src/expand/engine-plan';
import { sizeEngine } from '../../../src/expand/engine-sizing';
import { planEngine } from '../../../src/expand/plan-engine';
import { Labels } from '../../../src/labels';
import type { Objects } from '../../cluster/objects';
import type { TargetRef } from '../../cluster/scaling';
import type { Workloads } from '../../cluster/workloads';
import type { CapacityPrior } from '../decide/capacity/learn-capacity';
import type { TrafficMix } from '../decide/capacity/step-model';

/** Sequences in a batch where a flag names none: vLLM's for its API server on recent GPUs. */
const MAX_SEQUENCES = 256;

type View = { readonly objects: Objects; readonly workloadPods: Workloads };

/** The engine that the pods of a target run, by their template. */
export interface PoolEngine {
  readonly engine: Engine;
  readonly port: number;
  /** Changes with everything that may change its speed. */
  readonly revision: string;
  readonly stepTime: StepTime;
  /** Tokens of KV cache. */
  readonly kvTokens: number;
  readonly maxSequences: number;
  readonly ranks: number;
}

/**
 * @param role of the target whose pods are meant; undefined: all of them.
 * @returns undefined when the pods of the target run no engine, or name no accelerator of the catalogue.
 */
export function poolEngine(target: TargetRef, view: View, role?: string): PoolEngine | undefined {
  const context = contextOf(view);
  for (const pod of view.workloadPods.podsOf(target)) {
    if (role !== undefined && pod.metadata.labels?.[Labels.modelServingRole] !== role) continue;
    const plan = planEngine(pod as Pod, context);
    if (plan?.accelerator === undefined) continue;
    const { stepTime, kvCapacityTokens } = sizeEngine(plan);
    return {
      engine: ENGINES[plan.engine],
      port: plan.port,
      revision: revisionOf(plan),
      stepTime,
      kvTokens: kvCapacityTokens,
      maxSequences: plan.maxNumSeqs ?? MAX_SEQUENCES,
      ranks: plan.dataParallelSize ?? 1,
    };
  }
  return undefined;
}

/** Those of `pods` that run the revision that the template of their target has now. */
export function podsOfRevision(pods: readonly Pod[], revision: string, view: View): readonly Pod[] {
  const context = contextOf(view);
  return pods.filter((pod) => {
    const plan = planEngine(pod, context);
    return plan !== undefined && revisionOf(plan) === revision;
  });
}

/** What the catalogue says of the engine under requests of `mix`. */
export function priorOf({ stepTime, kvTokens, maxSequences, ranks }: PoolEngine, mix: TrafficMix): CapacityPrior {
  const contextTokens = mix.promptTokens + mix.outputTokens / 2;
  return {
    step: {
      baseMs: stepTime.baseMs,
      perSequenceMs: stepTime.perSequenceMs + contextTokens * stepTime.perKvTokenMs,
      perPrefillTokenMs: stepTime.perPrefillTokenMs,
    },
    room: { maxSequences, kvTokens },
    ranks,
  };
}

function contextOf({ objects }: View): Parameters<typeof planEngine>[1] {
  return { modelServers: objects.list('ModelServer'), modelRoutes: objects.list('ModelRoute') };
}

/** What clients call the model and how they are let in changes no speed. */
function revisionOf({ servedModelNames: _names, adapters: _adapters, apiKey: _key, port: _port, ...plan }: EnginePlan): string {
  return createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 10);
}
