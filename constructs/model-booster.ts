import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { Labels } from '../src/labels';
import { AutoscalingPolicy, type AutoscalingPolicyProps } from './autoscaling-policy';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import type { Metric } from './metric';
import { ModelRoute, type ModelRouteProps } from './model-route';
import { ModelServer, type TrafficPolicyOptions } from './model-server';
import type { ModelSource } from './model-source';
import { objectName } from './object-name';
import { type PoolProps, poolLabels, ServingGroup } from './serving-group';

export interface ModelBoosterProps<Pool extends string> {
  /** Name of the objects, and what clients ask for unless `route.modelName` says otherwise. @default the construct's id */
  readonly name?: string;
  readonly source: ModelSource;
  readonly engine: Engine;
  /** GPU pools by name, each a workload `<name>-<pool>`. The router weighs them against each other per request. */
  readonly pools: Readonly<Record<Pool, PoolProps>>;
  /** What pools with `between(min, max)` scale by. @default nothing, which is an error for such a pool */
  readonly scaleOn?: readonly Metric[];
  /** More of the policy: tolerance and behaviour. @default the kind's */
  readonly scaling?: Pick<AutoscalingPolicyProps, 'tolerancePercent' | 'behavior'>;
  /** The route, or `false` for none. @default a route of this name to the server */
  readonly route?: Omit<ModelRouteProps, 'name' | 'rules'> | false;
  /** Deadlines and retries of requests. @default those of ModelServer */
  readonly traffic?: TrafficPolicyOptions;
}

/**
 * L3: one model on one or several GPU pools. Creates a workload, Service and PodDisruptionBudget per pool, one ModelServer over all of
 * them, a ModelRoute, and an AutoscalingPolicy unless all replicas are fixed.
 */
export class ModelBooster<Pool extends string = string> extends Construct {
  readonly name: string;
  readonly pools: { readonly [P in Pool]: ServingGroup };
  readonly server: ModelServer;
  /** Absent when `route` is `false`. */
  readonly route: ModelRoute | undefined;
  /** Absent when all replicas are fixed. */
  readonly policy: AutoscalingPolicy | undefined;

  constructor(scope: Construct, id: string, props: ModelBoosterProps<Pool>) {
    super(scope, id);
    const { source, engine } = props;
    this.name = objectName(this, props.name ?? id);
    const pools = Object.entries(props.pools) as [Pool, PoolProps][];
    const groups = pools.map(([pool, poolProps]) => {
      const name = `${this.name}-${pool}`;
      const labels = poolLabels(this.name, pool);
      return [
        pool,
        new ServingGroup(this, pool, { ...poolProps, name, source, engine, servedModelName: this.name, labels }),
      ] as const;
    });
    this.pools = Object.fromEntries(groups) as { readonly [P in Pool]: ServingGroup };
    addCheck(this, () => (groups.length > 0 ? [] : [NO_POOLS]));
    this.server = new ModelServer(this, 'Server', {
      name: this.name,
      engine: engine.apiName,
      podLabels: { [Labels.model]: this.name },
      port: engine.port,
      model: this.name,
      traffic: props.traffic,
    });
    if (props.route !== false) {
      this.route = new ModelRoute(this, 'Route', { ...props.route, name: this.name });
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

const NO_POOLS: Finding = {
  code: 'model/no-pool',
  severity: 'error',
  field: 'pools',
  message: 'is empty, so that no pod serves the model',
  remedy: 'add a pool with an accelerator',
};
