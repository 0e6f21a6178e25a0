import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { Labels } from '../src/labels';
import { AutoscalingPolicy, type AutoscalingPolicyProps } from './autoscaling-policy';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import { engineWithAdapters, type LoraAdapter } from './lora-adapter';
import type { Metric } from './metric';
import type { ModelCache } from './model-cache';
import type { ModelDownload } from './model-download';
import { ModelRoute, type ModelRouteProps } from './model-route';
import { ModelServer, type TrafficPolicyOptions } from './model-server';
import type { ModelSource } from './model-source';
import { ModelWeights } from './model-weights';
import { objectName } from './object-name';
import { type DisaggregationProps, PDGroup, type PdRoleProps } from './pd-group';
import { Replicas } from './replicas';
import { type PoolProps, poolLabels, ServingGroup } from './serving-group';

export interface ModelBoosterProps<Pool extends string> {
  /** Name of the objects, and what clients ask for unless `route.modelName` says otherwise. @default the construct's id */
  readonly name?: string;
  readonly source: ModelSource;
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
  readonly route?: Omit<ModelRouteProps, 'name' | 'rules'> | false;
  /** Deadlines and retries of requests. @default those of ModelServer */
  readonly traffic?: TrafficPolicyOptions;
  /** Volume that keeps the model's files. @default none: each pod loads them anew */
  readonly cache?: ModelCache;
  /** Program that fills the cache before engines start. @default none: engines download into the cache themselves */
  readonly download?: ModelDownload;
  /** LoRA adapters, each served under its own name beside the model, at most ten on one route. @default none */
  readonly adapters?: readonly LoraAdapter[];
  /** Adapters that are in GPU memory together. @default all, at most eight */
  readonly maxLoras?: number;
}

/**
 * L3: one model on one or several GPU pools. Creates a workload, Service and PodDisruptionBudget per pool, one ModelServer over all of
 * them, a ModelRoute, an AutoscalingPolicy unless all replicas are fixed, and a claim and a download Job where they are asked for.
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
    const { cache, download, adapters } = props;
    this.weights = new ModelWeights(this, 'Weights', {
      name: this.name,
      source: props.source,
      cache,
      download,
      adapters,
      maxPods: mostPods(props),
    });
    const { source } = this.weights;
    const engine = engineWithAdapters(props.engine, this.weights.adapters, props.maxLoras);
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
    for (const [pool, group] of groups) this.useWeights(group, props.pools![pool]);
    addCheck(this, () => [...poolFindings(groups.length, props), ...adapterNameFindings(this.name, props.adapters ?? [])]);
    const route = routeWithAdapters(props.route, props.adapters);
    if (props.disaggregation !== undefined) {
      const { disaggregation, scaling, traffic } = props;
      const roles = new PDGroup(this, 'Disaggregated', {
        ...disaggregation,
        prefill: this.withAdapters(disaggregation.prefill, props.maxLoras),
        decode: this.withAdapters(disaggregation.decode, props.maxLoras),
        name: this.name,
        source,
        engine,
        scaling,
        route,
        traffic,
      });
      for (const group of roles.prefill) this.useWeights(group, disaggregation.prefill);
      for (const group of roles.decode) this.useWeights(group, disaggregation.decode);
      this.disaggregated = roles;
      this.server = roles.server;
      this.route = roles.route;
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
    if (route !== false) {
      this.route = new ModelRoute(this, 'Route', { ...route, name: this.name });
      this.route.addRule({ name: 'default', targets: [{ server: this.server }] });
    }
    this.policy = this.createPolicy(
      props,
      groups.map(([, group]) => group),
    );
  }

  /** A role whose own engine, if it has one, serves the adapters too. */
  private withAdapters(role: PdRoleProps, maxLoras: number | undefined): PdRoleProps {
    if (role.engine === undefined) return role;
    return { ...role, engine: engineWithAdapters(role.engine, this.weights.adapters, maxLoras) };
  }

  private useWeights(group: ServingGroup, { security = {} }: PoolProps): void {
    group.pod.merge(this.weights.podPatch(security));
    if (this.weights.job !== undefined) group.node.addDependency(this.weights.job);
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

/** Most pods that may run at once. */
function mostPods({ pools, disaggregation }: Pick<ModelBoosterProps<string>, 'pools' | 'disaggregation'>): number {
  const { groups = 1, prefill, decode } = disaggregation ?? {};
  const roles = [prefill, decode].filter((role) => role !== undefined);
  const most = (all: readonly PoolProps[]): number =>
    all.reduce((sum, { replicas = 1, podsPerReplica = 1 }) => sum + Replicas.from(replicas).max * podsPerReplica, 0);
  return most(Object.values(pools ?? {})) + groups * most(roles);
}

/** The route with the adapters' names beside those that it has. */
function routeWithAdapters(
  route: ModelBoosterProps<string>['route'],
  adapters: readonly LoraAdapter[] = [],
): ModelBoosterProps<string>['route'] {
  if (route === false || adapters.length === 0) return route;
  return { ...route, loraAdapters: [...new Set([...(route?.loraAdapters ?? []), ...adapters.map(({ name }) => name)])] };
}

function adapterNameFindings(model: string, adapters: readonly LoraAdapter[]): readonly Finding[] {
  const seen = new Set([model]);
  return adapters
    .filter(({ name }) => seen.has(name) || !seen.add(name))
    .map(({ name }) => ({
      code: 'lora/name-taken',
      severity: 'error',
      field: 'adapters',
      message: `a second ${name} would answer for the first`,
      remedy: 'rename one of them',
    }));
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
