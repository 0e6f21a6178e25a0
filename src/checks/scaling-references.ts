import type { AutoscalingPolicy } from '../api/autoscaling-policy';
import type { AutoscalingPolicyBinding } from '../api/autoscaling-policy-binding';
import { autoscalingPolicyRules } from '../api/autoscaling-policy-rules';
import { boundPolicy } from '../api/bound-policy';
import { fieldPath } from '../api/field-path';
import { describeObject, type KubeObject } from '../api/meta';
import type { ModelServing } from '../api/model-serving';
import { error, type Problem, shown, warning } from '../api/problem';
import { type ScaleTarget, scaleTarget, targetRefs } from '../api/scale-target';
import type { Finding } from '../errors';
import type { DisaggregatedSet } from '../expand/leader-worker-workload';
import { WORKLOAD_API_VERSION } from '../labels';
import { ObjectSet } from './object-set';

type Scaler = AutoscalingPolicy | AutoscalingPolicyBinding;

/** Policies and bindings whose workload or policy is not there, bounds in the wrong order, two scalers on one workload. */
export function* scalingReferences(set: ObjectSet): Iterable<Finding> {
  const bound = new Set<AutoscalingPolicy>();
  const scalers: Scaler[] = [...set.ofKind('AutoscalingPolicy')];
  for (const binding of set.ofKind('AutoscalingPolicyBinding')) {
    scalers.push(binding);
    const policy = policyOf(binding, set);
    if (policy === undefined) yield set.finding(binding, missingPolicy(binding));
    else {
      bound.add(policy);
      for (const problem of autoscalingPolicyRules(boundPolicy(policy, binding))) yield set.finding(binding, problem);
    }
  }
  for (const scaler of scalers) {
    if (scaler.kind === 'AutoscalingPolicy' && targetRefs(scaler.spec).length === 0 && !bound.has(scaler)) {
      yield set.finding(
        scaler,
        warning(
          'spec',
          'autoscaling/no-target',
          'the policy has no target, and no binding names it',
          'set homogeneousTarget, or add a binding',
        ),
      );
    }
    for (const problem of boundsInOrder(scaler)) yield set.finding(scaler, problem);
    for (const problem of missingTargets(scaler, set)) yield set.finding(scaler, problem);
  }
  yield* sharedTargets(scalers, set);
}

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? 'default';

function policyOf(binding: AutoscalingPolicyBinding, set: ObjectSet): AutoscalingPolicy | undefined {
  const found = set.find(WORKLOAD_API_VERSION, 'AutoscalingPolicy', namespaceOf(binding), binding.spec.policyRef.name);
  return found as AutoscalingPolicy | undefined;
}

function missingPolicy(binding: AutoscalingPolicyBinding): Problem {
  return error(
    'spec.policyRef.name',
    'autoscaling/missing-policy',
    `there is no AutoscalingPolicy ${shown(binding.spec.policyRef.name)} in namespace ${namespaceOf(binding)}`,
    'add it, or correct the name',
  );
}

/** Kthena checks this for roles only. */
function* boundsInOrder({ spec }: Scaler): Iterable<Problem> {
  const bounds = [
    ...(spec.homogeneousTarget === undefined ? [] : [{ field: 'spec.homogeneousTarget', target: spec.homogeneousTarget }]),
    ...(spec.heterogeneousTarget?.params ?? []).map((target, i) => ({ field: `spec.heterogeneousTarget.params[${i}]`, target })),
  ];
  for (const { field, target } of bounds) {
    const { minReplicas, maxReplicas } = target;
    if (minReplicas <= maxReplicas) continue;
    yield error(
      field,
      'autoscaling/min-above-max',
      `minReplicas ${minReplicas} is above maxReplicas ${maxReplicas}`,
      'lower the one or raise the other',
    );
  }
}

function* missingTargets(scaler: Scaler, set: ObjectSet): Iterable<Problem> {
  for (const { field, ref } of targetRefs(scaler.spec)) {
    const target = scaleTarget(ref, namespaceOf(scaler));
    const found = set.find(target.apiVersion, target.kind, target.namespace, target.name);
    if (found === undefined && !isMadeByBooster(target, set) && !isMadeByDisaggregatedSet(target, set)) {
      yield error(
        `${field}.name`,
        'autoscaling/missing-target',
        `there is no ${target.kind} ${shown(target.name)} in namespace ${target.namespace}`,
        'add it, or correct kind and name',
      );
    } else if (found?.kind === 'ModelServing') yield* missingRoles(scaler, found as ModelServing);
  }
}

function isMadeByBooster({ kind, namespace, name }: ScaleTarget, set: ObjectSet): boolean {
  return kind === 'ModelServing' && set.boosterChildren.has(`${namespace}/${name}`);
}

/** The controller of a DisaggregatedSet makes `<set>-<role>` for each role that is scaled from outside. */
function isMadeByDisaggregatedSet({ kind, namespace, name }: ScaleTarget, set: ObjectSet): boolean {
  if (kind !== 'DisaggregatedSetRoleScaler') return false;
  return set.objects.some((object) => {
    if (object.kind !== 'DisaggregatedSet' || namespaceOf(object) !== namespace) return false;
    const { roles = [] } = (object as KubeObject & { readonly spec?: Partial<DisaggregatedSet['spec']> }).spec ?? {};
    return roles.some((role) => role.scaling?.mode === 'External' && name === `${object.metadata.name}-${role.name}`);
  });
}

function* missingRoles({ spec }: Scaler, serving: ModelServing): Iterable<Problem> {
  const names = serving.spec.template.roles.map(({ name }) => name);
  for (const role of Object.keys(spec.disaggregatedTarget?.roles ?? {})) {
    if (names.includes(role)) continue;
    yield error(
      fieldPath('spec.disaggregatedTarget.roles', role),
      'autoscaling/missing-role',
      `ModelServing ${serving.metadata.name} has no role ${shown(role)}`,
      `use one of ${names.join(', ')}`,
    );
  }
}

interface Claim {
  readonly owner: KubeObject;
  readonly field: string;
  /** Target and, when only a role is scaled, the role. */
  readonly key: string;
  readonly target: ScaleTarget;
}

function* sharedTargets(scalers: readonly Scaler[], set: ObjectSet): Iterable<Finding> {
  const first = new Map<string, Claim>();
  const foreign = set.objects.filter(({ kind }) => FOREIGN_SCALERS.has(kind));
  for (const claim of [...scalers.flatMap(claimsOf), ...foreign.flatMap(foreignClaims)]) {
    const other = first.get(claim.key);
    if (other === undefined) first.set(claim.key, claim);
    else {
      yield set.finding(
        claim.owner,
        warning(
          claim.field,
          'autoscaling/two-scalers',
          `${describeObject(other.owner)} scales ${claim.target.kind} ${claim.target.name} too`,
          'keep one of them: two scalers undo each other',
        ),
      );
    }
  }
}

function claimsOf(owner: Scaler): readonly Claim[] {
  const roles = Object.keys(owner.spec.disaggregatedTarget?.roles ?? {});
  return targetRefs(owner.spec).flatMap(({ field, ref }) => {
    const target = scaleTarget(ref, namespaceOf(owner));
    const key = targetKey(target);
    return field.startsWith('spec.disaggregatedTarget')
      ? roles.map((role) => ({ owner, field: fieldPath('spec.disaggregatedTarget.roles', role), key: `${key}/${role}`, target }))
      : [{ owner, field, key, target }];
  });
}

const FOREIGN_SCALERS: ReadonlySet<string> = new Set(['HorizontalPodAutoscaler', 'ScaledObject']);

/** Workloads that autoscalers of others own: Kubernetes' own, and KEDA, whose target is a Deployment unless it says otherwise. */
function foreignClaims(owner: KubeObject): readonly Claim[] {
  const isHpa = owner.kind === 'HorizontalPodAutoscaler' && owner.apiVersion.startsWith('autoscaling/');
  if (!isHpa && !(owner.kind === 'ScaledObject' && owner.apiVersion.startsWith('keda.sh/'))) return [];
  const { spec } = owner as KubeObject & { readonly spec?: { readonly scaleTargetRef?: Partial<ScaleTarget> } };
  const ref = spec?.scaleTargetRef;
  if (ref?.name === undefined) return [];
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', ...ref, name: ref.name, namespace: namespaceOf(owner) };
  return [{ owner, field: 'spec.scaleTargetRef', key: targetKey(target), target }];
}

const targetKey = ({ apiVersion, kind, namespace, name }: ScaleTarget): string =>
  ObjectSet.key(apiVersion, kind, namespace, name);
