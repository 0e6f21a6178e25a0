import { combineUnits } from '../combine';
import type { Decided, Memory } from '../decision';
import type { History } from '../history';
import type { Observation } from '../observation';
import { commonRest } from '../pool-loads';
import { clamp } from '../rules';
import { decideCount } from '../scaler';
import type { PolicySpec, TargetSpec } from '../spec';
import { blockOrder, placeOnPools } from './block-order';

const TOTAL = 'total';

/** Sizes the sum of several pools by their common load, then lays it on the pools in the order of cost blocks, as Kthena does. */
export function decideByBlocks(
  spec: PolicySpec,
  target: Extract<TargetSpec, { kind: 'heterogeneous' }>,
  observation: Observation,
  memory: Memory,
): Decided {
  const { pools, costExpansionRatePercent } = target;
  const { units } = observation;
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const rest = commonRest(units);
  const demand = {
    current: sum(units.map((unit) => unit.current)),
    bounds: { min: sum(pools.map((pool) => pool.min)), max: sum(pools.map((pool) => pool.max)) },
    tolerance: spec.tolerance,
    metrics: combineUnits(units),
    unreadyPods: sum(units.map((unit) => unit.unreadyPods)),
    targets: units.length,
    ...(rest && { rest }),
  };
  const { count, history } = decideCount(spec, demand, memory[TOTAL], observation);
  const blocks = blockOrder(pools, costExpansionRatePercent);
  const isWaking = rest?.wake === 'wanted' && units.every((unit) => unit.current === 0);
  // Kthena lays the sum on its blocks even where only its bounds are known, and otherwise leaves pools beyond their bounds.
  const isBlind =
    spec.algorithm.name === 'default' && !isWaking && count.verdicts.every(({ replicas }) => replicas === undefined);
  const unplaced = units.map((unit, i) => (isBlind ? clamp(unit.current, pools[i]!) : unit.current));
  const placed = count.isDecided && !isBlind ? placeOnPools(pools, blocks, count.replicas) : unplaced;
  const recommended = count.recommended === undefined ? undefined : placeOnPools(pools, blocks, count.recommended);
  return {
    decision: {
      units: pools.map((pool, i) => {
        const current = units[i]!.current;
        const isHeld = observation.isViewStale && placed[i]! < current;
        return {
          name: pool.name,
          current,
          ...(recommended !== undefined && { recommended: recommended[i]! }),
          desired: isHeld ? current : placed[i]!,
          mode: count.mode,
          verdicts: count.verdicts,
          limits: count.limits,
        };
      }),
      isRatioAdjusted: false,
      isRatioViolated: false,
    },
    memory: {
      [TOTAL]: count.isDecided && spec.algorithm.name === 'kthena' ? withoutRawRecommendation(history, count.replicas) : history,
    },
  };
}

/** Kthena keeps the corrected total where the raw recommendation belongs. */
function withoutRawRecommendation(history: History, corrected: number): History {
  const last = history.recommendations.at(-1);
  if (last === undefined) return history;
  return { ...history, recommendations: [...history.recommendations.slice(0, -1), { atMs: last.atMs, replicas: corrected }] };
}
