import type { FitAccelerator, FitFinding, FitQuestion } from './fit-question';

/**
 * Ampere has no FP8 units, but runs such weights unpacked to 16 bits (weight-only kernels, from compute capability 8.0 on, says vLLM's
 * page on FP8); what is older or of another vendor without FP8 does not.
 */
const UNPACKS_FP8 = /^A10(?:0-|-)/;

/** What does not divide, what the hardware cannot compute, what the model was not made for. */
export function* arithmeticProblems(question: FitQuestion): Iterable<FitFinding> {
  yield* ranksProblem(question);
  yield* headsProblem(question);
  yield* numbersProblem(question);
  yield* contextProblem(question);
}

function* ranksProblem({ gpus, tensorParallel, pipelineParallel, dataParallel }: FitQuestion): Iterable<FitFinding> {
  const ranks = tensorParallel * pipelineParallel * dataParallel;
  if (ranks === gpus) return;
  const split = [
    `tensor ${tensorParallel}`,
    ...(pipelineParallel > 1 ? [`pipeline ${pipelineParallel}`] : []),
    ...(dataParallel > 1 ? [`data ${dataParallel}`] : []),
  ].join(' × ');
  yield {
    code: 'fit/ranks',
    severity: ranks > gpus ? 'error' : 'warning',
    message: `the model is split for ${ranks} GPUs (${split}), and its pods have ${gpus}`,
    remedy:
      ranks > gpus ? `ask for ${ranks} GPUs, or lower the parallelism` : `${gpus - ranks} of them idle: raise the parallelism`,
  };
}

function* headsProblem({ shape, model, tensorParallel }: FitQuestion): Iterable<FitFinding> {
  const { heads, attention } = shape;
  const kvHeads = attention.kind === 'grouped' ? attention.kvHeads : undefined;
  const isEven = heads % tensorParallel === 0;
  const sharesKv =
    kvHeads === undefined || (kvHeads >= tensorParallel ? kvHeads % tensorParallel === 0 : tensorParallel % kvHeads === 0);
  if (isEven && sharesKv) return;
  yield {
    code: 'fit/heads',
    severity: 'error',
    message: isEven
      ? `${kvHeads} KV heads of ${model} do not divide over ${tensorParallel} tensor-parallel GPUs`
      : `${heads} attention heads of ${model} do not divide over ${tensorParallel} tensor-parallel GPUs`,
    remedy: `use a tensor parallelism of ${listed(fittingSplits({ heads, kvHeads }))}`,
  };
}

/** Tensor parallelism up to 32 that divides heads and KV heads. */
export function fittingSplits({ heads, kvHeads }: { readonly heads: number; readonly kvHeads: number | undefined }): number[] {
  return Array.from({ length: 32 }, (_, i) => i + 1).filter(
    (size) => heads % size === 0 && (kvHeads === undefined || (kvHeads >= size ? kvHeads % size === 0 : size % kvHeads === 0)),
  );
}

const listed = (sizes: readonly number[]): string =>
  sizes.length === 1 ? `${sizes[0]}` : `${sizes.slice(0, -1).join(', ')} or ${sizes.at(-1)}`;

function* numbersProblem({ accelerator, model, shape, quantization, kvCacheDtype, dtype }: FitQuestion): Iterable<FitFinding> {
  // What an accelerator outside of the catalogue computes is not known.
  if (accelerator.vendor === undefined) return;
  const format = formatOf(model, shape.weightBytesPerParameter, shape.name, quantization);
  if (format !== undefined && accelerator.fp8Tflops === undefined) {
    const unpacks = UNPACKS_FP8.test(accelerator.name);
    yield {
      code: 'fit/number-format',
      severity: unpacks ? 'warning' : 'error',
      message: `${model} has ${format} weights, which ${accelerator.name} ${unpacks ? 'only unpacks to 16 bits: memory is saved, time is not' : 'cannot compute'}`,
      remedy: `choose an accelerator with FP8, or a checkpoint ${unpacks ? 'in INT8 or INT4' : 'in 16 bits, INT8 or INT4'}`,
    };
  }
  if (kvCacheDtype !== undefined && /^fp8/.test(kvCacheDtype) && accelerator.fp8Tflops === undefined) {
    yield {
      code: 'fit/number-format',
      severity: 'warning',
      message: `${accelerator.name} has no FP8 units, and the KV cache is ${kvCacheDtype}`,
      remedy: 'leave the type of the KV cache out, or choose an accelerator with FP8',
    };
  }
  if (dtype === 'bfloat16' && !computesBf16(accelerator)) {
    yield {
      code: 'fit/number-format',
      severity: 'error',
      message: `${accelerator.name} cannot compute bfloat16`,
      remedy: "write dtype 'half' or leave it out",
    };
  }
}

/** Turing has FP16 only, as the catalogue notes beside its figures. */
const computesBf16 = ({ name }: FitAccelerator): boolean => !name.startsWith('T4-');

/** The 8-bit or 4-bit floating-point format of the weights, as far as names and flags tell. */
function formatOf(
  model: string,
  bytesPerParameter: number,
  shapeName: string,
  quantization: string | undefined,
): string | undefined {
  if (/(?:^|[-_/])mxfp4|gpt-oss/i.test(model) || quantization === 'mxfp4') return 'MXFP4';
  if (/(?:^|[-_])fp8(?:$|[-_])/i.test(model) || quantization === 'fp8') return 'FP8';
  // A published checkpoint of one byte per parameter, under its own name and not a copy's in another format.
  const isOwnName = shapeName.toLowerCase().endsWith(model.split('/').at(-1)!.toLowerCase());
  return isOwnName && bytesPerParameter === 1 ? 'FP8' : undefined;
}

function* contextProblem({ contextTokens, isContextOpen, shape, model }: FitQuestion): Iterable<FitFinding> {
  if (isContextOpen || contextTokens === undefined || contextTokens <= shape.maxContextTokens) return;
  yield {
    code: 'fit/context',
    severity: 'error',
    message: `a context of ${contextTokens} tokens is longer than the ${shape.maxContextTokens} that ${model} is made for`,
    remedy: `lower it to ${shape.maxContextTokens}, or configure the model's rope scaling`,
  };
}
