import { parseQuantity } from '../quantity';
import type { AutoscalingPolicySpec } from './autoscaling-policy';
import type { AutoscalingPolicyBindingSpec } from './autoscaling-policy-binding';
import { fieldPath } from './field-path';
import { error, type Problem, shown } from './problem';
import { isScaleTargetKind, SCALE_TARGET_API_VERSIONS, targetRefs } from './scale-target';
import type { MetricSource, PolicyMetric, RatioConstraint, RoleScaling } from './scaling-target';

type Targets = Pick<
  AutoscalingPolicySpec & AutoscalingPolicyBindingSpec,
  'homogeneousTarget' | 'heterogeneousTarget' | 'disaggregatedTarget'
>;

/** Which of the three kinds of target are set. */
export function setTargets(spec: Targets): readonly (keyof Targets)[] {
  return (['homogeneousTarget', 'heterogeneousTarget', 'disaggregatedTarget'] as const).filter(
    (name) => spec[name] !== undefined,
  );
}

/** What Kthena's CEL rules and webhook ask of a target, whether a policy or a binding has it. */
export function* scalingTargetRules(spec: Targets): Iterable<Problem> {
  for (const { field, ref } of targetRefs(spec)) {
    const kind = ref.kind || 'ModelServing';
    if (!isScaleTargetKind(kind)) {
      const kinds = Object.keys(SCALE_TARGET_API_VERSIONS).join(', ');
      yield error(`${field}.kind`, 'autoscaling/target-kind', `${shown(kind)} cannot be scaled`, `use one of ${kinds}`);
    } else if (ref.apiVersion && ref.apiVersion.split('/')[0] !== SCALE_TARGET_API_VERSIONS[kind].split('/')[0]) {
      yield error(
        `${field}.apiVersion`,
        'autoscaling/target-version',
        `${shown(ref.apiVersion)} has no ${kind}`,
        `use ${SCALE_TARGET_API_VERSIONS[kind]}, or leave it out`,
      );
    }
    if (!ref.name) yield error(`${field}.name`, 'autoscaling/target-name', 'missing', 'name the workload to scale');
  }
  if (spec.homogeneousTarget !== undefined) {
    yield* metricSourceRules(spec.homogeneousTarget.target?.metricSources, 'spec.homogeneousTarget.target.metricSources');
  }
  for (const [i, param] of (spec.heterogeneousTarget?.params ?? []).entries()) {
    yield* metricSourceRules(param.target?.metricSources, `spec.heterogeneousTarget.params[${i}].target.metricSources`);
  }
  for (const [role, { metrics, metricSources }] of Object.entries(spec.disaggregatedTarget?.roles ?? {})) {
    const path = fieldPath('spec.disaggregatedTarget.roles', role);
    yield* metricRules(metrics ?? [], `${path}.metrics`);
    yield* metricSourceRules(metricSources, `${path}.metricSources`);
  }
}

/** Targets must be positive and finite, names unique. */
export function* metricRules(metrics: readonly PolicyMetric[], path: string): Iterable<Problem> {
  const seen = new Set<string>();
  for (const [i, { name, targetValue }] of metrics.entries()) {
    const value = parseQuantity(targetValue);
    if (value === undefined || value <= 0 || !Number.isFinite(value)) {
      const field = `${path}[${i}].targetValue`;
      yield error(
        field,
        'autoscaling/target-value',
        `${shown(targetValue)} is not above 0`,
        'write what one replica should have',
      );
    }
    if (seen.has(name))
      yield error(`${path}[${i}].name`, 'autoscaling/duplicate-metric', `a second metric ${shown(name)}`, 'keep one of them');
    seen.add(name);
  }
}

function* metricSourceRules(sources: Readonly<Record<string, MetricSource>> | undefined, path: string): Iterable<Problem> {
  for (const [metric, { pod, prometheus }] of Object.entries(sources ?? {})) {
    const field = fieldPath(path, metric);
    if ((pod === undefined) === (prometheus === undefined)) {
      const what = pod === undefined ? 'neither pod nor prometheus is set' : 'both pod and prometheus are set';
      yield error(field, 'autoscaling/metric-source', what, 'set exactly one of them');
    }
    for (const [i, { operator }] of (pod?.labelSelector?.matchExpressions ?? []).entries()) {
      if (['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator)) continue;
      yield error(
        `${field}.pod.labelSelector.matchExpressions[${i}].operator`,
        'autoscaling/selector-operator',
        `${shown(operator)} is no operator`,
        'use In, NotIn, Exists or DoesNotExist',
      );
    }
  }
}

/**
 * What Kthena's webhook asks of roles that scale together.
 *
 * @param shared the policy's own metrics, for roles that have none; undefined for a binding, whose roles' metrics are checked with the
 *   policy that it names.
 */
export function* disaggregatedRules(spec: Targets, shared: readonly PolicyMetric[] | undefined): Iterable<Problem> {
  const { disaggregatedTarget: target } = spec;
  if (target === undefined) return;
  const base = 'spec.disaggregatedTarget';
  for (const [name, role] of Object.entries(target.roles)) {
    const path = fieldPath(`${base}.roles`, name);
    if (name === '') yield error(path, 'autoscaling/role-name', '"" is no role', 'name the role');
    if (role.minReplicas > role.maxReplicas) {
      yield error(
        path,
        'autoscaling/min-above-max',
        `minReplicas ${role.minReplicas} is above maxReplicas ${role.maxReplicas}`,
        'lower the one or raise the other',
      );
    }
    if (shared !== undefined) yield* roleMetricRules(role, path, shared);
  }
  if (target.ratioConstraint !== undefined) yield* ratioRules(target.ratioConstraint, target.roles, `${base}.ratioConstraint`);
}

function* roleMetricRules(role: RoleScaling, path: string, shared: readonly PolicyMetric[]): Iterable<Problem> {
  const isFixed = role.minReplicas === role.maxReplicas && role.minReplicas > 0;
  const metrics = role.metrics ?? shared;
  const sources = Object.keys(role.metricSources ?? {});
  if (!isFixed && metrics.length === 0) {
    yield error(
      `${path}.metrics`,
      'autoscaling/no-metrics',
      'missing, and the policy has none of its own',
      'give the role or the policy metrics',
    );
  }
  if (!isFixed && metrics.length > 0 && sources.length === 0) {
    yield error(
      `${path}.metricSources`,
      'autoscaling/no-metric-sources',
      'missing',
      'say where the metrics of the role are read',
    );
  }
  for (const source of sources) {
    if (metrics.some(({ name }) => name === source)) continue;
    const names = metrics.map(({ name }) => name).join(', ') || 'none';
    yield error(
      fieldPath(`${path}.metricSources`, source),
      'autoscaling/unused-metric-source',
      `no metric is called ${shown(source)}`,
      `use one of: ${names}`,
    );
  }
}

function* ratioRules(ratio: RatioConstraint, roles: Readonly<Record<string, RoleScaling>>, path: string): Iterable<Problem> {
  const [low, high] = [parseQuantity(ratio.minRatio), parseQuantity(ratio.maxRatio)];
  if (Object.keys(roles).length < 2) {
    yield error(
      'spec.disaggregatedTarget.roles',
      'autoscaling/ratio-roles',
      'one role has no ratio',
      'add the other role, or remove ratioConstraint',
    );
  }
  if (ratio.numeratorRole === ratio.denominatorRole) {
    yield error(path, 'autoscaling/ratio-roles', `both roles are ${shown(ratio.numeratorRole)}`, 'name two different roles');
  }
  for (const side of ['numeratorRole', 'denominatorRole'] as const) {
    if (!Object.hasOwn(roles, ratio[side])) {
      const names = Object.keys(roles).join(', ');
      yield error(
        `${path}.${side}`,
        'autoscaling/ratio-roles',
        `${shown(ratio[side])} is not among the roles`,
        `use one of ${names}`,
      );
    }
  }
  if (low === undefined || high === undefined || !Number.isFinite(low) || !Number.isFinite(high)) {
    yield error(path, 'autoscaling/ratio-bounds', 'minRatio or maxRatio is no finite number', 'write decimal numbers');
    return;
  }
  if (low < 0 || high <= 0 || low > high) {
    yield error(
      path,
      'autoscaling/ratio-bounds',
      `${low} to ${high} is no range`,
      'use minRatio ≥ 0, maxRatio > 0 and minRatio ≤ maxRatio',
    );
    return;
  }
  const numerator = Object.hasOwn(roles, ratio.numeratorRole) ? roles[ratio.numeratorRole] : undefined;
  const denominator = Object.hasOwn(roles, ratio.denominatorRole) ? roles[ratio.denominatorRole] : undefined;
  if (numerator === undefined || denominator === undefined) return;
  if ((numerator.minReplicas === 0) !== (denominator.minReplicas === 0)) {
    yield error(
      path,
      'autoscaling/ratio-zero',
      'only one of the two roles may scale to zero',
      'give both or neither minReplicas 0',
    );
  }
  const leastRatio = numerator.minReplicas / denominator.maxReplicas;
  const greatestRatio =
    denominator.minReplicas === 0 ? Number.POSITIVE_INFINITY : numerator.maxReplicas / denominator.minReplicas;
  if (leastRatio > high || greatestRatio < low) {
    yield error(
      path,
      'autoscaling/ratio-unreachable',
      `no replicas within the roles' bounds have a ratio of ${low} to ${high}`,
      'widen the bounds or the range',
    );
  }
}
