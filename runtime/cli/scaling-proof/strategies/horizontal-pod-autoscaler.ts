/** What was read of one pod. */
export interface PodMetric {
  /** Pending pods are set aside; one whose containers run and that has no sample is missing. */
  readonly phase: 'pending' | 'running' | 'terminating';
  readonly value?: number;
}

export interface HpaSpec {
  readonly min: number;
  readonly max: number;
  /** Value that the mean over pods should have. */
  readonly target: number;
}

/** What one HorizontalPodAutoscaler remembers between turns. Plain data, oldest first. */
export interface HpaMemory {
  readonly recommendations: readonly { readonly atMs: number; readonly replicas: number }[];
  readonly changes: readonly { readonly atMs: number; readonly replicas: number }[];
}

export const NO_HPA_MEMORY: HpaMemory = { recommendations: [], changes: [] };

/** `--horizontal-pod-autoscaler-tolerance` of the controller manager, by default. */
const TOLERANCE = 0.1;
/** `behavior` where it is not said: down to the greatest recommendation of five minutes; up by 4 pods or 100 % in 15 s, whichever is more. */
const DOWN_WINDOW_MS = 300_000;
const PERIOD_MS = 15_000;
const MOST_PODS = 4;
const MOST_PERCENT = 100;

/**
 * One turn of a HorizontalPodAutoscaler with a metric of its pods (`type: Pods`, `averageValue`) and no `behavior`: the rules of
 * autoscaling/v2, as the Kubernetes documentation states them and its replica calculator carries them out. Pure.
 */
export function decideHpa(
  { min, max, target }: HpaSpec,
  { current, pods, nowMs }: { readonly current: number; readonly pods: readonly PodMetric[]; readonly nowMs: number },
  memory: HpaMemory,
): { readonly replicas: number; readonly memory: HpaMemory } {
  // Zero replicas switch it off.
  if (current === 0) return { replicas: 0, memory };
  const recent = memory.recommendations.filter(({ atMs }) => nowMs - atMs < DOWN_WINDOW_MS);
  const recommendations = recent.length > 0 ? recent : [{ atMs: nowMs, replicas: current }];
  const changes = memory.changes.filter(({ atMs }) => nowMs - atMs < PERIOD_MS);
  const changedTo = (replicas: number, said = recommendations) => ({
    replicas,
    memory: {
      recommendations: said,
      changes: replicas === current ? changes : [...changes, { atMs: nowMs, replicas: replicas - current }],
    },
  });
  if (current > max) return changedTo(max);
  if (current < min) return changedTo(min);
  const wanted = replicasFor(pods, current, target);
  if (wanted === undefined) return changedTo(current);
  const said = [...recommendations, { atMs: nowMs, replicas: wanted }];
  if (wanted > current) {
    const before = current - changes.reduce((sum, { replicas }) => sum + replicas, 0);
    const most = Math.max(before + MOST_PODS, Math.ceil(before * (1 + MOST_PERCENT / 100)), current);
    return changedTo(Math.min(wanted, most, max), said);
  }
  const held = Math.max(...said.map(({ replicas }) => replicas));
  return changedTo(Math.max(min, Math.min(current, held)), said);
}

/** Replicas by the metric alone. @returns undefined when no pod has a sample. */
export function replicasFor(pods: readonly PodMetric[], current: number, target: number): number | undefined {
  const running = pods.filter(({ phase }) => phase === 'running');
  const values = running.flatMap(({ value }) => value ?? []);
  if (values.length === 0) return undefined;
  const pending = pods.filter(({ phase }) => phase === 'pending').length;
  const missing = running.length - values.length;
  // The controller reckons in thousandths, and a mean is cut to a whole one.
  const sum = values.reduce((total, value) => total + Math.round(1000 * value), 0);
  const goal = Math.round(1000 * target);
  const ratio = ratioOf(sum, values.length, goal);
  const isUp = ratio > 1;
  if (missing === 0 && !(isUp && pending > 0)) return isNear(ratio) ? current : Math.ceil(ratio * running.length);
  // Pods without a sample stand against the change: on target when fewer are wanted, idle when more are. Pending ones are idle then, too.
  const counted = values.length + (ratio === 1 ? 0 : missing) + (isUp ? pending : 0);
  const newRatio = ratioOf(ratio < 1 ? sum + missing * goal : sum, counted, goal);
  if (isNear(newRatio) || (ratio < 1 && newRatio > 1) || (isUp && newRatio < 1)) return current;
  const wanted = Math.ceil(newRatio * counted);
  return (newRatio < 1 && wanted > current) || (newRatio > 1 && wanted < current) ? current : wanted;
}

function isNear(ratio: number): boolean {
  return Math.abs(ratio - 1) <= TOLERANCE;
}

function ratioOf(sum: number, count: number, goal: number): number {
  return Math.floor(sum / count) / goal;
}
