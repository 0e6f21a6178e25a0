import { Labels } from '../../../src/labels';
import type { Workloads } from '../../cluster/workloads';
import type { Limit as Rule } from '../decide/behavior';
import type { Decision, UnitDecision } from '../decide/decision';
import { repairRatio } from '../decide/ratio';
import type { UnitSpec } from '../decide/spec';
import type { TargetHandle } from '../observe/target-handle';
import { podState, replicaOf } from '../observe/target-pods';
import type { Policy, PolicyUnit } from '../policy';
import { type Footprint, replicaFootprint } from './footprint';
import type { Limit } from './limit';
import { type Claim, type Grant, shareOut } from './share-out';

/** What policies share. */
export interface Shared {
  readonly limits: readonly Limit[];
  /** What exists, and what was promised since it was looked at. */
  readonly taken: readonly Footprint[];
  readonly workloadPods: Workloads;
  /** Whether nothing is written at all. */
  readonly isDryRun: boolean;
}

/** A decision of a policy that may act on its targets. */
export interface Restrainable {
  readonly policy: Policy;
  readonly decision: Decision;
  readonly handles: readonly TargetHandle[];
}

/**
 * Bends the decisions of all policies to what they share and to what careful people asked for: no scale-down during a rollout, no larger step
 * than allowed, and no growth beyond a quota or budget. Replicas may stay below a minimum then; each unit says what held it. Pure.
 */
export function restrain(items: readonly Restrainable[], shared: Shared): readonly Decision[] {
  const careful = items.map((item) => ({ ...item, decision: withSteps(item) }));
  const claims = careful.flatMap((item) => item.decision.units.map((unit, i) => claimOf(item, unit, i, shared)));
  if (shared.limits.length === 0 || !claims.some(({ desired, current }) => desired > current)) {
    return careful.map(({ decision }) => decision);
  }
  const grants = shareOut(claims, shared.limits, shared.taken);
  let at = 0;
  return careful.map((item) => {
    const own = grants.slice(at, at + item.decision.units.length);
    at += own.length;
    return granted(item, own);
  });
}

/** The specification's units, in order. */
export function unitSpecs({ spec: { target } }: Policy): readonly UnitSpec[] {
  switch (target.kind) {
    case 'homogeneous':
      return [target.unit];
    case 'heterogeneous':
      return target.pools;
    case 'disaggregated':
      return target.roles;
  }
}

function withSteps({ policy, decision, handles }: Restrainable): Decision {
  const specs = unitSpecs(policy);
  const units = decision.units.map((unit, i) => {
    const { max, min } = specs[i]!;
    // Beyond the maximum it goes down in any case.
    const isHeld = handles[i]!.isRollingOut && unit.desired < Math.min(unit.current, max);
    const calm = isHeld ? limited(unit, 'rollout', Math.min(unit.current, max)) : unit;
    const step = policy.largestStep ?? Number.POSITIVE_INFINITY;
    const stepped = Math.min(Math.max(calm.desired, calm.current - step), calm.current + step);
    return limited(calm, 'largest-step', Math.min(Math.max(stepped, min), max));
  });
  return withShared(policy, decision, units);
}

function limited(unit: UnitDecision, rule: Rule['rule'], to: number, by?: string): UnitDecision {
  if (to === unit.desired) return unit;
  const limit: Rule = { rule, from: unit.desired, to, ...(by !== undefined && { by }) };
  return { ...unit, desired: to, limits: [...unit.limits, limit] };
}

function claimOf({ policy, handles }: Restrainable, unit: UnitDecision, i: number, { workloadPods }: Shared): Claim {
  const named = policy.units[i]!;
  const { current, desired } = unit;
  const there = handles[i]!.pods.filter((pod) => podState(pod) !== 'terminating' && podState(pod) !== 'failed');
  const replicas = new Set(there.map((pod) => replicaOf(pod, named.role))).size;
  const groups = groupsOf(named, handles[i]!);
  const one = desired > current || replicas < current ? replicaFootprint(named, workloadPods) : [];
  return {
    pending: Math.max(0, current - Math.floor(replicas / groups)),
    current,
    desired,
    min: unitSpecs(policy)[i]!.min,
    priority: policy.priority,
    footprints: Array.from({ length: groups }, () => one).flat(),
  };
}

/** A role's replicas are in each of so many groups. */
function groupsOf({ role }: PolicyUnit, { pods }: TargetHandle): number {
  if (role === undefined) return 1;
  return Math.max(1, new Set(pods.map(({ metadata }) => metadata.labels?.[Labels.modelServingGroup])).size);
}

function granted({ policy, decision }: Restrainable, grants: readonly Grant[]): Decision {
  const units = decision.units.map((unit, i) => {
    const { replicas, cut } = grants[i]!;
    return limited(unit, 'budget', replicas, cut && sentenceOf(cut));
  });
  return withShared(policy, decision, units);
}

/** What units of one policy owe each other, after each of them was limited by itself. */
function withShared(policy: Policy, before: Decision, changed: readonly UnitDecision[]): Decision {
  return withRatioKept(
    policy,
    before,
    policy.spec.target.kind === 'heterogeneous' ? withLoadKept(policy, before, changed) : changed,
  );
}

/** A pool does not go for another that may not grow as it should. */
function withLoadKept(policy: Policy, before: Decision, changed: readonly UnitDecision[]): readonly UnitDecision[] {
  if (!changed.some(({ desired }, i) => desired < before.units[i]!.desired)) return changed;
  const specs = unitSpecs(policy);
  return changed.map((unit, i) => limited(unit, 'starting', Math.max(unit.desired, Math.min(unit.current, specs[i]!.max))));
}

function sentenceOf({ limit, why }: NonNullable<Grant['cut']>): string {
  switch (why) {
    case 'full':
      return `${limit} has no room for another replica`;
    case 'unreadable':
      return `${limit} cannot be read; nothing grows`;
    case 'unpriced':
      return `${limit} limits the cost, and the price of a replica is not known; annotate its pods with kvasir.dev/cost-per-replica-hour`;
  }
}

/** What a limit took from one role is not left to the other when that breaks their ratio. */
function withRatioKept(policy: Policy, before: Decision, changed: readonly UnitDecision[]): Decision {
  if (changed.every((unit, i) => unit === before.units[i])) return before;
  const decision = { ...before, units: changed };
  const { target } = policy.spec;
  if (target.kind !== 'disaggregated' || target.ratio === undefined) return decision;
  const { ratio, roles } = target;
  const n = roles.findIndex(({ name }) => name === ratio.numeratorRole);
  const d = roles.findIndex(({ name }) => name === ratio.denominatorRole);
  const [numerator, denominator] = [decision.units[n], decision.units[d]];
  if (numerator === undefined || denominator === undefined) return decision;
  const bounds = ({ current, desired }: UnitDecision) => ({ min: Math.min(current, desired), max: desired });
  const repair = repairRatio(
    { numerator: numerator.desired, denominator: denominator.desired },
    { numerator: bounds(numerator), denominator: bounds(denominator) },
    ratio,
  );
  if (!repair.isAdjusted && !repair.isViolated) return decision;
  const units = decision.units.map((unit, i) =>
    i === n ? limited(unit, 'ratio', repair.numerator) : i === d ? limited(unit, 'ratio', repair.denominator) : unit,
  );
  return {
    ...decision,
    units,
    isRatioAdjusted: decision.isRatioAdjusted || repair.isAdjusted,
    isRatioViolated: repair.isViolated,
  };
}
