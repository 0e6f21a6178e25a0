import { demandRate, trafficOf } from '../decide/capacity/traffic';
import type { MetricObservation, UnitObservation } from '../decide/observation';
import type { Policy } from '../policy';
import type { PoolRate } from './capacity-book';
import { heldDemand, withHeld } from './held-demand';
import { tokensPerSecond } from './pool-capacity';
import { poolEngine } from './pool-engine';
import { poolWindows } from './pool-windows';
import { replicaDemands } from './replica-demands';
import { replicaEngines } from './replica-engines';
import { withRoleCapacity } from './role-capacity';
import type { RoundView } from './round-view';
import { withSloMetric } from './slo-metric';
import type { TargetHandle } from './target-handle';

/** Whether capacity matters to a policy: it asks for latency, or compares pools. */
export function learnsCapacity({ goal, spec }: Policy): boolean {
  const isByCost = spec.target.kind === 'heterogeneous' && spec.target.strategy !== 'blocks';
  const isComparing = isByCost || (spec.target.kind !== 'heterogeneous' && goal !== undefined);
  return isComparing && spec.algorithm.name === 'default';
}

/**
 * What replicas carry, for policies that ask for latency or compare pools: learned from the engines' own metrics, with the catalogue as the
 * start. With `spec.slo` the arrival rate is one more metric. `algorithm: kthena` has no part in it.
 */
export async function withCapacity(
  policy: Policy,
  units: readonly UnitObservation[],
  handles: readonly TargetHandle[],
  view: RoundView,
): Promise<{ readonly seen: readonly UnitObservation[]; readonly learned?: readonly (PoolRate['learned'] | undefined)[] }> {
  const { goal, spec } = policy;
  if (!learnsCapacity(policy)) return { seen: units };
  if (spec.target.kind === 'disaggregated') {
    const roles = await Promise.all(units.map((unit, i) => withRoleCapacity(policy, policy.units[i]!, unit, handles[i]!, view)));
    return { seen: roles.map(({ seen }) => seen), learned: roles.map(({ learned }) => learned) };
  }
  const engines = policy.units.flatMap(({ target }) => poolEngine(target, view) ?? []);
  const engineCounts = policy.units.flatMap(({ target }) => replicaEngines(target, view) ?? []);
  if (engines.length < units.length || engineCounts.length < units.length) {
    const reason =
      engines.length < units.length
        ? 'the pods of a target run no engine of the catalogue, or name no accelerator of it'
        : 'serving groups of a target have different engines; scale its roles by a disaggregatedTarget';
    return {
      seen: goal === undefined ? units : units.map((unit) => withSloMetric(unit, { reading: { kind: 'missing', reason } })),
    };
  }
  const pools = await Promise.all(
    units.map(async ({ name }, i) => {
      const engine = engines[i]!;
      return { name, engine, ...(await poolWindows(engine, handles[i]!.pods, view)) };
    }),
  );
  const rates = view.capacities.learn(policy.id, pools, goal, policy.object.status);
  const learned = rates.map((each) => each.learned);
  const ofEngines =
    goal === undefined && !view.capacities.hasMix(policy.id) ? engines.map(tokensPerSecond) : rates.map(({ rate }) => rate);
  const capacities = ofEngines.map((capacity, i) => capacity * engineCounts[i]!);
  const least = Math.min(...capacities);
  if (!(least > 0)) {
    const reason = 'even a lone request is slower than spec.slo on one of the targets; widen it, or take faster replicas';
    return { seen: units.map((unit) => withSloMetric(unit, { reading: { kind: 'missing', reason } })), learned };
  }
  const demands = units.map((_, i) =>
    replicaDemands(handles[i]!.pods, pools[i]!.recent, undefined, (window) => demandRate(trafficOf(window))),
  );
  // Pools serve the same requests: what waits for them is counted once.
  const held = goal === undefined ? 0 : await heldDemand(policy.units[0]!, handles[0]!.pods, view);
  const replicas = demands.reduce((sum, values) => sum + values.length, 0);
  const seen = units.map((unit, i): UnitObservation => {
    const compared = spec.target.kind === 'heterogeneous' ? { ...unit, capacity: capacities[i]! } : unit;
    if (goal === undefined) return compared;
    const values = withHeld(demands[i]!, held, demands[i]!.length / replicas);
    const reading: MetricObservation['reading'] =
      values.length > 0 ? { kind: 'samples', values, over: 'window' } : { kind: 'missing', reason: pools[i]!.whyNone };
    return withSloMetric(compared, { targetValue: least, reading });
  });
  return { seen, learned };
}
