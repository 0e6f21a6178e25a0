import { DEFAULT_MEMORY_UTILIZATION, OVERHEAD_GIB_PER_GPU } from '../catalog/step-time';
import { arithmeticProblems } from './fit-arithmetic';
import type { FitFinding, FitQuestion } from './fit-question';
import { fitRemedy } from './fit-remedy';
import { GIB, KV_RESERVE, kvBytesPerGpu, kvRoom, LEAST_OVERHEAD_GIB, weightBytesPerGpu } from './fit-sizes';

const gib = (bytes: number): string => `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 1 : 0)} GiB`;

/**
 * Whether a model, its longest request and what engines need beside them fit on GPUs, and whether the GPUs can compute and split it.
 * Errors are what an engine refuses at its start; warnings what it is not expected to manage.
 */
export function fitFindings(question: FitQuestion): readonly FitFinding[] {
  return [...arithmeticProblems(question), ...memoryProblems(question)];
}

/** The worst thing about memory: at most one finding. */
function memoryProblems(question: FitQuestion): readonly FitFinding[] {
  const { accelerator, model, utilization = DEFAULT_MEMORY_UTILIZATION } = question;
  const weights = weightBytesPerGpu(question);
  const usable = accelerator.memoryGiB * utilization * GIB;
  const { gpus, contextTokens } = question;
  const place = `${gpus} × ${accelerator.name}`;
  const most = kvRoom(question, LEAST_OVERHEAD_GIB);
  if (most <= 0) {
    return [
      {
        code: 'fit/weights',
        severity: 'error',
        message: `the weights of ${model} take ${gib(weights)} on each of ${place}, where ${gib(usable - LEAST_OVERHEAD_GIB * GIB)} can be used`,
        remedy: fitRemedy(question),
      },
    ];
  }
  if (contextTokens === undefined) return [];
  const kv = kvBytesPerGpu(question, contextTokens);
  const expected = Math.max(0, kvRoom(question, OVERHEAD_GIB_PER_GPU));
  if (kv <= most && kv * (1 + KV_RESERVE) <= expected) return [];
  const isError = kv > most;
  const room = isError ? most : expected;
  const need = isError ? kv : kv * (1 + KV_RESERVE);
  return [
    {
      code: 'fit/kv-capacity',
      severity: isError ? 'error' : 'warning',
      message: `one request of ${contextTokens} tokens needs ${gib(need)} of KV cache ${isError ? '' : `(with a reserve of ${KV_RESERVE * 100} %) `}on each of ${place}, where ${gib(room)} are left beside ${gib(weights)} of weights of ${model}`,
      remedy: fitRemedy(question),
    },
  ];
}
