/**
 * How many replicas a pool has: a fixed number, or bounds that a scaler keeps to.
 *
 * @example
 * const fixed = { accelerator: Accelerator.L40S_48GB, replicas: 3 };
 * const scaled = { accelerator: Accelerator.L40S_48GB, replicas: between(0, 8) };
 */
export class Replicas {
  /** @throws RangeError when a bound is no whole number ≥ 0 or `max` is 0. */
  static between(min: number, max: number): Replicas {
    for (const bound of [min, max]) {
      if (!Number.isInteger(bound) || bound < 0)
        throw new RangeError(`replicas between(${min}, ${max}): bounds are whole numbers ≥ 0`);
    }
    if (max === 0) throw new RangeError(`replicas between(${min}, ${max}): the upper bound is at least 1`);
    return new Replicas(min, max);
  }

  static from(replicas: number | Replicas): Replicas {
    if (replicas instanceof Replicas) return replicas;
    if (!Number.isInteger(replicas) || replicas < 0)
      throw new RangeError(`replicas ${replicas}: a whole number ≥ 0 or between(min, max)`);
    return new Replicas(replicas, replicas);
  }

  private constructor(
    readonly min: number,
    readonly max: number,
  ) {}

  get isFixed(): boolean {
    return this.min === this.max;
  }
}

/** Bounds for a scaler, both included. */
export function between(min: number, max: number): Replicas {
  return Replicas.between(min, max);
}
