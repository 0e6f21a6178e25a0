import { Construct } from 'constructs';
import type { AutoscalingPolicyManifest } from '../src/api/autoscaling-policy';
import type { Finding } from '../src/errors';
import { canonicalQuantity } from '../src/quantity';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import { KubeAutoscalingPolicy } from './kube/autoscaling-policy';
import type { Metric } from './metric';
import { routedLabels } from './owned-labels';
import type { Replicas } from './replicas';
import { stackContext } from './stack-context';
import type { ScaleTarget } from './workload/workload';

type Spec = AutoscalingPolicyManifest['spec'];
type Behavior = NonNullable<Spec['behavior']>;

/** A workload that a policy may scale. `ServingGroup` is one. */
export interface Scalable {
  readonly scaleTarget: ScaleTarget;
  readonly engine: Engine;
  /** Told once per policy, so that the workload leaves its `replicas` to the scaler. */
  scaledBy(policy: AutoscalingPolicy): void;
}

export interface ScaledPool {
  /** The workload. */
  readonly target: Scalable;
  /** Fewest and most replicas of it. */
  readonly replicas: Replicas;
  /** Price of one replica, in currency units per hour; written as cents. Without it, pools cannot be weighed against each other. */
  readonly costPerReplicaHour: number | undefined;
}

/** One role of a ModelServing. */
export interface ScaledRole {
  /** The serving group that is the role. Its scale target is the ModelServing. */
  readonly target: Scalable;
  /** Replicas in all copies of the roles together, or in each copy when the policy says `per: 'group'`. */
  readonly replicas: Replicas;
  /** What to scale the role by; the greatest demand counts. */
  readonly metrics: readonly Metric[];
}

/** Bounds of one role's replicas ÷ another's, both included. */
export interface RoleRatio {
  /** Name of a role. */
  readonly numerator: string;
  /** Name of the other role. */
  readonly denominator: string;
  /** Smallest quotient. */
  readonly min: number;
  /** Greatest quotient. */
  readonly max: number;
}

interface PolicyOptions {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** What to scale by; the greatest demand counts. Roles have their own. */
  readonly metrics?: readonly Metric[];
  /** Deviation from the target that is left alone, in percent. @default 10 */
  readonly tolerancePercent?: number;
  /** How fast replicas may change. @default what Kthena's admission fills in, see `DEFAULT_BEHAVIOR` */
  readonly behavior?: Behavior;
}

/** Scales one workload, several that serve the same model at different prices, or the roles of one ModelServing. */
export type AutoscalingPolicyProps = PolicyOptions &
  (
    | { readonly target: Scalable; readonly replicas: Replicas; readonly pools?: undefined; readonly roles?: undefined }
    | { readonly pools: readonly ScaledPool[]; readonly target?: undefined; readonly roles?: undefined }
    | {
        /** Role name → how it scales; one or two. */
        readonly roles: Readonly<Record<string, ScaledRole>>;
        /** @default roles scale independently */
        readonly ratio?: RoleRatio;
        /** Whether replicas are those of all copies of the roles together, or of each. Kthena's autoscaler knows `group` only. @default 'total' */
        readonly per?: 'total' | 'group';
        readonly target?: undefined;
        readonly pools?: undefined;
      }
  );

/**
 * What Kthena's admission fills in for an absent `behavior`. Written out, because there an omitted block and an empty one mean different
 * things: up by 4 replicas or to twice as many in a minute, down after five minutes of less demand, never panic.
 */
export const DEFAULT_BEHAVIOR: Behavior = {
  scaleUp: {
    stablePolicy: { instances: 4, percent: 100, period: '1m', selectPolicy: 'Or', stabilizationWindow: '0s' },
    panicPolicy: { percent: 0, period: '0s', panicThresholdPercent: 200, panicModeHold: '0s' },
  },
  scaleDown: { instances: 0, percent: 100, period: '1m', selectPolicy: 'Or', stabilizationWindow: '5m' },
};

/**
 * L2: how a workload scales. Creates an AutoscalingPolicy; the workload's own `replicas` is then not written. Turning it on for a live
 * workload resets that to 1 at the first sync, after which the policy scales it up again.
 *
 * @example
 * const pool = new ServingGroup(models, 'own', {
 *   source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   accelerator: Accelerator.L40S_48GB,
 *   replicas: between(1, 4),
 * });
 * new AutoscalingPolicy(models, 'policy', { target: pool, replicas: pool.replicas, metrics: [Metric.kvCacheUsage(0.8)] });
 */
export class AutoscalingPolicy extends Construct {
  readonly resource: KubeAutoscalingPolicy;
  readonly name: string;

  constructor(scope: Construct, id: string, props: AutoscalingPolicyProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const metrics = props.metrics ?? [];
    const scaled = scaledBy(props, metrics);
    const targets = scaled.map(({ target }) => target);
    for (const target of targets) target.scaledBy(this);
    addCheck(this, () => [
      ...scaled.flatMap(({ target, metrics }) => missingMetrics(target, metrics)),
      ...missingCosts(props.pools ?? []),
      ...(stackContext(this).cluster.kthenaServesWorkloads ? foreignTargets(targets) : []),
    ]);
    this.resource = new KubeAutoscalingPolicy(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: {
        tolerancePercent: props.tolerancePercent ?? 10,
        ...(props.roles === undefined ? { metrics: metrics.map(toMetric) } : {}),
        behavior: props.behavior ?? DEFAULT_BEHAVIOR,
        ...targetOf(props, metrics),
      },
    });
  }
}

/** What is scaled, and by what. */
function scaledBy(
  props: AutoscalingPolicyProps,
  metrics: readonly Metric[],
): readonly { readonly target: Scalable; readonly metrics: readonly Metric[] }[] {
  if (props.roles !== undefined) return Object.values(props.roles);
  const targets = props.pools === undefined ? [props.target] : props.pools.map(({ target }) => target);
  return targets.map((target) => ({ target, metrics }));
}

function toMetric({ name, targetValue }: Metric): { readonly name: string; readonly targetValue: string } {
  return { name, targetValue };
}

function targetOf(
  props: AutoscalingPolicyProps,
  metrics: readonly Metric[],
): Pick<Spec, 'homogeneousTarget' | 'heterogeneousTarget' | 'disaggregatedTarget'> {
  if (props.roles !== undefined) return { disaggregatedTarget: disaggregatedTarget(props.roles, props.ratio, props.per) };
  if (props.pools === undefined) {
    const { min, max } = props.replicas;
    return { homogeneousTarget: { target: scalingTarget(props.target, metrics), minReplicas: min, maxReplicas: max } };
  }
  return {
    heterogeneousTarget: {
      costExpansionRatePercent: 200,
      params: props.pools.map(({ target, replicas, costPerReplicaHour }) => ({
        target: scalingTarget(target, metrics),
        ...(costPerReplicaHour === undefined ? {} : { cost: Math.round(costPerReplicaHour * 100) }),
        minReplicas: replicas.min,
        maxReplicas: replicas.max,
      })),
    },
  };
}

function disaggregatedTarget(
  roles: Readonly<Record<string, ScaledRole>>,
  ratio: RoleRatio | undefined,
  per: 'total' | 'group' | undefined,
): NonNullable<Spec['disaggregatedTarget']> {
  const scaled = Object.entries(roles).map(([role, { target, replicas, metrics }]) => {
    const { targetRef, metricSources } = scalingTarget(target, metrics);
    const scaling = { minReplicas: replicas.min, maxReplicas: replicas.max, metrics: metrics.map(toMetric), metricSources };
    return { role, targetRef, scaling };
  });
  return {
    targetRef: scaled[0]!.targetRef,
    roles: Object.fromEntries(scaled.map(({ role, scaling }) => [role, scaling])),
    ...(per !== undefined && { per }),
    ...(ratio === undefined
      ? {}
      : {
          ratioConstraint: {
            numeratorRole: ratio.numerator,
            denominatorRole: ratio.denominator,
            minRatio: canonicalQuantity(ratio.min),
            maxRatio: canonicalQuantity(ratio.max),
          },
        }),
  };
}

function scalingTarget({ scaleTarget, engine }: Scalable, metrics: readonly Metric[]) {
  const sources = metrics.flatMap((metric) => {
    const family = metric.familyOf(engine);
    return family === undefined
      ? []
      : [[metric.name, { pod: { name: family, uri: engine.metricsPath, port: engine.port } }] as const];
  });
  const { apiVersion, kind, name } = scaleTarget;
  return { targetRef: { apiVersion, kind, name }, metricSources: Object.fromEntries(sources) };
}

function missingMetrics({ engine, scaleTarget }: Scalable, metrics: readonly Metric[]): readonly Finding[] {
  return metrics
    .filter((metric) => metric.familyOf(engine) === undefined)
    .map(({ name }) => ({
      code: 'scaling/metric-missing',
      severity: 'error',
      field: 'metrics',
      message: `${engine.name}, the engine of ${scaleTarget.kind} ${scaleTarget.name}, names no metric for ${name}`,
      remedy: 'name it in Engine.custom({ metrics }), or use Metric.custom',
    }));
}

function missingCosts(pools: readonly ScaledPool[]): readonly Finding[] {
  return pools
    .filter(({ costPerReplicaHour }) => costPerReplicaHour === undefined)
    .map(({ target }) => ({
      code: 'scaling/no-cost',
      severity: 'error',
      field: 'costPerReplicaHour',
      message: `the price of a replica of ${target.scaleTarget.name} is not known, and pools are chosen by price`,
      remedy: 'give costPerReplicaHour',
    }));
}

function foreignTargets(targets: readonly Scalable[]): readonly Finding[] {
  return targets
    .filter(({ scaleTarget }) => scaleTarget.kind !== 'ModelServing')
    .map(({ scaleTarget }) => ({
      code: 'coexistence/policy-target',
      severity: 'error',
      message: `Kthena's admission refuses a policy on a ${scaleTarget.kind} (${scaleTarget.name})`,
      remedy: "fix the replicas, or say kthena: 'absent' or 'networking' in Cluster.of",
    }));
}
