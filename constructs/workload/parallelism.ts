import type { Finding } from '../../src/errors';

/** How a model is split over the GPUs of one replica. */
export interface Parallelism {
  /** GPUs that share each layer. */
  readonly tensor: number;
  /** Stages of layers, one behind the other. */
  readonly pipeline: number;
}

/**
 * Fills in what was not asked for: tensor parallel over one pod's GPUs and pipeline over the pods, which keeps the heavy traffic inside
 * a node; where one of them is given, the other takes the GPUs that are left.
 */
export function parallelismOf(asked: Partial<Parallelism> | undefined, gpusPerPod: number, podsPerReplica: number): Parallelism {
  const gpus = gpusPerPod * podsPerReplica;
  const tensor = asked?.tensor ?? (asked?.pipeline === undefined ? gpusPerPod : gpus / asked.pipeline);
  const pipeline = asked?.pipeline ?? (tensor > gpusPerPod ? gpus / tensor : podsPerReplica);
  return { tensor, pipeline };
}

/** Why a replica cannot be split so. Fewer GPUs than there are may be right: data parallel engines copy the model. */
export function parallelismFindings({ tensor, pipeline }: Parallelism, gpusPerReplica: number): readonly Finding[] {
  const isWhole = Number.isInteger(tensor) && Number.isInteger(pipeline) && tensor > 0 && pipeline > 0;
  if (isWhole && tensor * pipeline <= gpusPerReplica) return [];
  return [
    {
      code: 'workload/parallelism',
      severity: 'error',
      field: 'parallelism',
      message: `tensor ${tensor} × pipeline ${pipeline} does not fit the ${gpusPerReplica} GPUs of a replica`,
      remedy: `choose whole numbers whose product is ${gpusPerReplica}`,
    },
  ];
}
