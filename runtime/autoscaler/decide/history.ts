import type { LoadTrend } from './load-trend';

/** A replica count and when it was said. */
export interface Point {
  readonly atMs: number;
  readonly replicas: number;
}

/** What a scaler remembers between rounds. Plain data, oldest first. */
export interface History {
  /** Recommendations before any correction. */
  readonly recommendations: readonly Point[];
  /** Replica counts decided on. Between two points the earlier one held. */
  readonly corrections: readonly Point[];
  /** What all replicas carried together, by metric. */
  readonly trends?: Readonly<Record<string, LoadTrend>>;
  /** Until when panic lasts, in monotonic time. */
  readonly panicUntilMs?: number;
}

export const EMPTY_HISTORY: History = { recommendations: [], corrections: [] };

/** Replica counts of the points younger than `windowMs`. A window of 0 holds none. */
export function within(points: readonly Point[], windowMs: number, nowMs: number): number[] {
  return points.filter((point) => nowMs - point.atMs < windowMs).map((point) => point.replicas);
}

/**
 * Replica counts that held at some time within the last `windowMs`. A count holds from its own point to the next one, or to now; one
 * that nothing followed for more than two windows says nothing any more.
 */
export function heldWithin(points: readonly Point[], windowMs: number, nowMs: number): number[] {
  return points
    .filter((point, i) => {
      const endMs = points[i + 1]?.atMs ?? nowMs;
      return endMs - point.atMs <= 2 * windowMs && nowMs - endMs < windowMs;
    })
    .map((point) => point.replicas);
}

/** `history` with one more round, without what no window of `horizonMs` can see. */
export function remember(history: History, round: Point & { readonly recommended: number }, horizonMs: number): History {
  const oldestMs = round.atMs - horizonMs;
  const keep = (points: readonly Point[]): Point[] => points.filter((_, i) => (points[i + 1]?.atMs ?? round.atMs) >= oldestMs);
  return {
    ...history,
    recommendations: [...keep(history.recommendations), { atMs: round.atMs, replicas: round.recommended }],
    corrections: [...keep(history.corrections), { atMs: round.atMs, replicas: round.replicas }],
  };
}
