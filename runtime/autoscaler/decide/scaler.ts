import type { Demand, MetricVerdict, Recommendation } from './algorithm';
import { correct, horizonMs, type Limit, type Mode } from './behavior';
import type { UnitDecision } from './decision';
import { type History, remember } from './history';
import { type Bounds, clamp } from './rules';
import type { PolicySpec } from './spec';

/** What one scaler decided: a target, the sum of several, or a role. */
export interface Count {
  readonly recommended?: number;
  readonly replicas: number;
  readonly mode: Mode;
  readonly verdicts: readonly MetricVerdict[];
  readonly limits: readonly Limit[];
  /** Whether a recommendation was made; without one nothing is remembered and nothing changes. */
  readonly isDecided: boolean;
}

/** Recommendation, then correction by the behavior. Pure; the returned history is the one for the next round. */
export function decideCount(
  spec: Pick<PolicySpec, 'algorithm' | 'behavior'>,
  demand: Demand,
  known: History | undefined,
  round: { readonly atMs: number; readonly isViewStale: boolean },
): { readonly count: Count; readonly history: History } {
  const { algorithm, behavior } = spec;
  const { current, bounds } = demand;
  const history = known ?? algorithm.firstHistory(current, round.atMs);
  const recommendation = algorithm.recommend(demand);
  const { verdicts } = recommendation;
  if (recommendation.kind === 'unknown') {
    const isPanic = history.panicUntilMs !== undefined && round.atMs < history.panicUntilMs;
    return { count: { replicas: current, mode: isPanic ? 'Panic' : 'Stable', verdicts, limits: [], isDecided: false }, history };
  }
  const recommended = recommendation.replicas;
  const correction = correct(behavior, { current, recommended, bounds }, history, round.atMs, algorithm.isSurge);
  const limits = [...limitsOf(recommendation, bounds), ...correction.limits];
  let { replicas } = correction;
  // At once: neither a stabilization window nor a rate holds up requests that wait for the first replica.
  if (demand.rest?.wake === 'wanted' && replicas < 1 && bounds.max >= 1) {
    limits.push({ rule: 'wake', from: replicas, to: 1 });
    replicas = 1;
  }
  if (round.isViewStale && replicas < current) {
    limits.push({ rule: 'stale-view', from: replicas, to: current });
    replicas = current;
  }
  const { panicUntilMs: _past, ...windows } = history;
  return {
    count: { recommended, replicas, mode: correction.mode, verdicts, limits, isDecided: true },
    history: remember(
      { ...windows, ...(correction.panicUntilMs !== undefined && { panicUntilMs: correction.panicUntilMs }) },
      { atMs: round.atMs, recommended, replicas },
      horizonMs(behavior),
    ),
  };
}

/** A target's or a role's decision, as its count says. */
export function unitDecision(name: string, current: number, count: Count): UnitDecision {
  const { recommended, replicas, mode, verdicts, limits } = count;
  return { name, current, ...(recommended !== undefined && { recommended }), desired: replicas, mode, verdicts, limits };
}

/** What stands between the greatest demand of any metric and the recommendation. */
function limitsOf(recommendation: Extract<Recommendation, { replicas: number }>, bounds: Bounds): readonly Limit[] {
  const { replicas: to, verdicts } = recommendation;
  const from = Math.max(...verdicts.flatMap((verdict) => verdict.replicas ?? []));
  if (recommendation.kind !== 'metrics' || from === to) return [];
  if (clamp(from, bounds) === to) return [{ rule: 'bounds', from, to }];
  return [{ rule: recommendation.keptBy ?? 'missing-metric', from, to }];
}
