import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { Labels } from '../src/labels';
import { AutoscalingPolicy, type AutoscalingPolicyProps } from './autoscaling-policy';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import type { Metric } from './metric';
import { ModelFiles, type ModelFilesProps, type OwnRoute } from './model-files';
import { ModelRoute } from './model-route';
import { ModelServer, type TrafficPolicyOptions } from './model-server';
import type { ModelWeights } from './model-weights';
import { objectName } from './object-name';
import { type DisaggregationProps, PDGroup } from './pd-group';
import { type PoolProps, poolLabels, ServingGroup } from './serving-group';
import { mostPods } from './workload/group-props';

export interface ModelBoosterProps<Pool extends string> extends ModelFilesProps {
  /** Name of the objects, and what clients ask for unless `route.modelName` says otherwise. @default the construct's id */
  readonly name?: string;
  /** What runs it. */
  readonly engine: Engine;
  /** GPU pools by name, each a workload `<name>-<pool>`. The router weighs them against each other per request. @default none, with `disaggregation` */
  readonly pools?: Readonly<Record<Pool, PoolProps>>;
  /** Prefill and decode pods instead of pools, as a `PDGroup` makes them. @default none: every pod does both */
  readonly disaggregation?: DisaggregationProps;
  /** What pools with `between(min, max)` scale by; roles have a `scaleOn` of their own. @default nothing, which is an error for such a pool */
  readonly scaleOn?: readonly Metric[];
  /** More of the policy, or of a disaggregated model's policies: tolerance and behaviour. @default the kind's */
  readonly scaling?: Pick<AutoscalingPolicyProps, 'tolerancePercent' | 'behavior'>;
  /** The route, or `false` for none. @default a route of this name to the server */
  readonly route?: OwnRoute;
  /** Deadlines and retries of requests. @default those of ModelServer */
  readonly traffic?: TrafficPolicyOptions;
}

/**
 * L3: one model on one or several GPU pools. Creates a workload, Service and PodDisruptionBudget per pool, one ModelServer over all of
 * them, a ModelRoute, an AutoscalingPolicy unless all replicas are fixed, and a claim and a download Job where they are asked for.
 *
 * @example
 * new ModelBooster(models, 'chat', {
 *   source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   pools: {
 *     h100: { accelerator: Accelerator.H100_SXM_80GB, replicas: between(1, 4), costPerReplicaHour: 4.1 },
 *     l40s: { accelerator: Accelerator.L40S_48GB, replicas: between(1, 8), costPerReplicaHour: 1.2 },
 *   },
 *   scaleOn: [Metric.runningRequests(24)],
 * });
 */
export class ModelBooster<Pool extends string = string> extends Construct {
  readonly name: string;
  readonly pools: { readonly [P in Pool]: ServingGroup };
  readonly server: ModelServer;
  /** Absent when `route` is `false`. */
  readonly route: ModelRoute | undefined;
  /** Absent when all replicas are fixed, and with `disaggregation`, whose policies are in `disaggregated`. */
  readonly policy: AutoscalingPolicy | undefined;
  /** Prefill and decode. Absent without `disaggregation`. */
  readonly disaggregated: PDGroup | undefined;
  /** Where the files of model and adapters lie. */
  readonly weights: ModelWeights;

  constructor(scope: Construct, id: string, props: ModelBoosterProps<Pool>) {
    super(scope, id);
    this.name = objectName(this, props.name ?? id);
    if (props.disaggregation !== undefined) {
      const { disaggregation, pools: _pools, scaleOn: _scaleOn, ...model } = props;
      this.disaggregated = new PDGroup(this, 'Disaggregated', { ...model, ...disaggregation, name: this.name });
    }
    const files = this.disaggregated?.files ?? new ModelFiles(this, this.name, props, mostPods(Object.values(props.pools ?? {})));
    this.weights = files.weights;
    const { source } = files;
    const engine = files.engine(props.engine);
    const pools = Object.entries(props.pools ?? {}) as [Pool, PoolProps][];
    const groups = pools.map(([pool, poolProps]) => {
      const name = `${this.name}-${pool}`;
      const labels = poolLabels(this.name, pool);
      return [
        pool,
        new ServingGroup(this, pool, { ...poolProps, name, source, engine, servedModelName: this.name, labels }),
      ] as const;
    });
    this.pools = Object.fromEntries(groups) as { readonly [P in Pool]: ServingGroup };
    for (const [pool, group] of groups) files.give(group, props.pools![pool].security);
    addCheck(this, () => poolFindings(groups.length, props));
    if (this.disaggregated !== undefined) {
      this.server = this.disaggregated.server;
      this.route = this.disaggregated.route;
      return;
    }
    this.server = new ModelServer(this, 'Server', {
      name: this.name,
      engine: engine.apiName,
      podLabels: { [Labels.model]: this.name },
      port: engine.port,
      model: this.name,
      traffic: props.traffic,
    });
    const route = files.route(props.route);
    if (route !== false) {
      this.route = new ModelRoute(this, 'Route', { ...route, name: this.name });
      this.route.addRule({ name: 'default', targets: [{ server: this.server }] });
    }
    this.policy = this.createPolicy(
      props,
      groups.map(([, group]) => group),
    );
  }

  private createPolicy(props: ModelBoosterProps<Pool>, groups: readonly ServingGroup[]): AutoscalingPolicy | undefined {
    const scaled = groups.filter(({ replicas }) => !replicas.isFixed);
    const [first] = scaled;
    if (first === undefined) return undefined;
    const options = { name: this.name, metrics: props.scaleOn ?? [], ...props.scaling };
    // Fixed pools beside scaled ones carry load too, so they belong to the sum that the policy decides on.
    const target =
      groups.length === 1
        ? { target: first, replicas: first.replicas }
        : {
            pools: groups.map((group) => ({
              target: group,
              replicas: group.replicas,
              costPerReplicaHour: group.costPerReplicaHour,
            })),
          };
    return new AutoscalingPolicy(this, 'Policy', { ...options, ...target });
  }
}

function poolFindings(
  pools: number,
  { disaggregation, scaleOn }: Pick<ModelBoosterProps<string>, 'disaggregation' | 'scaleOn'>,
): readonly Finding[] {
  if (disaggregation === undefined) return pools > 0 ? [] : [NO_POOLS];
  return [...(pools > 0 ? [POOLS_AND_ROLES] : []), ...(scaleOn === undefined ? [] : [SCALE_ON_OF_ROLES])];
}

const NO_POOLS: Finding = {
  code: 'model/no-pool',
  severity: 'error',
  field: 'pools',
  message: 'is empty, so that no pod serves the model',
  remedy: 'add a pool with an accelerator',
};

const POOLS_AND_ROLES: Finding = {
  code: 'model/pools-and-roles',
  severity: 'error',
  field: 'pools',
  message: 'is given beside disaggregation, and pods of a pool pair with no role',
  remedy: 'leave one of them out, or make two models',
};

const SCALE_ON_OF_ROLES: Finding = {
  code: 'model/scale-on-of-roles',
  severity: 'error',
  field: 'scaleOn',
  message: 'is for pools, and the roles scale by different metrics',
  remedy: 'give disaggregation.prefill.scaleOn and disaggregation.decode.scaleOn',
};
