import type { Pod } from '../../../src/api/pod';
import { acceleratorNamed } from '../../../src/catalog/accelerators';
import { modelShapeOrDefault } from '../../../src/catalog/models';
import { gpusNeeded, kvCapacityTokens, stepTimeOf } from '../../../src/catalog/step-time';
import { planEngine } from '../../../src/expand/plan-engine';
import type { ServingContext } from '../../../src/expand/serving-context';

/** What an engine can do before anything was measured: seeds that learned rates decay to, and limits from its flags. */
export interface EngineCapacity {
  /** Uncached prompt tokens per second, above 0. */
  readonly prefillTokensPerSecond: number;
  /** Time of a decode step with no sequence in it, in seconds. */
  readonly decodeBaseSeconds: number;
  /** What each sequence adds to a decode step by its arithmetic, in seconds. */
  readonly decodePerSequenceSeconds: number;
  /** What each token of KV that a sequence attends to adds to a decode step, in seconds. */
  readonly decodePerContextTokenSeconds: number;
  /** Sequences that run at one time, ≥ 1. */
  readonly maxNumSeqs: number;
  /** Token budget of one step, ≥ 1. */
  readonly maxNumBatchedTokens: number;
  /** Tokens of KV cache, above 0. */
  readonly kvCapacityTokens: number;
  /** Release of the engine, as far as its image tells; undefined where there is no plan of it. */
  readonly release?: string | undefined;
}

/** vLLM's default for `--max-num-seqs` on most GPUs; SGLang's own depends on memory and is rarely below. */
const DEFAULT_MAX_NUM_SEQS = 256;
/** vLLM's default for `--max-num-batched-tokens` of its server on GPUs with 70 GiB and more, and SGLang's usual `--chunked-prefill-size`. */
const DEFAULT_MAX_NUM_BATCHED_TOKENS = 8192;
/** Stands for a KV cache whose size nobody told and no weights fit beside: one long context. */
const LEAST_KV_TOKENS = 8192;

/** Capacity from a pod's flags, GPU class and model, by the catalogue's roofline. */
export function capacityOfPod(pod: Pod, context: ServingContext): EngineCapacity {
  const plan = planEngine(pod, context);
  const { shape } = modelShapeOrDefault(plan?.model ?? '');
  const accelerator = plan?.accelerator === undefined ? undefined : acceleratorNamed(plan.accelerator);
  const gpus = plan !== undefined && plan.gpus > 0 ? plan.gpus : gpusNeeded(shape, accelerator);
  const { baseMs, perPrefillTokenMs, perSequenceMs, perKvTokenMs } = stepTimeOf(shape, accelerator, gpus);
  const blocks = plan?.numGpuBlocks;
  // Each data-parallel rank has a scheduler of its own.
  const ranks = plan?.dataParallelSize ?? 1;
  // SGLang writes -1 for prompts that are never split.
  const batched = plan?.maxNumBatchedTokens ?? 0;
  const kvTokens =
    blocks === undefined
      ? kvCapacityTokens(shape, accelerator, gpus, plan?.gpuMemoryUtilization)
      : blocks * (plan?.blockSize ?? 16);
  return {
    prefillTokensPerSecond: 1000 / perPrefillTokenMs,
    decodeBaseSeconds: baseMs / 1000,
    decodePerSequenceSeconds: perSequenceMs / 1000,
    decodePerContextTokenSeconds: perKvTokenMs / 1000,
    maxNumSeqs: ranks * Math.max(1, plan?.maxNumSeqs ?? DEFAULT_MAX_NUM_SEQS),
    maxNumBatchedTokens: ranks * (batched > 0 ? batched : DEFAULT_MAX_NUM_BATCHED_TOKENS),
    kvCapacityTokens: kvTokens > 0 ? kvTokens : LEAST_KV_TOKENS,
    ...(plan === undefined ? {} : { release: plan.version }),
  };
}
