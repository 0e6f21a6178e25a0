import { modelShapeNamed } from '../../src/catalog/models';
import type { EnginePlan } from '../../src/expand/engine-plan';

/** The limits that a plan leaves to its engine, filled in. */
export interface EngineLimits {
  /** Tokens per KV block. */
  readonly blockSize: number;
  readonly maxNumSeqs: number;
  /** Token budget of a step. */
  readonly maxNumBatchedTokens: number;
  /** Context length in tokens. */
  readonly maxModelLen: number;
}

/** vLLM's on CUDA: block size 16; 256 sequences and 8192 tokens a step are its figures for its API server on recent GPUs. */
const VLLM = { blockSize: 16, maxNumSeqs: 256, maxNumBatchedTokens: 8192 } as const;
/** SGLang's: `--page-size` 1, `--chunked-prefill-size` 8192; its most running requests follow from memory, here as vLLM's. */
const SGLANG = { blockSize: 1, maxNumSeqs: 256, maxNumBatchedTokens: 8192 } as const;
/** Context of a model that neither the plan nor the catalogue tells. */
const MAX_MODEL_LEN = 32_768;

/** What the engine of `plan` runs with. A pod's number of KV blocks is counted in these `blockSize`s. */
export function engineLimits(plan: EnginePlan): EngineLimits {
  const defaults = plan.engine === 'vllm' ? VLLM : SGLANG;
  return {
    blockSize: plan.blockSize ?? defaults.blockSize,
    maxNumSeqs: plan.maxNumSeqs ?? defaults.maxNumSeqs,
    maxNumBatchedTokens: plan.maxNumBatchedTokens ?? defaults.maxNumBatchedTokens,
    maxModelLen: plan.maxModelLen ?? modelShapeNamed(plan.model)?.maxContextTokens ?? MAX_MODEL_LEN,
  };
}
