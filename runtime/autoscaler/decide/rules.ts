/** How far replicas may move within one period, and for how long a recommendation is waited on. */
export interface StepRule {
  /** Most replicas added or removed per period. */
  readonly instances: number;
  /** Most percent of the replicas at the start of the period added or removed per period. */
  readonly percent: number;
  /** Length of the period; 0 lifts the limit. */
  readonly periodMs: number;
  /** `Or` takes the looser of the two limits, `And` the stricter; any other word lifts the limit, as in Kthena. */
  readonly selectPolicy: string;
  /** How far back recommendations count; 0: only the present one. */
  readonly stabilizationWindowMs: number;
}

/** What a sudden rise is answered with. */
export interface PanicRule {
  /** Most percent added per period. */
  readonly percent: number;
  /** Length of the period; 0 lifts the limit. */
  readonly periodMs: number;
  /** Panic starts when the recommendation is at least this percentage of the present replicas. */
  readonly thresholdPercent: number;
  /** How long panic lasts after its last cause; 0: never any panic. */
  readonly holdMs: number;
}

export interface Behavior {
  readonly scaleUp: StepRule;
  readonly panic: PanicRule;
  readonly scaleDown: StepRule;
}

/** A metric that replicas are sized by. */
export interface MetricTarget {
  readonly name: string;
  /** Load that one replica should carry, > 0. */
  readonly targetValue: number;
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** `value` within `bounds`; the maximum wins when they contradict each other. */
export function clamp(value: number, { min, max }: Bounds): number {
  return Math.min(Math.max(value, min), max);
}
