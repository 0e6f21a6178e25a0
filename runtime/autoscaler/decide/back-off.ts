/** How the pods of one pool start. Plain data; times are monotonic. */
export interface StartState {
  /** Times in a row that its pods did not start. */
  readonly failures: number;
  /** Until when no more are asked for. */
  readonly untilMs?: number;
  readonly trouble?: StartTrouble;
  /** Since when pods have trouble without a break. */
  readonly troubledSinceMs?: number;
  /** Pods that were ready in the last round. */
  readonly ready: number;
}

/** Why a pod does not start, or was taken away. `no-room`: a quota or budget has none for it. */
export interface StartTrouble {
  readonly kind: 'unschedulable' | 'image' | 'crash' | 'reclaimed' | 'no-room';
  readonly message: string;
}

export const NEVER_STARTED: StartState = { failures: 0, ready: 0 };

/** How long each trouble may mend itself: a node is made ready within minutes, an image registry answers again. Assumptions. */
const PATIENCE_MS: Readonly<Record<StartTrouble['kind'], number>> = {
  unschedulable: 5 * 60_000,
  image: 60_000,
  crash: 2 * 60_000,
  reclaimed: 0,
  'no-room': 0,
};

const FIRST_BACK_OFF_MS = 2 * 60_000;
const LONGEST_BACK_OFF_MS = 30 * 60_000;

/** The state after a round that saw `ready` pods, and `trouble` of others. A pod that became ready ends the back-off. */
export function nextStart(
  state: StartState,
  { ready, trouble }: { readonly ready: number; readonly trouble: StartTrouble | undefined },
  nowMs: number,
): StartState {
  const isWaiting = state.untilMs !== undefined && nowMs < state.untilMs;
  if (ready > state.ready && trouble === undefined && state.trouble?.kind !== 'no-room') return { failures: 0, ready };
  if (trouble === undefined) {
    const { troubledSinceMs: _none, ...rest } = state;
    return { ...rest, ready };
  }
  const troubledSinceMs = state.troubledSinceMs ?? nowMs;
  const isLasting = nowMs - troubledSinceMs >= PATIENCE_MS[trouble.kind];
  if (isWaiting || !isLasting) return { ...state, ready, troubledSinceMs };
  const failures = state.failures + 1;
  const backOffMs = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (failures - 1));
  // Another attempt gets its own patience.
  return { failures, untilMs: nowMs + backOffMs, trouble, ready, troubledSinceMs: nowMs + backOffMs };
}

/**
 * Replicas that a pool may have now: while it backs off those that are ready, and then one more, to try.
 *
 * @param current replicas asked for, some of which may still start where only room was short.
 * @returns undefined: it may grow.
 */
export function mostStarting(
  { failures, untilMs, trouble, ready }: StartState,
  current: number,
  nowMs: number,
): { readonly most: number; readonly reason: string } | undefined {
  if (failures === 0 || untilMs === undefined || trouble === undefined) return undefined;
  const isWaiting = nowMs < untilMs;
  if (trouble.kind === 'no-room') return isWaiting ? { most: current, reason: trouble.message } : undefined;
  return { most: isWaiting ? ready : ready + 1, reason: trouble.message };
}
