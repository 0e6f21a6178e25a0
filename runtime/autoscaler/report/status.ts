import { isDeepStrictEqual } from 'node:util';
import type { AutoscalingPolicyStatus, LearnedCapacityStatus, TargetScalingStatus } from '../../../src/api/autoscaling-policy';
import type { Condition } from '../../../src/api/meta';
import type { Allocated } from '../allocate';
import type { Applied } from '../apply/apply';
import type { Decision, UnitDecision } from '../decide/decision';
import type { TargetSpec } from '../decide/spec';

/** The complete status of a policy after a round; what a round could not see stays as it was. Pure. */
export function statusOf(
  allocated: Allocated,
  applied: Applied,
  conditions: readonly Condition[],
  before: AutoscalingPolicyStatus | undefined,
  now: string,
): AutoscalingPolicyStatus {
  const { generation } = allocated.policy.object.metadata;
  const head = { ...(generation !== undefined && { observedGeneration: generation }), conditions };
  if (allocated.kind === 'unseen') return { ...before, ...head };
  const { decision, learned } = allocated;
  const earlier = unitStatuses(before);
  const units = decision.units.map((unit, i) => ({
    ...unitStatus(unit, i, earlier, writtenNames(applied), now),
    ...learnedCapacity(learned?.[i], earlierOf(unit.name, i, earlier), now),
  }));
  return { ...head, ...sectionOf(allocated.policy.spec.target, decision, units) };
}

function unitStatuses(status: AutoscalingPolicyStatus | undefined): readonly TargetScalingStatus[] {
  if (status?.homogeneousStatus !== undefined) return [status.homogeneousStatus];
  return status?.heterogeneousStatus ?? status?.disaggregatedStatus?.roles ?? [];
}

/** Names of targets (`namespace/name` and bare name) and roles that this round wrote. */
function writtenNames({ written }: Applied): ReadonlySet<string> {
  return new Set(
    written.flatMap((write) =>
      write.kind === 'roles' ? Object.keys(write.to) : [write.target.name, `${write.target.namespace}/${write.target.name}`],
    ),
  );
}

function unitStatus(
  { name, current, recommended, desired, mode }: UnitDecision,
  index: number,
  before: readonly TargetScalingStatus[],
  written: ReadonlySet<string>,
  now: string,
): TargetScalingStatus {
  const earlier = earlierOf(name, index, before);
  const lastScaleTime = written.has(name) ? now : earlier?.lastScaleTime;
  return {
    name,
    currentReplicas: current,
    desiredReplicas: recommended ?? desired,
    mode,
    ...(lastScaleTime !== undefined && { lastScaleTime }),
  };
}

function earlierOf(name: string, index: number, before: readonly TargetScalingStatus[]): TargetScalingStatus | undefined {
  return before.find((unit) => unit.name === name) ?? before[index];
}

/** Most often that what was learned is written, so that a status does not change each round. */
const CAPACITY_WRITE_MS = 5 * 60_000;

function learnedCapacity(
  learned: Omit<LearnedCapacityStatus, 'time'> | undefined,
  earlier: TargetScalingStatus | undefined,
  now: string,
): Pick<TargetScalingStatus, 'learnedCapacity'> {
  const kept = earlier?.learnedCapacity;
  if (learned === undefined) return kept === undefined ? {} : { learnedCapacity: kept };
  if (kept !== undefined) {
    const { time, ...figures } = kept;
    if (Date.parse(now) - Date.parse(time) < CAPACITY_WRITE_MS || isDeepStrictEqual(figures, learned))
      return { learnedCapacity: kept };
  }
  return { learnedCapacity: { ...learned, time: now } };
}

function sectionOf(
  target: TargetSpec,
  decision: Decision,
  units: readonly TargetScalingStatus[],
): Partial<AutoscalingPolicyStatus> {
  switch (target.kind) {
    case 'homogeneous':
      return { homogeneousStatus: units[0]! };
    case 'heterogeneous':
      return { heterogeneousStatus: units };
    case 'disaggregated': {
      const { ratio } = target;
      const desired = (role: string): number => decision.units.find((unit) => unit.name === role)?.desired ?? 0;
      if (ratio === undefined) return { disaggregatedStatus: { roles: units, ratioAdjusted: decision.isRatioAdjusted } };
      const { numeratorRole, denominatorRole } = ratio;
      const below = desired(denominatorRole);
      const currentRatio = below === 0 ? {} : { currentRatio: String(Number((desired(numeratorRole) / below).toFixed(4))) };
      return {
        disaggregatedStatus: {
          roles: units,
          ratioStatus: { numeratorRole, denominatorRole, ...currentRatio },
          ratioAdjusted: decision.isRatioAdjusted,
        },
      };
    }
  }
}
