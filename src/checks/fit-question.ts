import type { Accelerator } from '../catalog/accelerators';
import type { ModelShape } from '../catalog/models';
import type { Finding } from '../errors';

/** What the fit depends on: an accelerator of the catalogue, or one of which only name and memory are known. */
export type FitAccelerator = Pick<Accelerator, 'name' | 'memoryGiB'> & Partial<Accelerator>;

/** One copy of a model on the GPUs that serve it. */
export interface FitQuestion {
  /** Name as the user wrote it, for messages and for what its suffix tells. */
  readonly model: string;
  readonly shape: ModelShape;
  readonly accelerator: FitAccelerator;
  /** GPUs that the server has, over all of its pods. */
  readonly gpus: number;
  readonly tensorParallel: number;
  readonly pipelineParallel: number;
  /** Copies of the model that one server runs on those GPUs. */
  readonly dataParallel: number;
  /** Whether a mixture's experts are spread over the GPUs of all copies. */
  readonly isExpertParallel: boolean;
  /** Longest request, in tokens; undefined: nothing is known or the engine chooses one that fits. */
  readonly contextTokens: number | undefined;
  /** Whether the engine was told to go beyond the model's own context. */
  readonly isContextOpen: boolean;
  /** Share of GPU memory that the engine takes, 0..1; undefined: the default. */
  readonly utilization?: number;
  readonly kvCacheDtype?: string;
  readonly quantization?: string;
  readonly dtype?: string;
  /** Adapters that are in memory together, and their largest rank. */
  readonly adapters: { readonly count: number; readonly rank: number };
}

/** A finding before it is known which object it is about. */
export type FitFinding = Omit<Finding, 'file' | 'object'>;
