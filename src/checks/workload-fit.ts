import { describeObject } from '../api/meta';
import { acceleratorNamed } from '../catalog/accelerators';
import { derivedModelShape, modelShapeNamed } from '../catalog/models';
import { OVERHEAD_GIB_PER_GPU } from '../catalog/step-time';
import type { Finding } from '../errors';
import { Annotations } from '../labels';
import { fitFindings } from './fit';
import type { FitAccelerator, FitFinding, FitQuestion } from './fit-question';
import type { PlannedServer, PlannedWorkload } from './planned-workloads';

/** Whether the servers of a workload fit on its GPUs; one note where model or GPU are not known. */
export function* workloadFit(workload: PlannedWorkload): Iterable<Finding> {
  const object = describeObject(workload.object);
  const seen = new Set<string>();
  for (const server of workload.servers) {
    for (const finding of serverFit(server)) {
      const key = `${finding.code} ${finding.message}`;
      if (seen.has(key)) continue;
      seen.add(key);
      yield { object, ...finding };
    }
  }
}

function serverFit(server: PlannedServer): readonly FitFinding[] {
  const { pod, plan, gpus } = server;
  const accelerator = acceleratorOf(server);
  const named = plan.accelerator ?? pod.metadata.annotations?.[Annotations.accelerator];
  // Nothing here asks for a GPU: an engine on CPUs, or a stand-in.
  if (gpus === 0) return named === undefined ? [] : [unknown(`the resource of ${named} is not known`)];
  if (accelerator === undefined) {
    return [unknown(named === undefined ? 'no label or annotation names the kind of GPU' : `the catalogue has no ${named}`)];
  }
  const shape = modelShapeNamed(plan.model) ?? derivedModelShape(plan.model);
  if (shape === undefined) return [unknown(`the catalogue has no model ${plan.model}`)];
  const isOpen = plan.isContextOpen ?? false;
  const own = plan.maxModelLen ?? (isOpen || plan.isSilent === true ? undefined : shape.maxContextTokens);
  return fitFindings({
    model: plan.model,
    shape,
    accelerator,
    gpus,
    // Where no flags are known, the server may use all GPUs that it has.
    tensorParallel: plan.isSilent === true ? gpus : plan.tensorParallelSize,
    pipelineParallel: plan.pipelineParallelSize ?? 1,
    dataParallel: plan.dataParallelSize ?? 1,
    isExpertParallel: plan.isExpertParallel ?? false,
    contextTokens: plan.numGpuBlocks === undefined ? own : undefined,
    isContextOpen: isOpen,
    utilization: utilizationOf(plan, accelerator.memoryGiB),
    kvCacheDtype: plan.kvCacheDtype,
    quantization: plan.quantization,
    dtype: plan.dtype,
    adapters: { count: plan.maxLoraRank === undefined ? 0 : plan.maxLoras, rank: plan.maxLoraRank ?? 0 },
  } satisfies FitQuestion);
}

/** The accelerator in the catalogue, else as the pod's annotations describe it. */
function acceleratorOf({ pod, plan }: PlannedServer): FitAccelerator | undefined {
  const { [Annotations.accelerator]: name, [Annotations.acceleratorMemoryGiB]: memory } = pod.metadata.annotations ?? {};
  if (name !== undefined && memory !== undefined && Number(memory) > 0) return { name, memoryGiB: Number(memory) };
  return plan.accelerator === undefined ? undefined : acceleratorNamed(plan.accelerator);
}

/** SGLang's share is of weights and KV cache alone; what else it needs comes on top. */
function utilizationOf({ engine, gpuMemoryUtilization }: PlannedServer['plan'], memoryGiB: number): number | undefined {
  if (gpuMemoryUtilization === undefined || engine !== 'sglang') return gpuMemoryUtilization;
  return Math.min(1, gpuMemoryUtilization + OVERHEAD_GIB_PER_GPU / memoryGiB);
}

function unknown(why: string): FitFinding {
  return {
    code: 'fit/unknown',
    severity: 'info',
    message: `${why}, so nothing tells whether it fits`,
    remedy: 'try it before you rely on it',
  };
}
