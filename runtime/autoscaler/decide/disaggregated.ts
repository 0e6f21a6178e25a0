import type { Limit } from './behavior';
import type { Decided, Memory, UnitDecision } from './decision';
import { heldBack } from './held-back';
import type { Observation, UnitObservation } from './observation';
import { type RatioRepair, repairRatio } from './ratio';
import { type Bounds, clamp } from './rules';
import { decideCount, unitDecision } from './scaler';
import type { PolicySpec, RatioSpec, TargetSpec, UnitSpec } from './spec';

/**
 * Sizes each role by its own load, then repairs the ratio of the two. A role whose pods do not start is not grown, and the other one only as
 * far as the ratio to those that did start allows.
 */
export function decideDisaggregated(
  spec: PolicySpec,
  target: Extract<TargetSpec, { kind: 'disaggregated' }>,
  observation: Observation,
  memory: Memory,
): Decided {
  const sized = target.roles.map((role, i) => sizeRole(spec, role, observation.units[i]!, observation, memory));
  const nextMemory = Object.fromEntries(
    sized.flatMap(({ unit, history }) => (history === undefined ? [] : [[unit.name, history]])),
  );
  const isAnyUnknown = sized.some(({ isDecided }) => !isDecided);
  if (isAnyUnknown && spec.algorithm.name === 'kthena') {
    const units = sized.map(({ unit }) => ({ ...unit, desired: unit.current, limits: [] }));
    return { decision: { units, isRatioAdjusted: false, isRatioViolated: false }, memory };
  }
  const roles = sized.map(({ unit }) => unit);
  const { units, repair } =
    spec.algorithm.name === 'kthena'
      ? withRatio(target, roles, [])
      : withRatio(
          target,
          allOrNone(roles, target.roles).map((unit, i) => heldBack(unit, target.roles[i]!, observation.units[i]!)),
          observation.units,
        );
  const decided = observation.isViewStale ? units.map(withoutScaleDown) : units;
  const isRatioViolated = repair?.isViolated === true || (observation.isViewStale && isRatioBroken(target, decided));
  return {
    decision: { units: decided, isRatioAdjusted: repair?.isAdjusted ?? false, isRatioViolated },
    memory: nextMemory,
  };
}

function sizeRole(spec: PolicySpec, role: UnitSpec, seen: UnitObservation, round: Observation, memory: Memory) {
  const { current, metrics, unreadyPods, rest } = seen;
  if (role.min === role.max && role.min > 0) {
    const unit: UnitDecision = {
      name: role.name,
      current,
      recommended: role.min,
      desired: role.min,
      mode: 'Stable',
      verdicts: [],
      limits: [],
    };
    return { unit, history: undefined, isDecided: true };
  }
  const demand = { current, bounds: role, tolerance: spec.tolerance, metrics, unreadyPods, targets: 1, ...(rest && { rest }) };
  const { count, history } = decideCount(spec, demand, memory[role.name], round);
  return { unit: unitDecision(role.name, current, count), history, isDecided: count.isDecided };
}

/** One role without the others serves nothing: the last replica of each stays as long as any other role has one. */
function allOrNone(units: readonly UnitDecision[], roles: readonly UnitSpec[]): readonly UnitDecision[] {
  if (units.every(({ desired }) => desired === 0)) return units;
  return units.map((unit, i) => {
    if (unit.desired > 0 || roles[i]!.max < 1) return unit;
    const limit: Limit = { rule: 'ratio', from: 0, to: 1 };
    return { ...unit, desired: 1, limits: [...unit.limits, limit] };
  });
}

/** @param seen of the roles, for those that do not start: the ratio is then that to the replicas that did. */
function withRatio(
  { roles, ratio }: { readonly roles: readonly UnitSpec[]; readonly ratio?: RatioSpec },
  units: readonly UnitDecision[],
  seen: readonly UnitObservation[],
): { readonly units: readonly UnitDecision[]; readonly repair?: RatioRepair } {
  const numerator = roles.findIndex((role) => role.name === ratio?.numeratorRole);
  const denominator = roles.findIndex((role) => role.name === ratio?.denominatorRole);
  if (ratio === undefined || numerator < 0 || denominator < 0) return { units };
  const isAnyStuck = seen.some(({ backOff }) => backOff !== undefined);
  const sides = units.map(({ desired, current, mode }, i): { readonly count: number; readonly bounds: Bounds } => {
    const role = roles[i]!;
    const started = seen[i]?.backOff?.most;
    if (started !== undefined) {
      const count = Math.max(1, Math.min(desired, started));
      return { count, bounds: { min: count, max: count } };
    }
    // Exactly as in Kthena only the bounds count.
    if (seen.length === 0) return { count: desired, bounds: role };
    // Panic takes nothing away, and what runs is not taken away for what does not start. The last replica stays: see `allOrNone`.
    const isKept = isAnyStuck || mode === 'Panic';
    return {
      count: desired,
      bounds: { ...role, min: Math.max(role.min, isKept ? Math.min(current, desired) : Math.min(1, desired)) },
    };
  });
  const repair = repairRatio(
    { numerator: sides[numerator]!.count, denominator: sides[denominator]!.count },
    { numerator: sides[numerator]!.bounds, denominator: sides[denominator]!.bounds },
    ratio,
  );
  const repaired = units.map((unit, i) => {
    if (seen[i]?.backOff !== undefined) return unit;
    const to = i === numerator ? repair.numerator : i === denominator ? repair.denominator : clamp(unit.desired, roles[i]!);
    if (to === unit.desired) return unit;
    const limit: Limit = { rule: 'ratio', from: unit.desired, to };
    return { ...unit, desired: to, limits: [...unit.limits, limit] };
  });
  return { units: repaired, repair };
}

/** Whether the ratio does not hold for `units` as they are. */
function isRatioBroken({ ratio }: { readonly ratio?: RatioSpec }, units: readonly UnitDecision[]): boolean {
  const numerator = units.find(({ name }) => name === ratio?.numeratorRole)?.desired;
  const denominator = units.find(({ name }) => name === ratio?.denominatorRole)?.desired;
  if (ratio === undefined || numerator === undefined || denominator === undefined) return false;
  const asIs = (count: number): Bounds => ({ min: count, max: count });
  return repairRatio({ numerator, denominator }, { numerator: asIs(numerator), denominator: asIs(denominator) }, ratio)
    .isViolated;
}

function withoutScaleDown(unit: UnitDecision): UnitDecision {
  if (unit.desired >= unit.current) return unit;
  return {
    ...unit,
    desired: unit.current,
    limits: [...unit.limits, { rule: 'stale-view', from: unit.desired, to: unit.current }],
  };
}
