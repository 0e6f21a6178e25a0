import type { ReplayedRequest } from '../../replay/workload/workload';

export const DAY_MS = 24 * 3_600_000;

export interface DayRequest {
  /** Since the day began. */
  readonly atMs: number;
  readonly request: ReplayedRequest;
}

/** A day of requests, in order of arrival. */
export interface Day {
  readonly traffic: string;
  readonly seed: number;
  readonly durationMs: number;
  readonly requests: readonly DayRequest[];
}
