import type { Limit } from './behavior';
import { capacityOf, cheapestMix, costOf, type MixPool } from './cheapest-mix';
import type { Decided, Memory, UnitDecision } from './decision';
import { nextMix } from './next-mix';
import type { Observation, UnitObservation } from './observation';
import { commonRest, poolLoads, relativeCapacities } from './pool-loads';
import { clamp } from './rules';
import { decideCount } from './scaler';
import type { PolicySpec, TargetSpec } from './spec';

const TOTAL = 'total';
const ROUNDING = 1e-9;

/**
 * Sizes several pools by their common load, counted in replicas of the weakest pool, and finds the mix of replicas that carries it at least
 * cost. New replicas are ready before those go that they replace.
 */
export function decideByLeastCost(
  spec: PolicySpec,
  target: Extract<TargetSpec, { kind: 'heterogeneous' }>,
  observation: Observation,
  memory: Memory,
): Decided {
  const { units } = observation;
  const capacities = relativeCapacities(units);
  const pools = target.pools.map((pool, i): MixPool => {
    const { startMs } = units[i]!;
    return { ...pool, capacity: capacities[i]!, ...(startMs !== undefined && { startMs }) };
  });
  // What does not start leaves its share to the next cheapest; what a minimum asks for is tried in any case.
  const startable = pools.map((pool, i) => ({
    ...pool,
    max: Math.max(pool.min, Math.min(pool.max, units[i]!.backOff?.most ?? pool.max)),
  }));
  const current = units.map((unit) => unit.current);
  const rest = commonRest(units);
  const demand = {
    current: capacityOf(pools, current),
    bounds: {
      min: capacityOf(
        pools,
        pools.map(({ min }) => min),
      ),
      max: capacityOf(
        pools,
        pools.map(({ max }) => max),
      ),
    },
    tolerance: spec.tolerance,
    metrics: poolLoads(units, capacities),
    unreadyPods: units.reduce((sum, { unreadyPods }) => sum + unreadyPods, 0),
    targets: units.length,
    ...(rest && { rest }),
  };
  const { count, history } = decideCount(spec, demand, memory[TOTAL], observation);
  // Where nothing is known, the sum over all bounds is no reason to grow one pool for another.
  const isWaking = rest?.wake === 'wanted' && current.every((replicas) => replicas === 0);
  const isBlind = !isWaking && count.verdicts.every(({ replicas }) => replicas === undefined);
  const isDecided = count.isDecided && !isBlind;
  const wanted = isDecided
    ? nextMix(startable, current, count.replicas)
    : current.map((replicas, i) => clamp(replicas, pools[i]!));
  const recommended = count.recommended === undefined ? undefined : cheapestMix(pools, count.recommended);
  const free = isDecided ? nextMix(pools, current, count.replicas) : wanted;
  const hold = holdOf(pools, units, wanted, isDecided ? count.replicas : 0, observation.isViewStale);
  const decided = pools.map(({ name, max }, i): UnitDecision => {
    // Beyond its maximum a pool goes down in any case.
    const held =
      hold === undefined
        ? wanted[i]!
        : Math.max(wanted[i]!, Math.min(current[i]!, hold === 'stale-view' ? current[i]! : Math.min(max, startable[i]!.max)));
    const { backOff } = units[i]!;
    const backedOff: readonly Limit[] =
      backOff !== undefined && free[i]! > wanted[i]!
        ? [{ rule: 'back-off', from: free[i]!, to: wanted[i]!, by: `${name}: ${backOff.reason}` }]
        : [];
    const limit: Limit | undefined = hold && held !== wanted[i] ? { rule: hold, from: wanted[i]!, to: held } : undefined;
    return {
      name,
      current: current[i]!,
      ...(recommended !== undefined && { recommended: recommended[i]! }),
      desired: held,
      mode: count.mode,
      verdicts: count.verdicts,
      limits: [...count.limits, ...backedOff, ...(limit === undefined ? [] : [limit])],
    };
  });
  const mix = decided.map(({ desired }) => desired);
  return {
    decision: {
      units: decided,
      isRatioAdjusted: false,
      isRatioViolated: false,
      mix: { load: count.replicas, capacities, cost: costOf(pools, mix) },
    },
    memory: { [TOTAL]: history },
  };
}

/** Why no pool may shrink now: its replacement is not asked for or not ready yet, or the view of the cluster is too old. */
function holdOf(
  pools: readonly MixPool[],
  units: readonly UnitObservation[],
  wanted: readonly number[],
  load: number,
  isViewStale: boolean,
): 'stale-view' | 'starting' | undefined {
  if (!units.some(({ current }, i) => wanted[i]! < current)) return undefined;
  if (isViewStale) return 'stale-view';
  if (units.some(({ current }, i) => wanted[i]! > current)) return 'starting';
  const ready = units.map(({ current, unreadyPods }) => Math.max(0, current - unreadyPods));
  const readyThen = ready.map((count, i) => Math.min(count, wanted[i]!));
  const needed = Math.min(load, capacityOf(pools, ready));
  return capacityOf(pools, readyThen) < needed * (1 - ROUNDING) ? 'starting' : undefined;
}
