/** Time for routers and endpoints to learn that a pod leaves, before its engine is told. */
const ANNOUNCE_SECONDS = 10;
/** Time for the engine to free its GPUs after the last stream. */
const TEARDOWN_SECONDS = 20;
/** A pod never waits longer for its last answers: a node drain must end. */
const MAX_DRAIN_SECONDS = 1800;

/** When a pod that must go stops doing what. All from one number: how long the longest answer takes. */
export interface ShutdownPlan {
  /** Wait before SIGTERM. New requests go elsewhere meanwhile. */
  readonly preStopSeconds: number;
  /** How long the engine may finish streams after SIGTERM; 0 when it cannot. */
  readonly drainSeconds: number;
  readonly terminationGracePeriodSeconds: number;
}

/**
 * @param longestAnswerTokens tokens of the longest answer that must not be cut.
 * @param itlMs expected time between tokens, in milliseconds.
 * @param finishesStreams whether the engine finishes its streams after SIGTERM; if not, the wait before it is that long.
 */
export function planShutdown(longestAnswerTokens: number, itlMs: number, finishesStreams: boolean): ShutdownPlan {
  const answerSeconds = Math.min(MAX_DRAIN_SECONDS, Math.ceil((longestAnswerTokens * itlMs) / 1000));
  const preStopSeconds = ANNOUNCE_SECONDS + (finishesStreams ? 0 : answerSeconds);
  const drainSeconds = finishesStreams ? answerSeconds : 0;
  return { preStopSeconds, drainSeconds, terminationGracePeriodSeconds: preStopSeconds + drainSeconds + TEARDOWN_SECONDS };
}
