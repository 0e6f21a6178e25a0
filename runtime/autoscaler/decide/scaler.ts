import type { Demand, MetricVerdict, Recommendation } from './algorithm';
import { correct, horizonMs, type Limit, type Mode } from './behavior';
import type { UnitDecision } from './decision';
import { type History, remember } from './history';
import { clamp } from './rules';
import type { PolicySpec } from './spec';
import { steadyDemand } from './steady-demand';

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
  spec: Pick<PolicySpec, 'algorithm' | 'behavior' | 'metricWindowMs'>,
  demand: Demand,
  known: History | undefined,
  round: { readonly atMs: number; readonly isViewStale: boolean },
): { readonly count: Count; readonly history: History } {
  const { algorithm, behavior } = spec;
  const { current, bounds } = demand;
  const history = known ?? algorithm.firstHistory(current, round.atMs);
  const steady = steadyDemand(demand, history.trends, round.atMs, spec.metricWindowMs ?? 0);
  const recommendation = withCaution(algorithm.recommend(steady.demand), algorithm.recommend(steady.cautious), current);
  const verdicts = recommendation.verdicts.map((verdict): MetricVerdict => {
    const steadyLoad = steady.loads.get(verdict.name);
    return steadyLoad === undefined ? verdict : { ...verdict, steadyLoad };
  });
  if (recommendation.kind === 'unknown') {
    const isPanic = history.panicUntilMs !== undefined && round.atMs < history.panicUntilMs;
    return { count: { replicas: current, mode: isPanic ? 'Panic' : 'Stable', verdicts, limits: [], isDecided: false }, history };
  }
  const recommended = recommendation.replicas;
  // Panic is about what is so now.
  const momentary = algorithm.recommend(demand);
  const sudden = momentary.kind === 'metrics' ? momentary.replicas : recommended;
  const correction = correct(behavior, { current, recommended, sudden, bounds }, history, round.atMs, algorithm.isSurge);
  const limits = [...limitsOf(recommendation, demand), ...correction.limits];
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
  const { panicUntilMs: _past, ...windows } = {
    ...history,
    ...(Object.keys(steady.trends).length > 0 && { trends: steady.trends }),
  };
  return {
    count: { recommended, replicas, mode: correction.mode, verdicts, limits, isDecided: true },
    history: remember(
      { ...windows, ...(correction.panicUntilMs !== undefined && { panicUntilMs: correction.panicUntilMs }) },
      { atMs: round.atMs, recommended, replicas },
      horizonMs(behavior),
    ),
  };
}

/** Replicas are taken away only when they are not needed by chance alone. */
function withCaution(asked: Recommendation, cautious: Recommendation, current: number): Recommendation {
  if (asked.kind !== 'metrics' || cautious.kind !== 'metrics' || asked.replicas >= current) return asked;
  return cautious.replicas <= asked.replicas ? asked : { ...cautious, replicas: Math.min(cautious.replicas, current) };
}

/** A target's or a role's decision, as its count says. */
export function unitDecision(name: string, current: number, count: Count): UnitDecision {
  const { recommended, replicas, mode, verdicts, limits } = count;
  return { name, current, ...(recommended !== undefined && { recommended }), desired: replicas, mode, verdicts, limits };
}

/** What stands between the greatest demand of any metric and the recommendation. */
function limitsOf(
  recommendation: Extract<Recommendation, { replicas: number }>,
  { bounds, rest }: Pick<Demand, 'bounds' | 'rest'>,
): readonly Limit[] {
  const { replicas: to, verdicts } = recommendation;
  const from = Math.max(...verdicts.flatMap((verdict) => verdict.replicas ?? []));
  if (recommendation.kind !== 'metrics' || from === to) return [];
  if (clamp(from, bounds) === to) return [{ rule: 'bounds', from, to }];
  const rule = recommendation.keptBy ?? 'missing-metric';
  return [{ rule, from, to, ...(rule === 'busy' && { by: rest?.busy ?? '' }) }];
}
