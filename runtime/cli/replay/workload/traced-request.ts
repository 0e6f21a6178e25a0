import type { Segment } from './segmented-prompt';

/** One request of a trace. */
export interface TracedRequest {
  /** When it arrived, in milliseconds of the trace's own clock. */
  readonly atMs: number;
  /** At least one. */
  readonly segments: readonly Segment[];
  readonly outputTokens: number;
}
