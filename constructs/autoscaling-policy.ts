import { Construct } from 'constructs';
import type { AutoscalingPolicyManifest } from '../src/api/autoscaling-policy';
import type { Finding } from '../src/errors';
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
  readonly target: Scalable;
  readonly replicas: Replicas;
  /** Price of one replica, in currency units per hour; written as cents. Without it, pools cannot be weighed against each other. */
  readonly costPerReplicaHour: number | undefined;
}

interface PolicyOptions {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** What to scale by; the greatest demand counts. */
  readonly metrics: readonly Metric[];
  /** Deviation from the target that is left alone, in percent. @default 10 */
  readonly tolerancePercent?: number;
  /** How fast replicas may change. @default what Kthena's admission fills in, see `DEFAULT_BEHAVIOR` */
  readonly behavior?: Behavior;
}

/** Scales one workload, or several that serve the same model at different prices. */
export type AutoscalingPolicyProps = PolicyOptions &
  (
    | { readonly target: Scalable; readonly replicas: Replicas; readonly pools?: undefined }
    | { readonly pools: readonly ScaledPool[]; readonly target?: undefined }
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
 */
export class AutoscalingPolicy extends Construct {
  readonly resource: KubeAutoscalingPolicy;
  readonly name: string;

  constructor(scope: Construct, id: string, props: AutoscalingPolicyProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const targets = props.pools === undefined ? [props.target] : props.pools.map(({ target }) => target);
    for (const target of targets) target.scaledBy(this);
    addCheck(this, () => [
      ...targets.flatMap((target) => missingMetrics(target, props.metrics)),
      ...missingCosts(props.pools ?? []),
      ...(stackContext(this).cluster.kthenaServesWorkloads ? foreignTargets(targets) : []),
    ]);
    this.resource = new KubeAutoscalingPolicy(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: {
        tolerancePercent: props.tolerancePercent ?? 10,
        metrics: props.metrics.map(({ name, targetValue }) => ({ name, targetValue })),
        behavior: props.behavior ?? DEFAULT_BEHAVIOR,
        ...targetOf(props),
      },
    });
  }
}

function targetOf(props: AutoscalingPolicyProps): Pick<Spec, 'homogeneousTarget' | 'heterogeneousTarget'> {
  if (props.pools === undefined) {
    const { min, max } = props.replicas;
    return { homogeneousTarget: { target: scalingTarget(props.target, props.metrics), minReplicas: min, maxReplicas: max } };
  }
  return {
    heterogeneousTarget: {
      costExpansionRatePercent: 200,
      params: props.pools.map(({ target, replicas, costPerReplicaHour }) => ({
        target: scalingTarget(target, props.metrics),
        ...(costPerReplicaHour === undefined ? {} : { cost: Math.round(costPerReplicaHour * 100) }),
        minReplicas: replicas.min,
        maxReplicas: replicas.max,
      })),
    },
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
