import type { Pod } from '../../../src/api/pod';
import type { EngineWindow } from '../decide/capacity/engine-window';
import { demandRate, trafficOf } from '../decide/capacity/traffic';
import type { MetricObservation, UnitObservation } from '../decide/observation';
import type { Policy } from '../policy';
import type { PoolRate } from './capacity-book';
import { engineWindow } from './engine-window';
import { tokensPerSecond } from './pool-capacity';
import { type PoolEngine, podsOfRevision, poolEngine } from './pool-engine';
import type { RoundView } from './round-view';
import type { TargetHandle } from './target-handle';
import { podState } from './target-pods';

/** Name of the metric that `spec.slo` stands for: requests per second for each replica, against what one carries within it. */
export const SLO_METRIC = 'slo';

/** Whether capacity matters to a policy: it asks for latency, or compares pools. */
export function learnsCapacity({ goal, spec }: Policy): boolean {
  const isByCost = spec.target.kind === 'heterogeneous' && spec.target.strategy !== 'blocks';
  const isComparing = isByCost || (spec.target.kind === 'homogeneous' && goal !== undefined);
  return isComparing && spec.algorithm.name === 'default';
}

/**
 * What replicas carry, for policies that ask for latency or compare pools: learned from the engines' own metrics, with the catalogue as the
 * start. With `spec.slo` the arrival rate is one more metric. Roles and `algorithm: kthena` have no part in it.
 */
export async function withCapacity(
  policy: Policy,
  units: readonly UnitObservation[],
  handles: readonly TargetHandle[],
  view: RoundView,
): Promise<{ readonly seen: readonly UnitObservation[]; readonly learned?: readonly PoolRate['learned'][] }> {
  const { goal, spec } = policy;
  if (!learnsCapacity(policy)) return { seen: units };
  const engines = policy.units.flatMap(({ target }) => poolEngine(target, view) ?? []);
  if (engines.length < units.length) {
    const reason = 'the pods of a target run no engine of the catalogue, or name no accelerator of it';
    return { seen: goal === undefined ? units : units.map((unit) => withMetric(unit, { reading: { kind: 'missing', reason } })) };
  }
  const pools = await Promise.all(units.map((unit, i) => readPool(unit.name, engines[i]!, handles[i]!.pods, view)));
  const rates = view.capacities.learn(policy.id, pools, goal, policy.object.status);
  const learned = rates.map((each) => each.learned);
  const capacities =
    goal === undefined && !view.capacities.hasMix(policy.id) ? engines.map(tokensPerSecond) : rates.map(({ rate }) => rate);
  const least = Math.min(...capacities);
  if (!(least > 0)) {
    const reason = 'even a lone request is slower than spec.slo on one of the targets; widen it, or take faster replicas';
    return { seen: units.map((unit) => withMetric(unit, { reading: { kind: 'missing', reason } })), learned };
  }
  const seen = units.map((unit, i): UnitObservation => {
    const compared = spec.target.kind === 'heterogeneous' ? { ...unit, capacity: capacities[i]! } : unit;
    if (goal === undefined) return compared;
    const values = pools[i]!.recent.map((window) => demandRate(trafficOf(window)));
    const reading: MetricObservation['reading'] =
      values.length > 0
        ? { kind: 'samples', values, over: 'window' }
        : { kind: 'missing', reason: 'no engine has a window to compare with yet' };
    return withMetric(compared, { targetValue: least, reading });
  });
  return { seen, learned };
}

function withMetric(
  unit: UnitObservation,
  metric: Partial<MetricObservation> & Pick<MetricObservation, 'reading'>,
): UnitObservation {
  return { ...unit, metrics: [...unit.metrics, { name: SLO_METRIC, targetValue: 1, ...metric }] };
}

/** Windows of the engines of a pool: since the last round, to learn from, and over the window of rates, for what arrives. */
async function readPool(name: string, engine: PoolEngine, pods: readonly Pod[], view: RoundView) {
  const ready = pods.filter((pod) => podState(pod) === 'ready');
  const current = new Set(podsOfRevision(ready, engine.revision, view));
  const windows: EngineWindow[] = [];
  const recent: EngineWindow[] = [];
  const pages = await Promise.all(
    ready.map(async (pod) => ({ pod, page: await view.pages.read(pod, engine.port, engine.engine.metricsPath) })),
  );
  for (const { pod, page } of pages) {
    if (page.kind === 'unreachable') continue;
    const { last, windowAgo, oldest } = page.past;
    const lately = last && engineWindow(engine.engine, last, page);
    if (lately !== undefined && current.has(pod)) windows.push(lately);
    const since = windowAgo ?? oldest;
    const over = since && engineWindow(engine.engine, since, page);
    if (over !== undefined) recent.push(over);
  }
  return { name, engine, windows, recent };
}
