import { ACCELERATORS } from '../catalog/accelerators';
import { OVERHEAD_GIB_PER_GPU } from '../catalog/step-time';
import { fittingSplits } from './fit-arithmetic';
import type { FitQuestion } from './fit-question';
import { KV_RESERVE, kvBytesPerGpu, kvRoom } from './fit-sizes';

/** Contexts below this serve nobody; then only other changes are proposed. */
const LEAST_CONTEXT_TOKENS = 2048;
const CONTEXT_STEP_TOKENS = 1024;
/** Forms that checkpoints are published in, with bytes per parameter, largest first. */
const QUANTIZED = [
  ['FP8', 1],
  ['INT4', 0.56],
] as const;

/** The nearest changes after which the model fits: fewer tokens, more GPUs, a larger accelerator, a quantized checkpoint. */
export function fitRemedy(question: FitQuestion): string {
  const changes = [fewerTokens(question), moreGpus(question), largerAccelerator(question), quantized(question)].filter(
    (change): change is string => change !== undefined,
  );
  return changes.length === 0 ? 'split the model over more GPUs and pods' : changes.join(', or ');
}

function fits(question: FitQuestion): boolean {
  const room = kvRoom(question, OVERHEAD_GIB_PER_GPU);
  const tokens = question.contextTokens ?? LEAST_CONTEXT_TOKENS;
  return room > 0 && kvBytesPerGpu(question, tokens) * (1 + KV_RESERVE) <= room;
}

function fewerTokens(question: FitQuestion): string | undefined {
  if (question.contextTokens === undefined) return undefined;
  let low = 0;
  let high = Math.floor(question.contextTokens / CONTEXT_STEP_TOKENS);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits({ ...question, contextTokens: middle * CONTEXT_STEP_TOKENS })) low = middle;
    else high = middle - 1;
  }
  const tokens = low * CONTEXT_STEP_TOKENS;
  return tokens >= LEAST_CONTEXT_TOKENS && tokens < question.contextTokens ? `limit the context to ${tokens} tokens` : undefined;
}

function moreGpus(question: FitQuestion): string | undefined {
  const { heads, attention } = question.shape;
  const kvHeads = attention.kind === 'grouped' ? attention.kvHeads : undefined;
  const size = fittingSplits({ heads, kvHeads }).find(
    (tensorParallel) => tensorParallel > question.tensorParallel && fits({ ...question, tensorParallel }),
  );
  if (size === undefined) return undefined;
  return `split it over ${size * question.pipelineParallel * question.dataParallel} GPUs`;
}

/** The smallest of the same vendor, where it is known, that is larger and suffices. */
function largerAccelerator(question: FitQuestion): string | undefined {
  const { accelerator: present } = question;
  const larger = ACCELERATORS.filter(
    (accelerator) =>
      (present.vendor === undefined || accelerator.vendor === present.vendor) &&
      accelerator.memoryGiB > present.memoryGiB &&
      (present.fp8Tflops === undefined || accelerator.fp8Tflops !== undefined),
  ).sort((a, b) => a.memoryGiB - b.memoryGiB);
  const found = larger.find((accelerator) => fits({ ...question, accelerator }));
  return found === undefined ? undefined : `use ${found.name}`;
}

function quantized(question: FitQuestion): string | undefined {
  const { shape, accelerator } = question;
  const found = QUANTIZED.find(
    ([name, weightBytesPerParameter]) =>
      weightBytesPerParameter < shape.weightBytesPerParameter &&
      (name !== 'FP8' || accelerator.fp8Tflops !== undefined) &&
      fits({ ...question, quantization: undefined, shape: { ...shape, weightBytesPerParameter } }),
  );
  return found === undefined ? undefined : `take a checkpoint in ${found[0]}`;
}
