import type { AutoscalingPolicy, AutoscalingPolicyStatus, TargetScalingStatus } from '../../../src/api/autoscaling-policy';
import type { AutoscalingPolicyBinding } from '../../../src/api/autoscaling-policy-binding';
import { type Condition, describeObject, keyOf } from '../../../src/api/meta';
import { scaleTarget } from '../../../src/api/scale-target';
import { Annotations } from '../../../src/labels';
import type { ExplainedRound } from '../../autoscaler/report/explain-ring';
import { type Look, objectsOf } from './look';

/** One thing with a replica count that a policy scales. */
export interface PolicyUnitView {
  /** Workload or role, as the status names it. */
  readonly name: string;
  /** `Kind namespace/name`. */
  readonly workload: string;
  readonly min: number;
  readonly max: number;
  /** As the status says, of the last round that told. */
  readonly current?: number;
  /** What metrics ask for before any rule. */
  readonly wanted?: number;
  readonly mode?: string;
  readonly lastScaleTime?: string;
}

/** A policy that has a target, or a binding. */
export interface PolicyView {
  readonly object: AutoscalingPolicy | AutoscalingPolicyBinding;
  /** `Kind namespace/name`. */
  readonly name: string;
  readonly units: readonly PolicyUnitView[];
  readonly conditions: readonly Condition[];
  /** What keeps it from writing although it decides. */
  readonly heldBy?: 'paused' | 'recommend-only';
  /** The autoscaler's last round for it, where one was asked. */
  readonly round?: ExplainedRound;
}

/** Every policy that scales something, oldest first. Pure. */
export function policyViews(look: Look): readonly PolicyView[] {
  const policies = objectsOf(look, 'AutoscalingPolicy');
  const byKey = new Map(policies.map((policy) => [keyOf(policy), policy]));
  const all: readonly PolicyView['object'][] = [
    ...policies.filter(({ spec }) => spec.homogeneousTarget ?? spec.heterogeneousTarget ?? spec.disaggregatedTarget),
    ...objectsOf(look, 'AutoscalingPolicyBinding'),
  ];
  return all
    .map((object) => {
      const name = describeObject(object);
      const round = look.rounds?.get(name);
      const rules =
        object.kind === 'AutoscalingPolicyBinding'
          ? byKey.get(`${object.metadata.namespace ?? 'default'}/${object.spec.policyRef.name}`)
          : object;
      const annotations = { ...rules?.metadata.annotations, ...object.metadata.annotations };
      return {
        object,
        name,
        units: unitsOf(object),
        conditions: object.status?.conditions ?? [],
        ...(annotations[Annotations.pause] === 'true' && { heldBy: 'paused' as const }),
        ...(annotations[Annotations.recommendOnly] === 'true' && { heldBy: 'recommend-only' as const }),
        ...(round !== undefined && { round }),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The condition of a type, when it has been told. */
export function conditionOf({ conditions }: Pick<PolicyView, 'conditions'>, type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

function unitsOf({ metadata, spec, status }: PolicyView['object']): readonly PolicyUnitView[] {
  const { homogeneousTarget, heterogeneousTarget, disaggregatedTarget } = spec;
  const namespace = metadata.namespace ?? 'default';
  const workloadOf = (ref: Parameters<typeof scaleTarget>[0]): { readonly name: string; readonly workload: string } => {
    const target = scaleTarget(ref, namespace);
    return { name: target.name, workload: `${target.kind} ${target.namespace}/${target.name}` };
  };
  const pools = [...(homogeneousTarget === undefined ? [] : [homogeneousTarget]), ...(heterogeneousTarget?.params ?? [])];
  const units = [
    ...pools.map(({ target, minReplicas, maxReplicas }) => ({
      ...workloadOf(target?.targetRef ?? {}),
      min: minReplicas,
      max: maxReplicas,
    })),
    ...Object.entries(disaggregatedTarget?.roles ?? {}).map(([role, { minReplicas, maxReplicas }]) => ({
      ...workloadOf(disaggregatedTarget!.targetRef),
      name: role,
      min: minReplicas,
      max: maxReplicas,
    })),
  ];
  const told = unitStatuses(status);
  return units.map((unit, index) => {
    const own =
      told.find(({ name }) => name === unit.name || name === unit.workload.split(' ')[1]) ??
      (told.length === units.length ? told[index] : undefined);
    return { ...unit, ...(own !== undefined && factsOf(own)) };
  });
}

function unitStatuses(status: AutoscalingPolicyStatus | undefined): readonly TargetScalingStatus[] {
  if (status?.homogeneousStatus !== undefined) return [status.homogeneousStatus];
  return status?.heterogeneousStatus ?? status?.disaggregatedStatus?.roles ?? [];
}

function factsOf({ currentReplicas, desiredReplicas, mode, lastScaleTime }: TargetScalingStatus): Partial<PolicyUnitView> {
  return {
    current: currentReplicas,
    wanted: desiredReplicas,
    ...(mode !== undefined && { mode }),
    ...(lastScaleTime !== undefined && { lastScaleTime }),
  };
}
