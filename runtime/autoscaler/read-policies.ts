import type {
  AutoscalingPolicy,
  AutoscalingPolicySpec,
  MetricSource,
  PolicyMetric,
  ScaleTargetRef,
  StablePolicy,
} from '../../src/api/autoscaling-policy';
import type { AutoscalingPolicyBinding } from '../../src/api/autoscaling-policy-binding';
import { boundPolicy } from '../../src/api/bound-policy';
import { describeObject, keyOf } from '../../src/api/meta';
import { scaleTarget } from '../../src/api/scale-target';
import type { AutoscalerConfig } from '../../src/config/autoscaler-config';
import { parseDurationMs } from '../../src/duration';
import { Annotations, Labels } from '../../src/labels';
import { parseQuantity } from '../../src/quantity';
import type { TargetRef } from '../cluster/scaling';
import { kthenaAlgorithm } from './decide/kthena/recommend';
import { defaultAlgorithm } from './decide/recommend';
import type { Behavior, StepRule } from './decide/rules';
import type { TargetSpec } from './decide/spec';
import { routerSignalOf } from './observe/router-signal';
import type { MetricQuery, Policy, PolicyUnit, UnusablePolicy } from './policy';

export interface ReadPolicies {
  /** Oldest first, which is the order of precedence. */
  readonly policies: readonly Policy[];
  readonly unusable: readonly UnusablePolicy[];
}

/** The policies to act on: those with a target of their own, and bindings together with the policy they refer to. Pure. */
export function readPolicies(
  policies: readonly AutoscalingPolicy[],
  bindings: readonly AutoscalingPolicyBinding[],
  config: Pick<AutoscalerConfig, 'algorithm' | 'allowCrossNamespaceTargets' | 'metricWindowMs'>,
): ReadPolicies {
  const byKey = new Map(policies.map((policy) => [keyOf(policy), policy]));
  const results = [
    ...policies.filter(hasTarget).map((policy) => readOne(policy, policy, policy.spec, config)),
    ...bindings.map((binding) => {
      const referred = byKey.get(`${binding.metadata.namespace ?? 'default'}/${binding.spec.policyRef.name}`);
      if (referred !== undefined) return readOne(binding, referred, boundPolicy(referred, binding).spec, config);
      const message = `spec.policyRef names AutoscalingPolicy ${binding.spec.policyRef.name}, which is not in this namespace; create it`;
      return { ...identity(binding), reason: 'PolicyMissing', message } as const;
    }),
  ].filter((result) => isOurs(result.object));
  const usable = results.flatMap((result) => ('spec' in result ? [result] : []));
  return {
    policies: usable.sort(byAge),
    unusable: results.flatMap((result) => ('spec' in result ? [] : [result])),
  };
}

type Spec = Pick<AutoscalingPolicySpec, 'homogeneousTarget' | 'heterogeneousTarget' | 'disaggregatedTarget'>;

function hasTarget({ spec }: { readonly spec: Spec }): boolean {
  return spec.homogeneousTarget !== undefined || spec.heterogeneousTarget !== undefined || spec.disaggregatedTarget !== undefined;
}

function isOurs({ metadata }: Policy['object']): boolean {
  const owners = [metadata.labels?.[Labels.class], metadata.annotations?.[Annotations.autoscalerClass]];
  return owners.every((owner) => owner === undefined || owner === OUR_CLASS);
}

/** Value of the class label, and of the annotation, of what is this autoscaler's. */
const OUR_CLASS = 'kvasir';

function byAge(a: Policy, b: Policy): number {
  const made = (policy: Policy): string => policy.object.metadata.creationTimestamp ?? '';
  const key = (policy: Policy): string => `${keyOf(policy.object)}/${policy.object.kind}`;
  return compare(made(a), made(b)) || compare(key(a), key(b));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function identity(object: Policy['object']): Pick<Policy, 'id' | 'object' | 'name'> {
  return { id: `${object.kind}/${keyOf(object)}#${object.metadata.uid ?? ''}`, object, name: describeObject(object) };
}

/** @param object what is reported on; @param policy what holds the rules; @param spec both together. */
function readOne(
  object: Policy['object'],
  policy: AutoscalingPolicy,
  spec: AutoscalingPolicySpec,
  config: Pick<AutoscalerConfig, 'algorithm' | 'allowCrossNamespaceTargets' | 'metricWindowMs'>,
): Policy | UnusablePolicy {
  const { namespace = 'default', generation } = object.metadata;
  const annotations = { ...policy.metadata.annotations, ...object.metadata.annotations };
  const asked = annotations[Annotations.autoscalerAlgorithm] ?? config.algorithm;
  const targets = readTarget(spec, spec.metrics ?? [], namespace);
  if (targets === undefined) return invalid(object, 'the target names no workload; set name and kind of targetRef');
  if (asked !== 'default' && asked !== 'kthena') {
    return invalid(object, `annotation ${Annotations.autoscalerAlgorithm} is '${asked}'; write default or kthena`);
  }
  const step = wholeNumber(annotations[Annotations.largestStep]);
  if (step === 'wrong' || (step !== undefined && step < 1)) {
    return invalid(
      object,
      `annotation ${Annotations.largestStep} is '${annotations[Annotations.largestStep]}'; write a whole number from 1`,
    );
  }
  const priority = wholeNumber(annotations[Annotations.scalingPriority]);
  if (priority === 'wrong') {
    return invalid(
      object,
      `annotation ${Annotations.scalingPriority} is '${annotations[Annotations.scalingPriority]}'; write a whole number`,
    );
  }
  const twice = targets.target.kind === 'heterogeneous' ? namedTwice(targets.units) : undefined;
  if (twice !== undefined) {
    return invalid(
      object,
      `heterogeneousTarget names ${twice.kind} ${twice.namespace}/${twice.name} twice; keep one of the params`,
    );
  }
  const strategy = annotations[Annotations.poolStrategy] ?? 'least-cost';
  if (strategy !== 'least-cost' && strategy !== 'blocks') {
    return invalid(object, `annotation ${Annotations.poolStrategy} is '${strategy}'; write least-cost or blocks`);
  }
  const { target } = targets;
  const [first] = targets.units;
  if (target.kind === 'disaggregated' && first !== undefined && first.target.kind !== 'ModelServing') {
    return invalid(
      object,
      `disaggregatedTarget names ${first.target.kind} ${first.target.namespace}/${first.target.name}; only a ModelServing has roles: scale other workloads as a homogeneousTarget each`,
    );
  }
  const foreign = config.allowCrossNamespaceTargets ? undefined : foreignNamespace(targets.units, namespace);
  if (foreign !== undefined) return invalid(object, foreign);
  return {
    ...identity(object),
    spec: {
      algorithm: asked === 'kthena' ? kthenaAlgorithm : defaultAlgorithm,
      tolerance: spec.tolerancePercent / 100,
      behavior: readBehavior(spec.behavior),
      metricWindowMs: asked === 'default' ? config.metricWindowMs : 0,
      target: target.kind === 'heterogeneous' && strategy === 'blocks' ? { ...target, strategy } : target,
    },
    units: targets.units,
    isChosen: annotations[Annotations.autoscalerClass] === OUR_CLASS,
    isPaused: annotations[Annotations.pause] === 'true',
    isRecommendOnly: annotations[Annotations.recommendOnly] === 'true',
    schedules: asked === 'default' ? (spec.schedules ?? []) : [],
    ...(step !== undefined && { largestStep: step }),
    priority: priority ?? 0,
    mayRest: asked === 'default' && minimaOf(targets.target).every((min) => min === 0),
    hasTotals: asked === 'default' && target.kind === 'disaggregated' && spec.disaggregatedTarget?.per !== 'group',
    ...(spec.slo !== undefined && asked === 'default' && { goal: spec.slo }),
    revision: `${generation ?? 0}/${policy.metadata.generation ?? 0}`,
  };
}

function wholeNumber(text: string | undefined): number | 'wrong' | undefined {
  if (text === undefined) return undefined;
  return /^-?\d{1,9}$/.test(text) ? Number(text) : 'wrong';
}

function minimaOf(target: TargetSpec): readonly number[] {
  switch (target.kind) {
    case 'homogeneous':
      return [target.unit.min];
    case 'heterogeneous':
      return target.pools.map(({ min }) => min);
    case 'disaggregated':
      return target.roles.map(({ min }) => min);
  }
}

function invalid(object: Policy['object'], message: string): UnusablePolicy {
  return { ...identity(object), reason: 'TargetInvalid', message };
}

function namedTwice(units: readonly PolicyUnit[]): TargetRef | undefined {
  return units.find((unit, i) => units.findIndex(({ target }) => isSame(target, unit.target)) < i)?.target;
}

function isSame(a: TargetRef, b: TargetRef): boolean {
  return a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;
}

function foreignNamespace(units: readonly PolicyUnit[], namespace: string): string | undefined {
  const foreign = units.find((unit) => unit.target.namespace !== namespace)?.target.namespace;
  if (foreign === undefined) return undefined;
  return `targetRef.namespace is '${foreign}'; name a target in '${namespace}', or set allowCrossNamespaceTargets in the autoscaler's configuration`;
}

function readTarget(
  { homogeneousTarget, heterogeneousTarget, disaggregatedTarget }: Spec,
  metrics: readonly PolicyMetric[],
  namespace: string,
): { readonly target: TargetSpec; readonly units: readonly PolicyUnit[] } | undefined {
  if (heterogeneousTarget !== undefined) {
    const read = (heterogeneousTarget.params ?? []).map((param) => {
      const target = param.target && readRef(param.target.targetRef, namespace);
      if (target === undefined) return undefined;
      const name = `${target.namespace}/${target.name}`;
      return {
        pool: { name, min: param.minReplicas, max: param.maxReplicas, cost: param.cost ?? 0 },
        unit: { name, target, queries: readQueries(metrics, param.target?.metricSources) },
      };
    });
    const found = read.flatMap((param) => param ?? []);
    if (found.length < read.length || found.length === 0) return undefined;
    const { costExpansionRatePercent } = heterogeneousTarget;
    return {
      target: { kind: 'heterogeneous', pools: found.map(({ pool }) => pool), costExpansionRatePercent },
      units: found.map(({ unit }) => unit),
    };
  }
  if (homogeneousTarget !== undefined) {
    const target = homogeneousTarget.target && readRef(homogeneousTarget.target.targetRef, namespace);
    if (target === undefined) return undefined;
    const { name } = target;
    return {
      target: { kind: 'homogeneous', unit: { name, min: homogeneousTarget.minReplicas, max: homogeneousTarget.maxReplicas } },
      units: [{ name, target, queries: readQueries(metrics, homogeneousTarget.target?.metricSources) }],
    };
  }
  if (disaggregatedTarget === undefined) return undefined;
  const target = readRef(disaggregatedTarget.targetRef, namespace);
  if (target === undefined) return undefined;
  const roles = Object.entries(disaggregatedTarget.roles).sort(([a], [b]) => compare(a, b));
  const { ratioConstraint: ratio } = disaggregatedTarget;
  return {
    target: {
      kind: 'disaggregated',
      roles: roles.map(([name, { minReplicas, maxReplicas }]) => ({ name, min: minReplicas, max: maxReplicas })),
      ...(ratio !== undefined && {
        ratio: { ...ratio, minRatio: parseQuantity(ratio.minRatio) ?? 0, maxRatio: parseQuantity(ratio.maxRatio) ?? 0 },
      }),
    },
    units: roles.map(([name, role]) => ({
      name,
      target,
      role: name,
      queries: readQueries(role.metrics ?? metrics, role.metricSources),
    })),
  };
}

function readRef(ref: ScaleTargetRef, namespace: string): TargetRef | undefined {
  const target = scaleTarget(ref, namespace);
  return target.name === '' || target.apiVersion === '' ? undefined : target;
}

function readQueries(
  metrics: readonly PolicyMetric[],
  sources: Readonly<Record<string, MetricSource>> | undefined,
): readonly MetricQuery[] {
  return metrics.map(({ name, targetValue }) => {
    const source = sources?.[name];
    const target = { name, targetValue: parseQuantity(targetValue) ?? Number.NaN };
    if (source?.pod !== undefined)
      return { ...target, source: { kind: 'pod', pod: source.pod, family: source.pod.name ?? name } };
    if (source?.prometheus !== undefined) return { ...target, source: { kind: 'prometheus', prometheus: source.prometheus } };
    const signal = routerSignalOf(name);
    if (signal !== undefined) return { ...target, source: { kind: 'router', signal } };
    return { ...target, source: { kind: 'none' } };
  });
}

function readBehavior({ scaleUp, scaleDown }: AutoscalingPolicySpec['behavior']): Behavior {
  const { panicPolicy } = scaleUp;
  return {
    scaleUp: readStep(scaleUp.stablePolicy),
    scaleDown: readStep(scaleDown),
    panic: {
      percent: panicPolicy.percent,
      periodMs: parseDurationMs(panicPolicy.period) ?? 0,
      thresholdPercent: panicPolicy.panicThresholdPercent,
      holdMs: parseDurationMs(panicPolicy.panicModeHold) ?? 0,
    },
  };
}

function readStep({ instances, percent, period, selectPolicy, stabilizationWindow }: StablePolicy): StepRule {
  return {
    instances,
    percent,
    selectPolicy,
    periodMs: parseDurationMs(period) ?? 0,
    stabilizationWindowMs: parseDurationMs(stabilizationWindow) ?? 0,
  };
}
