import { type ModelShape, weightBytes } from '../catalog/models';
import { DEFAULT_MEMORY_UTILIZATION } from '../catalog/step-time';
import type { FitQuestion } from './fit-question';

export const GIB = 2 ** 30;

/** Share of KV cache that the longest request may take beyond its own size: the reserve of the field's usual sizing formula. */
export const KV_RESERVE = 0.3;
/**
 * Memory of a GPU that no engine gets below, in GiB: CUDA context and the smallest set of graphs. An assumption; what does not fit with
 * so little cannot start, what only fits below the measured `OVERHEAD_GIB_PER_GPU` might.
 */
export const LEAST_OVERHEAD_GIB = 1;

/** Bytes per parameter of weights that an engine quantizes while it loads them; other methods need a checkpoint that is stored so. */
const QUANTIZED_WHILE_LOADING: readonly (readonly [RegExp, number])[] = [
  [/^(?:fp8|w8a8_fp8|w8a8_int8|mxfp8|torchao)$/, 1],
  // Four bits and a scale for each block of 64.
  [/^(?:bitsandbytes|nvfp4_online|mxfp4)$/, 0.56],
];

/** Bytes of weights and adapters on each GPU. */
export function weightBytesPerGpu(question: FitQuestion): number {
  const { shape, tensorParallel, pipelineParallel, dataParallel, isExpertParallel, adapters } = question;
  const ranks = tensorParallel * pipelineParallel;
  const own = bytesPerParameter(question);
  const weights = weightBytes({ ...shape, weightBytesPerParameter: own });
  const adapterBytes = adapters.count * adapters.rank * adapterWidth(shape) * 2;
  return weights / (isExpertParallel && isMixture(shape) ? ranks * dataParallel : ranks) + adapterBytes / ranks;
}

function bytesPerParameter({ shape, quantization, dtype }: FitQuestion): number {
  const stored = shape.weightBytesPerParameter;
  const online = QUANTIZED_WHILE_LOADING.find(([method]) => quantization !== undefined && method.test(quantization))?.[1];
  if (online !== undefined) return Math.min(stored, online);
  return dtype === 'float32' || dtype === 'float' ? Math.max(stored, 4) : stored;
}

const isMixture = ({ activeParameters, parameters }: ModelShape): boolean => activeParameters < parameters;

/**
 * Elements of an adapter of rank 1 over all linear layers: inputs and outputs of the projections of attention (4 × 2 × hidden) and of
 * the feed-forward part (3 × (1 + 3.5) × hidden, at the usual ratio of its width). An upper estimate: most adapters leave some out.
 */
function adapterWidth({ layers, hiddenSize }: ModelShape): number {
  return layers * hiddenSize * (8 + 13.5);
}

/**
 * Bytes of KV cache that one request of `tokens` takes on each GPU. Heads are spread over the tensor-parallel ranks; a rank keeps at
 * least one, and the one compressed vector of latent attention is kept by every rank.
 */
export function kvBytesPerGpu({ shape, tensorParallel, pipelineParallel, kvCacheDtype }: FitQuestion, tokens: number): number {
  const { attention, layers } = shape;
  const bytes = kvCacheDtype === undefined ? shape.kvBytesPerElement : elementBytes(kvCacheDtype, shape.kvBytesPerElement);
  switch (attention.kind) {
    case 'grouped': {
      const heads = Math.max(1, attention.kvHeads / tensorParallel);
      const perLayer = 2 * heads * attention.headDim * bytes;
      const windowed = attention.slidingWindow ?? { layers: 0, tokens: 0 };
      const rows = (layers - windowed.layers) * tokens + windowed.layers * Math.min(tokens, windowed.tokens);
      return (perLayer * rows) / pipelineParallel;
    }
    case 'latent':
      return (layers * (attention.kvLoraRank + attention.ropeHeadDim) * bytes * tokens) / pipelineParallel;
    case 'compressed':
      return (
        attention.groups.reduce(
          (sum, group) => sum + group.layers * group.rowElements * Math.ceil(tokens / group.tokensPerRow) * bytes,
          0,
        ) / pipelineParallel
      );
  }
}

function elementBytes(dtype: string, otherwise: number): number {
  if (/^(?:fp8|int8|turboquant_k8)/.test(dtype)) return 1;
  if (/^(?:nvfp4|fp4|int4)/.test(dtype)) return 0.5625;
  return /^(?:float32|fp32)$/.test(dtype) ? 4 : /16$/.test(dtype) ? 2 : otherwise;
}

/** Bytes that are left of each GPU for KV cache, negative when the weights do not fit. */
export function kvRoom(question: FitQuestion, overheadGiB: number): number {
  const { accelerator, utilization = DEFAULT_MEMORY_UTILIZATION } = question;
  return (accelerator.memoryGiB * utilization - overheadGiB) * GIB - weightBytesPerGpu(question);
}
