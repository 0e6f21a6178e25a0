/** How a changed workload replaces its replicas. */
export class Rollout {
  /** Starts up to `count` new replicas before old ones stop. Needs that many spare GPUs, or it hangs. */
  static surge(count: number): Rollout {
    return new Rollout(positive('surge', count), 0);
  }

  /** Stops `count` replicas, then starts new ones on the GPUs that they freed. */
  static inPlace(count: number): Rollout {
    return new Rollout(0, positive('inPlace', count));
  }

  private constructor(
    readonly maxSurge: number,
    readonly maxUnavailable: number,
  ) {}
}

function positive(maker: string, count: number): number {
  if (!Number.isInteger(count) || count < 1) throw new RangeError(`Rollout.${maker}(${count}): a whole number ≥ 1`);
  return count;
}
