/** More of a rollout. */
export interface RolloutOptions {
  /** Replicas with an ordinal below it keep their old pods: a canary at the end of the row. Not for Deployments. @default 0 */
  readonly partition?: number;
}

/**
 * How a changed workload replaces its replicas.
 *
 * @example
 * const spare = { accelerator: Accelerator.L40S_48GB, replicas: 3, rollout: Rollout.surge(1) };
 * const tight = { accelerator: Accelerator.H200_141GB, gpusPerPod: 8, replicas: 2, rollout: Rollout.inPlace(1) };
 */
export class Rollout {
  /** Starts up to `count` new replicas before old ones stop. Needs that many spare GPUs, or it hangs. */
  static surge(count: number, options: RolloutOptions = {}): Rollout {
    return new Rollout(positive('surge', count), 0, partitionOf(options));
  }

  /** Stops `count` replicas, then starts new ones on the GPUs that they freed. */
  static inPlace(count: number, options: RolloutOptions = {}): Rollout {
    return new Rollout(0, positive('inPlace', count), partitionOf(options));
  }

  private constructor(
    readonly maxSurge: number,
    readonly maxUnavailable: number,
    readonly partition: number,
  ) {}
}

function positive(maker: string, count: number): number {
  if (!Number.isInteger(count) || count < 1) throw new RangeError(`Rollout.${maker}(${count}): a whole number ≥ 1`);
  return count;
}

function partitionOf({ partition = 0 }: RolloutOptions): number {
  if (!Number.isInteger(partition) || partition < 0) throw new RangeError(`Rollout: partition ${partition}: a whole number ≥ 0`);
  return partition;
}
