import type { KvTransferPlan } from './kv-transfer-plan';

/** What an engine of a pod is, read from its image, command, flags, environment and annotations. Made by `planEngine`. */
export interface EnginePlan {
  readonly engine: 'vllm' | 'sglang';
  /** Version from the image's tag; the newest in the catalogue when the tag says nothing. */
  readonly version: string;
  /** Catalogue or hub name of the model, such as `Qwen/Qwen3-8B`. */
  readonly model: string;
  /** Names that `/v1/models` lists for the base model; the first is the one in metrics. At least one. */
  readonly servedModelNames: readonly string[];
  /** LoRA adapters served from the start, name → path. */
  readonly adapters: Readonly<Record<string, string>>;
  /** Port of the HTTP server, 1..65535. */
  readonly port: number;
  /** Context length in tokens; undefined: the model's own. */
  readonly maxModelLen?: number;
  readonly maxNumSeqs?: number;
  /** Token budget of a step. */
  readonly maxNumBatchedTokens?: number;
  /** Tokens per KV block. */
  readonly blockSize?: number;
  /** Blocks of KV cache, when a flag fixes them. */
  readonly numGpuBlocks?: number;
  /** Share of GPU memory for weights and KV cache, 0..1. */
  readonly gpuMemoryUtilization?: number;
  readonly tensorParallelSize: number;
  /** Stages that the layers are split into; absent: 1. */
  readonly pipelineParallelSize?: number;
  /** Copies of the model in this one server, each on its own GPUs; absent: 1. */
  readonly dataParallelSize?: number;
  /** Whether a mixture's experts are spread over the GPUs of all those copies. */
  readonly isExpertParallel?: boolean;
  /** Type of weights and activations, when a flag names one. */
  readonly dtype?: string;
  /** How weights are quantized, when a flag says so. */
  readonly quantization?: string;
  /** Type of KV cache elements, when a flag names one other than `auto`. */
  readonly kvCacheDtype?: string;
  /** Commit, tag or branch of the hub, when a flag names one. */
  readonly revision?: string;
  /** Whether the engine itself chooses a context length that fits (`--max-model-len auto`), or may exceed the model's own. */
  readonly isContextOpen?: boolean;
  /** GPUs of the pod, from its resource limits; 0 when none are named. */
  readonly gpus: number;
  /** Name in `src/catalog/accelerators`, from the pod's annotation or node selector. */
  readonly accelerator?: string;
  /** `--enable-prompt-tokens-details` and its like: usage tells cached tokens. */
  readonly reportsCachedTokens: boolean;
  readonly enablePrefixCaching: boolean;
  readonly maxLoras: number;
  /** Largest rank of an adapter, when adapters are switched on. */
  readonly maxLoraRank?: number;
  /** Whether adapters may be loaded while it runs. */
  readonly loadsAdaptersAtRunTime?: boolean;
  /** Whether image and command say nothing, so that flags are not known and most of this is assumed. */
  readonly isSilent?: boolean;
  readonly apiKey?: string;
  /** How it hands KV to other engines; absent: it prefills and decodes by itself. */
  readonly kvTransfer?: KvTransferPlan;
  /** Seconds that the engine lets running requests finish after SIGTERM; 0: they are cut. */
  readonly shutdownTimeoutSeconds: number;
}
