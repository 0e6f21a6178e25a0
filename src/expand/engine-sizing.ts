import { type Accelerator, acceleratorNamed, DEFAULT_ACCELERATOR } from '../catalog/accelerators';
import { type ModelShape, modelShapeOrDefault } from '../catalog/models';
import {
  DEFAULT_MEMORY_UTILIZATION,
  gpusNeeded,
  kvCapacityTokens,
  loadTimeMs,
  type StepTime,
  stepTimeOf,
} from '../catalog/step-time';
import type { EnginePlan } from './engine-plan';

/** How fast and how large an engine is, by the catalogue. */
export interface EngineSizing {
  readonly shape: ModelShape;
  readonly accelerator: Accelerator;
  /** Accelerators that work together on one copy of the model. */
  readonly gpus: number;
  readonly stepTime: StepTime;
  /** Tokens of KV cache; 0 when the weights leave no room. */
  readonly kvCapacityTokens: number;
  /** From container start to ready. */
  readonly loadTimeMs: number;
  /** What the manifest does not tell and was assumed, each as a sentence. */
  readonly assumptions: readonly string[];
}

/** Tokens per block of engines that are told none. */
const DEFAULT_BLOCK_SIZE = { vllm: 16, sglang: 1 } as const;

/** Sizes an engine. An unknown model counts as an 8 B decoder, an unnamed accelerator as an H100, and unnamed GPUs as enough of them. */
export function sizeEngine(plan: EnginePlan): EngineSizing {
  const { shape, isExact } = modelShapeOrDefault(plan.model);
  const named = plan.accelerator === undefined ? undefined : acceleratorNamed(plan.accelerator);
  const accelerator = named ?? DEFAULT_ACCELERATOR;
  const gpus =
    plan.gpus > 0
      ? Math.max(plan.gpus, plan.tensorParallelSize)
      : Math.max(gpusNeeded(shape, accelerator), plan.tensorParallelSize);
  const fixedTokens =
    plan.numGpuBlocks === undefined ? undefined : plan.numGpuBlocks * (plan.blockSize ?? DEFAULT_BLOCK_SIZE[plan.engine]);
  return {
    shape,
    accelerator,
    gpus,
    stepTime: stepTimeOf(shape, accelerator, gpus),
    kvCapacityTokens:
      fixedTokens ?? kvCapacityTokens(shape, accelerator, gpus, plan.gpuMemoryUtilization ?? DEFAULT_MEMORY_UTILIZATION),
    loadTimeMs: loadTimeMs(shape),
    assumptions: [
      ...(isExact ? [] : [`model ${plan.model} is not in the catalogue: sized as ${shape.name}`]),
      ...(named === undefined ? [`no accelerator is named: sized for ${accelerator.name}`] : []),
      ...(plan.gpus > 0 ? [] : [`no GPUs are asked for: sized for ${gpus}`]),
    ],
  };
}
