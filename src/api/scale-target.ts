import { WORKLOAD_API_VERSION } from '../labels';
import type { AutoscalingPolicySpec } from './autoscaling-policy';
import type { AutoscalingPolicyBindingSpec } from './autoscaling-policy-binding';
import type { ScaleTargetRef } from './scaling-target';

/** Kinds that a policy may scale, with the version that they are read in. */
export const SCALE_TARGET_API_VERSIONS = {
  ModelServing: WORKLOAD_API_VERSION,
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  LeaderWorkerSet: 'leaderworkerset.x-k8s.io/v1',
  /** Made by the controller of a DisaggregatedSet for each role that is scaled from outside. */
  DisaggregatedSetRoleScaler: 'disaggregatedset.x-k8s.io/v1',
} as const;
export type ScaleTargetKind = keyof typeof SCALE_TARGET_API_VERSIONS;

/** A workload with nothing left to guess. */
export interface ScaleTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A reference to a workload, and the dotted path of the field that makes it. */
export interface LocatedTarget {
  readonly field: string;
  readonly ref: ScaleTargetRef;
}

/** Whether `kind` may be scaled. */
export const isScaleTargetKind = (kind: string): kind is ScaleTargetKind => Object.hasOwn(SCALE_TARGET_API_VERSIONS, kind);

/** What `ref` means in a policy of `namespace`: no kind is a ModelServing, no namespace the policy's own. */
export function scaleTarget(ref: ScaleTargetRef, namespace: string): ScaleTarget {
  const kind = ref.kind === undefined || ref.kind === '' ? 'ModelServing' : ref.kind;
  const apiVersion = ref.apiVersion || (isScaleTargetKind(kind) ? SCALE_TARGET_API_VERSIONS[kind] : '');
  return { apiVersion, kind, namespace: ref.namespace || namespace, name: ref.name ?? '' };
}

/** All workloads that a policy or binding names, in order. */
export function targetRefs(
  spec: Pick<
    AutoscalingPolicySpec & AutoscalingPolicyBindingSpec,
    'homogeneousTarget' | 'heterogeneousTarget' | 'disaggregatedTarget'
  >,
): readonly LocatedTarget[] {
  const { homogeneousTarget, heterogeneousTarget, disaggregatedTarget } = spec;
  return [
    ...(homogeneousTarget === undefined
      ? []
      : [{ field: 'spec.homogeneousTarget.target.targetRef', ref: homogeneousTarget.target?.targetRef ?? {} }]),
    ...(heterogeneousTarget?.params ?? []).map((param, i) => ({
      field: `spec.heterogeneousTarget.params[${i}].target.targetRef`,
      ref: param.target?.targetRef ?? {},
    })),
    ...(disaggregatedTarget === undefined
      ? []
      : [{ field: 'spec.disaggregatedTarget.targetRef', ref: disaggregatedTarget.targetRef }]),
  ];
}
