import { type Accelerator, DEFAULT_ACCELERATOR } from './accelerators';
import { kvBytesPerToken, type ModelShape, weightBytes } from './models';

/** How long one engine step takes: base + prefill + sequences + KV read, all in milliseconds. */
export interface StepTime {
  /** α: fixed cost of a step (weights read, launch overhead). */
  readonly baseMs: number;
  /** β: per uncached prompt token in the step. */
  readonly perPrefillTokenMs: number;
  /** γ: per sequence that decodes in the step. */
  readonly perSequenceMs: number;
  /** δ: per token of KV cache that the step's sequences read. */
  readonly perKvTokenMs: number;
}

/**
 * The model is a roofline with three stated efficiencies, calibrated on an 8 B bf16 model on one H100 SXM:
 *
 * - `LAUNCH_MS` and `BANDWIDTH_EFFICIENCY` give a lone sequence an inter-token latency of 12 ms (8 ms to read 16 GB of weights, 4 ms of
 *   scheduling, launches and sampling), and 256 sequences of 500 tokens twice that: inter-token latency and full-load factor of the
 *   latency profile that llm-d-inference-sim publishes for this pair.
 * - `PREFILL_EFFICIENCY` gives 0.06 ms per prompt token, 16,400 tokens/s. Planning constants of routers in the field are 15,928 tokens/s
 *   (llm-d) and 0.057 ms per token (vLLM router). The profile named above has 0.25 ms per token; it is a TTFT slope measured with other
 *   requests in the batch, which here comes out of the step loop instead.
 */
const LAUNCH_MS = 4;
const BANDWIDTH_EFFICIENCY = 0.6;
const PREFILL_EFFICIENCY = 0.27;

/** Share of its throughput that each doubling of GPUs keeps under tensor parallelism: an assumption, smaller without a fast link. */
const TENSOR_PARALLEL_EFFICIENCY = { NVLink: 0.92, 'Infinity Fabric': 0.9, HCCS: 0.9, PCIe: 0.75 } as const;

/** Sequences whose experts are assumed to be read together when a mixture of experts decodes. */
const TYPICAL_BATCH = 32;

/** Time of one engine step of `shape` on `gpus` accelerators, tensor-parallel. Pure; see the constants for how it was calibrated. */
export function stepTimeOf(shape: ModelShape, accelerator: Accelerator = DEFAULT_ACCELERATOR, gpus = 1): StepTime {
  const scale = parallelSpeed(accelerator, gpus);
  const bytesPerMs = accelerator.memoryBandwidthGBps * 1e6 * BANDWIDTH_EFFICIENCY * scale;
  // 8-bit and narrower weights compute in FP8 where the hardware has it.
  const tflops = shape.weightBytesPerParameter <= 1 ? (accelerator.fp8Tflops ?? accelerator.bf16Tflops) : accelerator.bf16Tflops;
  const flopsPerMs = tflops * 1e9 * scale;
  const flopsPerToken = 2 * shape.activeParameters;
  const touched = 1 - (1 - shape.activeParameters / shape.parameters) ** TYPICAL_BATCH;
  return {
    baseMs: LAUNCH_MS + (weightBytes(shape) * touched) / bytesPerMs,
    perPrefillTokenMs: flopsPerToken / (flopsPerMs * PREFILL_EFFICIENCY),
    // One token of arithmetic that overlaps with the weights' read: no efficiency loss is charged a second time.
    perSequenceMs: flopsPerToken / flopsPerMs,
    perKvTokenMs: kvBytesPerToken(shape) / bytesPerMs,
  };
}

function parallelSpeed(accelerator: Accelerator, gpus: number): number {
  return gpus * TENSOR_PARALLEL_EFFICIENCY[accelerator.interconnect.kind] ** Math.log2(Math.max(1, gpus));
}

/**
 * Memory of each GPU that is neither weights nor KV cache: activations, CUDA graphs, communication buffers. It reproduces two published
 * capacities at 0.9 utilization within 2 %: 307,328 tokens for Qwen3-32B on 2 H100 and 461,376 for Llama-3.1-70B on 4 (llm-d benchmarks).
 */
export const OVERHEAD_GIB_PER_GPU = 3.7;

/** vLLM's default for the share of memory it takes; of both recorded versions. */
export const DEFAULT_MEMORY_UTILIZATION = 0.92;

/**
 * Tokens of KV cache that fit beside the weights: (memory × utilization − weights − overhead) / KV bytes per token.
 *
 * @param utilization share of the GPUs' memory that the engine takes, 0..1.
 * @returns 0 when the weights do not fit.
 */
export function kvCapacityTokens(
  shape: ModelShape,
  accelerator: Accelerator = DEFAULT_ACCELERATOR,
  gpus = 1,
  utilization = DEFAULT_MEMORY_UTILIZATION,
): number {
  const gib = 2 ** 30;
  const free = (accelerator.memoryGiB * utilization - OVERHEAD_GIB_PER_GPU) * gpus * gib - weightBytes(shape);
  return Math.max(0, Math.floor(free / kvBytesPerToken(shape)));
}

/** GPUs to assume where a manifest names none: the smallest power of two, at most 1024, whose memory holds the weights and as much again in KV as a fifth of them. */
export function gpusNeeded(shape: ModelShape, accelerator: Accelerator = DEFAULT_ACCELERATOR): number {
  for (let gpus = 1; gpus < 1024; gpus *= 2) {
    if (kvCapacityTokens(shape, accelerator, gpus) * kvBytesPerToken(shape) >= weightBytes(shape) / 5) return gpus;
  }
  return 1024;
}

/** Start of the process, compilation and CUDA graphs; an assumption within what vLLM logs for warm caches. */
const STARTUP_FIXED_MS = 30_000;
/** Bytes per second at which weights reach GPU memory from a node's disk or a fast share; an assumption. */
export const DEFAULT_LOAD_BYTES_PER_SECOND = 2e9;

/** Time from container start to ready, once the weights are on the node: a fixed part and the weights' transfer. */
export function loadTimeMs(shape: ModelShape, loadBytesPerSecond = DEFAULT_LOAD_BYTES_PER_SECOND): number {
  return STARTUP_FIXED_MS + (weightBytes(shape) / loadBytesPerSecond) * 1000;
}
