import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { Labels } from '../src/labels';
import { AutoscalingPolicy, type AutoscalingPolicyProps, type ScaledRole } from './autoscaling-policy';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import type { PdRole } from './engine/engine-spec';
import { Gang } from './gang';
import type { GangOptions } from './gang-options';
import type { KvConnector } from './kv-connector';
import type { KvWiring } from './kv-connector/wiring';
import type { Metric } from './metric';
import { ModelFiles, type ModelFilesProps, type OwnRoute } from './model-files';
import { ModelRoute } from './model-route';
import { ModelServer, type TrafficPolicyOptions } from './model-server';
import { objectName } from './object-name';
import { defaultMetrics } from './pd-group/default-metrics';
import { kvRevisionOf } from './pd-group/kv-revision';
import { foreignRouterFindings, pairingFindings } from './pd-group/pairing';
import { checkedRatio, type PdRatio, ratioFindings } from './pd-group/ratio';
import { rolePods } from './pd-group/role-pods';
import { type PoolProps, poolLabels, ServingGroup } from './serving-group';
import { stackContext } from './stack-context';
import { mostPods } from './workload/group-props';
import { RoleSet } from './workload/role-set';
import type { Recovery, WorkloadName } from './workload/workload';

/** One role of a disaggregated model. `replicas` count in each pairing group. */
export interface PdRoleProps extends Omit<PoolProps, 'workload' | 'gang' | 'recovery'> {
  /** The engine with options of this role. Engine, version, port and KV layout must be those of the other role. @default the group's */
  readonly engine?: Engine;
  /** What it scales by, when its replicas are `between(min, max)`. @default prefill: waiting requests; decode: running requests and KV use */
  readonly scaleOn?: readonly Metric[];
}

/** Prefill and decode, and what joins them. */
export interface DisaggregationProps {
  /** Computes the KV cache of prompts. */
  readonly prefill: PdRoleProps;
  /** Generates from it. */
  readonly decode: PdRoleProps;
  /** How KV travels between them. */
  readonly connector: KvConnector;
  /** Independent pairing groups, whose pods never pair with those of another. @default 1 */
  readonly groups?: number;
  /**
   * What the roles are. DisaggregatedSet and ModelServing hold both in one object; roles of a ModelServing are scaled together.
   *
   * @default a Deployment per role, or a LeaderWorkerSet for one whose replicas have several pods
   */
  readonly workload?: WorkloadName;
  /** Bounds of prefill ÷ decode in each group, which the autoscaler keeps for a ModelServing. @default any */
  readonly ratio?: PdRatio;
  /** Starts the fewest replicas of both roles of a group together or not at all. @default each pod alone */
  readonly gang?: Omit<GangOptions, 'minReplicas'>;
  /** What is made anew when a pod fails. @default 'replica' */
  readonly recovery?: Recovery;
}

export interface PDGroupProps extends DisaggregationProps, ModelFilesProps {
  /** Name of the objects, and what clients ask for unless `route.modelName` says otherwise. @default the construct's id */
  readonly name?: string;
  /** Engine of both roles. Flags of the roles come from the connector. */
  readonly engine: Engine;
  /** Tolerance and behaviour of the policies. @default the kind's */
  readonly scaling?: Pick<AutoscalingPolicyProps, 'tolerancePercent' | 'behavior'>;
  /** The route, or `false` for none. @default a route of this name to the server */
  readonly route?: OwnRoute;
  /** Deadlines and retries of requests. @default those of ModelServer */
  readonly traffic?: TrafficPolicyOptions;
}

const ROLES: readonly PdRole[] = ['prefill', 'decode'];

/**
 * L3: one model whose prompts are computed by some pods and answered by others. Creates a workload, Service and PodDisruptionBudget per
 * role and pairing group (or one object for both roles), a ModelServer that tells the roles apart, a ModelRoute, PodGroups for a gang,
 * AutoscalingPolicies unless all replicas are fixed, and a claim and a download Job where they are asked for.
 *
 * @example
 * new PDGroup(models, 'llama', {
 *   source: ModelSource.huggingFace('meta-llama/Llama-3.1-8B-Instruct', { revision: '0e9e39f249a16976918f6564b8830bc894c89659' }),
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   connector: KvConnector.nixl(),
 *   prefill: { accelerator: Accelerator.H100_SXM_80GB, replicas: 1 },
 *   decode: { accelerator: Accelerator.H100_SXM_80GB, replicas: between(1, 4) },
 * });
 */
export class PDGroup extends Construct {
  readonly name: string;
  /** Prefill pods: one serving group per pairing group, or a single one where one object holds all. */
  readonly prefill: readonly ServingGroup[];
  /** Decode pods, in the order of `prefill`. */
  readonly decode: readonly ServingGroup[];
  /** The object that holds both roles. Absent when each is a workload of its own. */
  readonly roleSet: RoleSet | undefined;
  readonly server: ModelServer;
  /** Absent when `route` is `false`. */
  readonly route: ModelRoute | undefined;
  /** One for both roles of a ModelServing, else one for each scaled workload. */
  readonly policies: readonly AutoscalingPolicy[];
  /** One per pairing group when there is a gang over workloads of its own. */
  readonly gangs: readonly Gang[];
  /** Where the files of model and adapters lie, and what they give to engines, pods and route. */
  readonly files: ModelFiles;
  private readonly wiring: KvWiring | undefined;

  constructor(
    scope: Construct,
    id: string,
    private readonly props: PDGroupProps,
  ) {
    super(scope, id);
    this.name = objectName(this, props.name ?? id);
    const groups = props.groups ?? 1;
    if (!Number.isInteger(groups) || groups < 1) throw new RangeError(`PDGroup: groups ${groups} is no whole number ≥ 1`);
    if (props.ratio !== undefined) checkedRatio(props.ratio);
    this.files = new ModelFiles(this, this.name, props, groups * mostPods([props.prefill, props.decode]));
    this.wiring = props.connector.wiringFor(props.prefill.engine ?? props.engine);
    this.roleSet = this.createRoleSet(groups);
    const made = Array.from({ length: this.roleSet === undefined ? groups : 1 }, (_, index) => ({
      prefill: this.createRole('prefill', index),
      decode: this.createRole('decode', index),
    }));
    this.prefill = made.map(({ prefill }) => prefill);
    this.decode = made.map(({ decode }) => decode);
    this.gangs = this.createGangs();
    this.server = this.createServer();
    const route = this.files.route(props.route);
    if (route !== false) {
      this.route = new ModelRoute(this, 'Route', { ...route, name: this.name });
      this.route.addRule({ name: 'default', targets: [{ server: this.server }] });
    }
    this.policies = this.createPolicies();
    addCheck(this, () => this.check());
  }

  /** Object names carry the group's number even when there is one group, so that a second one replaces nothing. */
  private groupName(index: number): string {
    return `${this.name}-${index}`;
  }

  private createRoleSet(copies: number): RoleSet | undefined {
    const { workload, gang } = this.props;
    if (workload !== 'DisaggregatedSet' && workload !== 'ModelServing') return undefined;
    return new RoleSet(this, 'Roles', {
      name: this.name,
      workload,
      copies,
      labels: { [Labels.model]: this.name },
      ...(gang === undefined ? {} : { gang }),
    });
  }

  private createRole(role: PdRole, index: number): ServingGroup {
    const { connector, workload, gang, recovery } = this.props;
    const { source } = this.files;
    const { engine = this.props.engine, scaleOn, ...pool } = this.props[role];
    const pods = rolePods(role, this.files.engine(engine), connector, this.wiring, pool);
    const labels = { ...poolLabels(this.name, role), [Labels.modelServingRole]: role };
    const isAlone = this.roleSet === undefined;
    const group = new ServingGroup(this, isAlone ? `${role}-${index}` : role, {
      ...pool,
      ...pods.pool,
      name: isAlone ? `${this.groupName(index)}-${role}` : `${this.name}-${role}`,
      source,
      engine: pods.engine,
      servedModelName: this.name,
      labels: isAlone ? { ...labels, [Labels.modelServingGroup]: this.groupName(index) } : labels,
      pdRole: role,
      ...(this.roleSet === undefined ? { workload } : { memberOf: { set: this.roleSet, role } }),
      ...(recovery === undefined ? {} : { recovery }),
      // Its controller makes a gang of each replica; a PodGroup over several would be a second one.
      ...(isAlone && gang !== undefined && isLeaderWorker(workload, pool) ? { gang } : {}),
    });
    group.pod.merge(pods.patch).addLabel(Labels.kvRevision, kvRevisionOf(source, group, connector));
    this.files.give(group, pool.security, this.roleSet);
    return group;
  }

  private createGangs(): readonly Gang[] {
    const { gang } = this.props;
    if (gang === undefined || this.roleSet !== undefined) return [];
    return this.prefill.flatMap((prefill, index) => {
      const members = [
        { group: prefill, role: 'prefill' },
        { group: this.decode[index]!, role: 'decode' },
      ].filter(({ group }) => group.workloadName === 'Deployment');
      return members.length === 0 ? [] : [new Gang(this, `gang-${index}`, { ...gang, name: this.groupName(index), members })];
    });
  }

  private createServer(): ModelServer {
    const { engine, traffic } = this.props;
    return new ModelServer(this, 'Server', {
      name: this.name,
      engine: engine.apiName,
      podLabels: { [Labels.model]: this.name },
      port: engine.port,
      model: this.name,
      traffic,
      disaggregation: {
        groupKey: this.roleSet?.copyLabel ?? Labels.modelServingGroup,
        prefillLabels: { [Labels.modelServingRole]: 'prefill' },
        decodeLabels: { [Labels.modelServingRole]: 'decode' },
        ...(this.wiring?.handOff === undefined ? {} : { handOff: this.wiring.handOff }),
      },
    });
  }

  private createPolicies(): readonly AutoscalingPolicy[] {
    const { ratio, scaling } = this.props;
    if (this.roleSet?.kind === 'ModelServing') {
      const roles = ROLES.map((role) => [role, this.scaledRole(role, this[role][0]!)] as const);
      const scaled = roles.filter(([, { replicas }]) => !replicas.isFixed);
      if (scaled.length === 0) return [];
      const target = {
        // A ratio needs both roles, also one that is fixed.
        roles: Object.fromEntries<ScaledRole>(ratio === undefined ? scaled : roles),
        ...(ratio === undefined ? {} : { ratio: { numerator: 'prefill', denominator: 'decode', ...ratio } }),
      };
      return [new AutoscalingPolicy(this, 'Policy', { name: this.name, ...scaling, ...target })];
    }
    return ROLES.flatMap((role) =>
      this[role]
        .map((group, index) => ({ group, index }))
        .filter(({ group }) => !group.replicas.isFixed)
        .map(
          ({ group, index }) =>
            new AutoscalingPolicy(this, `${role}-policy-${index}`, {
              name: group.name,
              ...scaling,
              ...this.scaledRole(role, group),
            }),
        ),
    );
  }

  private scaledRole(role: PdRole, target: ServingGroup): ScaledRole {
    const metrics = this.props[role].scaleOn ?? defaultMetrics(role, target.engine);
    return { target, replicas: target.replicas, metrics };
  }

  private check(): readonly Finding[] {
    const { connector, ratio } = this.props;
    const [prefill, decode] = [this.prefill[0]!, this.decode[0]!];
    const { kthenaServesRoutes } = stackContext(this).cluster;
    return [
      ...pairingFindings(prefill, decode, connector, this.wiring),
      ...ratioFindings(ratio, prefill.replicas, decode.replicas, this.roleSet?.kind === 'ModelServing'),
      ...(this.wiring !== undefined && kthenaServesRoutes ? foreignRouterFindings(this.wiring, prefill.engine) : []),
    ];
  }
}

function isLeaderWorker(workload: WorkloadName | undefined, { podsPerReplica = 1 }: Pick<PoolProps, 'podsPerReplica'>): boolean {
  return workload === 'LeaderWorkerSet' || (workload === undefined && podsPerReplica > 1);
}
