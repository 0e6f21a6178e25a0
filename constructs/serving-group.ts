import type { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { Labels } from '../src/labels';
import type { Accelerator } from './accelerator';
import type { AutoscalingPolicy, Scalable } from './autoscaling-policy';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import type { Launch, LaunchRequest } from './engine/engine-spec';
import { Gang, type GangMember } from './gang';
import { schedulerNameOf } from './gang-options';
import { mirroredImage } from './images';
import { RawDisruptionBudget } from './kube/pod-disruption-budget';
import { RawService } from './kube/service';
import type { ModelSource } from './model-source';
import { objectName } from './object-name';
import { ownedLabels } from './owned-labels';
import { Replicas } from './replicas';
import { Rollout } from './rollout';
import { stackContext } from './stack-context';
import { chooseEngine, loneGroupLimits } from './workload/choose-engine';
import { clusterFindings } from './workload/cluster-findings';
import { expectedPace } from './workload/engine-pace';
import { enginePod } from './workload/engine-pod';
import type { ServingGroupProps } from './workload/group-props';
import { limitFindings } from './workload/limit-findings';
import { type Parallelism, parallelismFindings, parallelismOf } from './workload/parallelism';
import { PodOverride } from './workload/pod-override';
import type { PodTemplate } from './workload/pod-template';
import { planShutdown, type ShutdownPlan } from './workload/shutdown-plan';
import type { GroupVariables, ScaleTarget, ServingGroupSpec, Workload, WorkloadEngine, WorkloadName } from './workload/workload';

export type { PoolProps, ServingGroupProps } from './workload/group-props';

const DEFAULT_LONGEST_ANSWER_TOKENS = 4096;
/** Keeps replicas of one pod apart. The pods of larger ones must be near to each other, so their leaders only avoid sharing a host. */
const SPREAD_SINGLE = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'];
const SPREAD_LEADERS = ['kubernetes.io/hostname'];

/**
 * L2: replicas of one engine on one GPU class. Creates the workload, a headless Service for people and Prometheus, a
 * PodDisruptionBudget that lets one replica go at a time, and a PodGroup where a gang needs one.
 *
 * @example
 * const group = new ServingGroup(models, 'chat', {
 *   source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   accelerator: Accelerator.L40S_48GB,
 *   replicas: 2,
 *   labels: { 'kvasir.dev/model': 'chat' },
 * });
 * new ModelServer(models, 'server', { engine: 'vLLM', podLabels: group.servingSelector, port: group.engine.port });
 */
export class ServingGroup extends Construct implements Scalable, GangMember {
  readonly name: string;
  readonly engine: Engine;
  readonly accelerator: Accelerator;
  readonly replicas: Replicas;
  /** GPUs of one replica, before overrides. */
  readonly gpusPerReplica: number;
  readonly podsPerReplica: number;
  readonly parallelism: Parallelism;
  /** In currency units per hour; undefined when neither props nor catalogue know it. */
  readonly costPerReplicaHour: number | undefined;
  /** Adds to the pods: fields, labels, annotations. */
  readonly pod = new PodOverride();
  readonly workloadName: WorkloadName;
  readonly workload: Workload;
  /** How the pod of a replica that serves starts its engine. */
  readonly launch: Launch;
  readonly service: ApiObject;
  readonly disruptionBudget: ApiObject;
  private readonly scalers: AutoscalingPolicy[] = [];
  private readonly makeTemplate: (place: 'leader' | 'worker') => PodTemplate;
  private readonly gangs: Gang[] = [];

  constructor(scope: Construct, id: string, props: ServingGroupProps) {
    super(scope, id);
    const { engine, accelerator, memberOf } = props;
    const gpus = props.gpusPerPod ?? 1;
    this.name = objectName(this, props.name ?? id);
    this.engine = engine;
    this.accelerator = accelerator;
    this.replicas = Replicas.from(props.replicas ?? 1);
    this.podsPerReplica = props.podsPerReplica ?? 1;
    this.gpusPerReplica = gpus * this.podsPerReplica;
    this.parallelism = parallelismOf(props.parallelism, gpus, this.podsPerReplica);
    this.costPerReplicaHour = props.costPerReplicaHour ?? listPrice(accelerator, this.gpusPerReplica);

    const workloadEngine = chooseEngine(props.workload, this.podsPerReplica);
    this.workloadName = memberOf?.set.kind ?? workloadEngine.name;
    const pace = expectedPace(props.source, accelerator, this.gpusPerReplica);
    const plan = planShutdown(props.longestAnswerTokens ?? DEFAULT_LONGEST_ANSWER_TOKENS, pace.itlMs, engine.finishesStreams);
    const variables = memberOf?.set.groupVariables ?? workloadEngine.groupVariables;
    const launches = {
      leader: engine.launch(this.launchRequest(props, plan.drainSeconds, variables, true)),
      worker: engine.launch(this.launchRequest(props, plan.drainSeconds, variables, false)),
    };
    this.launch = launches.leader;
    const gang = memberOf?.set.gang ?? props.gang;
    const startupSeconds = props.startupSeconds ?? pace.startupSeconds;
    this.makeTemplate = (place) => {
      const template = this.enginePod(props, plan, startupSeconds, launches[place], place);
      const [podGroup] = this.gangs;
      if (podGroup !== undefined) return podGroup.mark(template);
      return gang === undefined ? template : { ...template, spec: { ...template.spec, schedulerName: schedulerNameOf(gang) } };
    };

    const spec: ServingGroupSpec = {
      name: this.name,
      labels: ownedLabels({ app: this.name, ...props.labels }),
      replicas: () => (this.scalers.length > 0 ? undefined : this.replicas.min),
      minReplicas: this.replicas.min,
      podsPerReplica: this.podsPerReplica,
      rollout: props.rollout ?? Rollout.inPlace(1),
      recovery: props.recovery ?? 'replica',
      startupBudgetSeconds: Math.max(pace.startupBudgetSeconds, props.startupSeconds ?? 0),
      gang: props.gang,
      template: () => this.template(),
      workerTemplate: () => this.workerTemplate(),
    };
    this.workload = memberOf === undefined ? workloadEngine.create(this, spec) : memberOf.set.join(memberOf.role, spec);
    this.service = this.createService(spec);
    this.disruptionBudget = this.createDisruptionBudget(spec);
    if (props.gang !== undefined && memberOf === undefined && workloadEngine.gangs === 'pod-group') {
      const { minReplicas, ...options } = props.gang;
      new Gang(this, 'Gang', { ...options, name: this.name, members: [{ group: this, minReplicas }] });
    }
    addCheck(this, () => [
      ...engine.check(this.launch),
      ...parallelismFindings(this.parallelism, this.gpusPerReplica),
      ...(memberOf === undefined ? loneFindings(this, workloadEngine, props, spec) : roleFindings(props)),
      ...this.scalerFindings(),
      ...this.gangFindings(),
      ...revisionFindings(props.source),
    ]);
  }

  get scaleTarget(): ScaleTarget {
    return this.workload.scaleTarget;
  }

  /** Labels that only pods of this group carry. */
  get podSelector(): Readonly<Record<string, string>> {
    return this.workload.podSelector;
  }

  /** Labels that only the pods of this group carry which answer requests: one for each replica. */
  get servingSelector(): Readonly<Record<string, string>> {
    return this.workload.servingSelector;
  }

  scaledBy(policy: AutoscalingPolicy): void {
    this.scalers.push(policy);
  }

  joinGang(gang: Gang): void {
    this.gangs.push(gang);
  }

  /** The pods that serve, as they will be written, overrides applied. */
  template(): PodTemplate {
    return this.pod.apply(this.makeTemplate('leader'));
  }

  /** The other pods of a replica, as they will be written, overrides applied. */
  workerTemplate(): PodTemplate {
    return this.pod.apply(this.makeTemplate('worker'));
  }

  private launchRequest(
    props: ServingGroupProps,
    drainSeconds: number,
    variables: GroupVariables | undefined,
    isLeader: boolean,
  ): LaunchRequest {
    const { source, pdRole } = props;
    const node =
      variables === undefined || this.podsPerReplica === 1
        ? undefined
        : {
            count: this.podsPerReplica,
            leaderAddress: `$(${variables.leaderAddress})`,
            index: isLeader ? '0' : `$(${variables.index})`,
            isLeader,
          };
    return {
      model: source.engineArgument,
      ...(source.origin.kind === 'hub' ? { revision: source.origin.revision } : {}),
      servedModelName: props.servedModelName ?? this.name,
      tensorParallel: this.parallelism.tensor,
      pipelineParallel: this.parallelism.pipeline,
      ...(node === undefined ? {} : { node }),
      drainSeconds,
      ...(pdRole === undefined ? {} : { role: pdRole }),
    };
  }

  private enginePod(
    props: ServingGroupProps,
    shutdown: ShutdownPlan,
    startupSeconds: number,
    launch: Launch,
    place: 'leader' | 'worker',
  ): PodTemplate {
    const { cluster, images } = stackContext(this);
    const gpus = props.gpusPerPod ?? 1;
    const isServing = place === 'leader';
    const labels: Readonly<Record<string, string>> = { app: this.name, ...props.labels };
    return enginePod({
      labels: isServing ? labels : withoutModel(labels),
      spread: {
        selector: this.servingSelector,
        topologyKeys: this.podsPerReplica === 1 ? SPREAD_SINGLE : isServing ? SPREAD_LEADERS : [],
      },
      isServing,
      image: mirroredImage(this.engine.image, images),
      engine: this.engine,
      launch,
      source: props.source,
      accelerator: this.accelerator,
      gpus,
      nodeSelector: cluster.nodeLabels.selectorFor(this.accelerator),
      cpu: props.cpu ?? 4 + 2 * (gpus - 1),
      memoryGiB: props.memoryGiB ?? 16 * gpus,
      sharedMemoryGiB: props.sharedMemoryGiB ?? Math.max(4, 2 * gpus),
      shutdown,
      hasSleepAction: cluster.isAtLeast(30),
      startupSeconds,
      costPerReplicaHour: this.costPerReplicaHour,
      env: props.env ?? {},
      priorityClassName: props.priorityClassName,
      security: props.security ?? {},
    });
  }

  private createService({ name, labels }: ServingGroupSpec): ApiObject {
    const serviceName = this.workload.makesService ? objectName(this, `${name}-http`) : name;
    return new RawService(this, 'Service', {
      metadata: { name: serviceName, labels },
      spec: {
        clusterIP: 'None',
        selector: this.servingSelector,
        ports: [{ name: 'http', port: this.engine.port, targetPort: 'http', protocol: 'TCP' }],
      },
    });
  }

  private createDisruptionBudget({ name, labels }: ServingGroupSpec): ApiObject {
    return new RawDisruptionBudget(this, 'DisruptionBudget', {
      metadata: { name, labels },
      spec: {
        // One replica at a time, all of its pods counted: to lose a worker restarts it. Pods that are not ready never block a drain.
        ...this.workload.disruption,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: this.podSelector },
      },
    });
  }

  private gangFindings(): readonly Finding[] {
    const [first, second] = this.gangs;
    if (first === undefined || second === undefined) return [];
    return [
      {
        code: 'gang/two-gangs',
        severity: 'error',
        field: 'gang',
        message: `its pods can name one PodGroup only, and both ${first.node.path} and ${second.node.path} hold them`,
        remedy: 'leave it out of one of them',
      },
    ];
  }

  private scalerFindings(): readonly Finding[] {
    if (this.replicas.isFixed || this.scalers.length > 0) return [];
    return [
      {
        code: 'scaling/no-scaler',
        severity: 'warning',
        field: 'replicas',
        message: `between(${this.replicas.min}, ${this.replicas.max}), and nothing scales it`,
        remedy: 'add an AutoscalingPolicy, or give a number',
      },
    ];
  }
}

/** Labels of a pod that a ModelServer must not send requests to. */
function withoutModel({ [Labels.model]: _, ...others }: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return others;
}

function loneFindings(
  group: ServingGroup,
  engine: WorkloadEngine,
  props: ServingGroupProps,
  spec: ServingGroupSpec,
): readonly Finding[] {
  return [
    // A PodGroup beside the workload tells by itself what it lacks.
    ...clusterFindings(engine.name, engine.gangs === 'controller' ? props.gang : undefined, stackContext(group).cluster),
    ...limitFindings(engine.name, engine.limits(spec)),
    ...limitFindings(props.workload ?? engine.name, loneGroupLimits(props.workload)),
  ];
}

/** Options that belong to the set of a role. */
function roleFindings({ gang, workload, memberOf }: ServingGroupProps): readonly Finding[] {
  return Object.entries({ gang, workload })
    .filter(([, value]) => value !== undefined)
    .map(([field]) => ({
      code: 'workload/role-option',
      severity: 'error',
      field,
      message: `belongs to the whole ${memberOf?.set.kind} ${memberOf?.set.name}`,
      remedy: 'give it to the RoleSet',
    }));
}

/** Labels that tell the pods of a model's pool apart, also under the names that Kthena's tools know. */
export function poolLabels(model: string, pool: string): Record<string, string> {
  return {
    [Labels.model]: model,
    [Labels.pool]: pool,
    [Labels.kthenaModelName]: model,
    [Labels.kthenaBackendName]: pool,
  };
}

function listPrice({ facts }: Accelerator, gpus: number): number | undefined {
  return facts?.listPricePerHour === undefined ? undefined : Math.round(facts.listPricePerHour * gpus * 100) / 100;
}

function revisionFindings({ origin }: ModelSource): readonly Finding[] {
  if (origin.kind !== 'hub') return [];
  const { revision } = origin;
  if (revision !== undefined && /^[0-9a-f]{40}$/.test(revision)) return [];
  const isShort = revision !== undefined && /^[0-9a-f]{7,39}$/.test(revision);
  return [
    {
      code: isShort ? 'model/short-revision' : 'model/mutable-revision',
      severity: isShort ? 'warning' : 'info',
      field: 'source.revision',
      message: isShort
        ? `${revision} is part of a commit id, which the hub does not resolve`
        : `the model follows ${revision ?? 'the default branch'}`,
      remedy: 'give the full commit id of 40 digits',
    },
  ];
}
