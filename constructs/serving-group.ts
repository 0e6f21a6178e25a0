import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { Labels } from '../src/labels';
import type { Accelerator } from './accelerator';
import type { AutoscalingPolicy, Scalable } from './autoscaling-policy';
import { addCheck } from './check';
import type { Engine } from './engine/engine';
import type { Launch } from './engine/engine-spec';
import { mirroredImage } from './images';
import type { ModelSource } from './model-source';
import { objectName } from './object-name';
import { ownedLabels } from './owned-labels';
import { Replicas } from './replicas';
import { Rollout } from './rollout';
import { stackContext } from './stack-context';
import { deploymentEngine } from './workload/deployment';
import { expectedPace } from './workload/engine-pace';
import { enginePod } from './workload/engine-pod';
import { PodOverride } from './workload/pod-override';
import type { PodSecurityOptions } from './workload/pod-security';
import type { PodTemplate } from './workload/pod-template';
import { planShutdown } from './workload/shutdown-plan';
import type { ScaleTarget, ServingGroupSpec, Workload, WorkloadEngine } from './workload/workload';

/** The engine's part of a serving group: how pods of one pool are made. */
export interface PoolProps {
  /** GPU class of the pods. */
  readonly accelerator: Accelerator;
  /** GPUs of one pod. @default 1 */
  readonly gpusPerPod?: number;
  /** Pods that make up one replica. @default 1 */
  readonly podsPerReplica?: number;
  /** How the model is split over a replica's GPUs. @default tensor parallel over one pod's GPUs, pipeline over its pods */
  readonly parallelism?: { readonly tensor?: number; readonly pipeline?: number };
  /** A fixed number, or `between(min, max)` for a scaler. @default 1 */
  readonly replicas?: number | Replicas;
  /** Price of one replica, in currency units per hour. @default the catalogue's list price of its GPUs, where it has one */
  readonly costPerReplicaHour?: number;
  /** @default Rollout.inPlace(1), which needs no spare GPUs */
  readonly rollout?: Rollout;
  /** CPU request of a pod, in cores. @default 4, and 2 more for each GPU after the first */
  readonly cpu?: number;
  /** Memory request of a pod, in GiB. No limit is set: engines map their weights. @default 16 per GPU, shared memory included */
  readonly memoryGiB?: number;
  /** Size of `/dev/shm`, in GiB, for the engine's workers. @default 2 per GPU, at least 4 */
  readonly sharedMemoryGiB?: number;
  /** Longest answer that must survive a rollout or drain, in tokens. @default 4096 */
  readonly longestAnswerTokens?: number;
  /** Longest start of the container until it is ready, in seconds. @default twice what the catalogue expects, 1800 for unknown models */
  readonly startupSeconds?: number;
  /** Environment variables of the engine. @default none */
  readonly env?: Readonly<Record<string, string>>;
  /** @default none */
  readonly priorityClassName?: string;
  /** What the pods may do beyond the least. @default nothing */
  readonly security?: PodSecurityOptions;
}

export interface ServingGroupProps extends PoolProps {
  /** Name of the objects. @default the construct's id */
  readonly name?: string;
  readonly source: ModelSource;
  readonly engine: Engine;
  /** Name under which the engine serves the model. @default the objects' name */
  readonly servedModelName?: string;
  /** Labels of pods and objects, beside `app`. @default none */
  readonly labels?: Readonly<Record<string, string>>;
}

const DEFAULT_LONGEST_ANSWER_TOKENS = 4096;

/**
 * L2: replicas of one engine on one GPU class. Creates the workload, a headless Service for people and Prometheus, and a
 * PodDisruptionBudget that lets one replica go at a time.
 */
export class ServingGroup extends Construct implements Scalable {
  readonly name: string;
  readonly engine: Engine;
  readonly accelerator: Accelerator;
  readonly replicas: Replicas;
  /** GPUs of one replica, before overrides. */
  readonly gpusPerReplica: number;
  readonly podsPerReplica: number;
  /** In currency units per hour; undefined when neither props nor catalogue know it. */
  readonly costPerReplicaHour: number | undefined;
  /** Adds to the pods: fields, labels, annotations. */
  readonly pod = new PodOverride();
  readonly workload: Workload;
  readonly service: k8s.KubeService;
  readonly disruptionBudget: k8s.KubePodDisruptionBudget;
  /** Labels that only pods of this group carry. */
  readonly podSelector: Readonly<Record<string, string>>;
  private readonly scalers: AutoscalingPolicy[] = [];
  private readonly makeTemplate: () => PodTemplate;

  constructor(scope: Construct, id: string, props: ServingGroupProps) {
    super(scope, id);
    const { engine, accelerator, source } = props;
    const gpus = props.gpusPerPod ?? 1;
    this.name = objectName(this, props.name ?? id);
    this.engine = engine;
    this.accelerator = accelerator;
    this.replicas = Replicas.from(props.replicas ?? 1);
    this.podsPerReplica = props.podsPerReplica ?? 1;
    this.gpusPerReplica = gpus * this.podsPerReplica;
    this.costPerReplicaHour = props.costPerReplicaHour ?? listPrice(accelerator, this.gpusPerReplica);
    this.podSelector = { app: this.name };

    const labels = { app: this.name, ...props.labels };
    const pace = expectedPace(source, accelerator, this.gpusPerReplica);
    const shutdown = planShutdown(props.longestAnswerTokens ?? DEFAULT_LONGEST_ANSWER_TOKENS, pace.itlMs, engine.finishesStreams);
    const launch = engine.launch({
      model: source.engineArgument,
      ...(source.origin.kind === 'hub' ? { revision: source.origin.revision } : {}),
      servedModelName: props.servedModelName ?? this.name,
      tensorParallel: props.parallelism?.tensor ?? gpus,
      pipelineParallel: props.parallelism?.pipeline ?? this.podsPerReplica,
      drainSeconds: shutdown.drainSeconds,
    });
    const { cluster, images } = stackContext(this);
    const sharedMemoryGiB = props.sharedMemoryGiB ?? Math.max(4, 2 * gpus);
    this.makeTemplate = () =>
      enginePod({
        labels,
        selector: this.podSelector,
        image: mirroredImage(engine.image, images),
        engine,
        launch,
        source,
        accelerator,
        gpus,
        nodeSelector: cluster.nodeLabels.selectorFor(accelerator),
        cpu: props.cpu ?? 4 + 2 * (gpus - 1),
        memoryGiB: props.memoryGiB ?? 16 * gpus,
        sharedMemoryGiB,
        shutdown,
        hasSleepAction: cluster.isAtLeast(30),
        startupSeconds: props.startupSeconds ?? pace.startupSeconds,
        costPerReplicaHour: this.costPerReplicaHour,
        env: props.env ?? {},
        priorityClassName: props.priorityClassName,
        security: props.security ?? {},
      });

    const spec: ServingGroupSpec = {
      name: this.name,
      labels: ownedLabels(labels),
      selector: this.podSelector,
      replicas: () => this.writtenReplicas(),
      podsPerReplica: this.podsPerReplica,
      rollout: props.rollout ?? Rollout.inPlace(1),
      startupBudgetSeconds: Math.max(pace.startupBudgetSeconds, props.startupSeconds ?? 0),
      template: () => this.template(),
    };
    this.workload = deploymentEngine.create(this, spec);
    this.service = this.createService(spec);
    this.disruptionBudget = this.createDisruptionBudget(spec);
    addCheck(this, () => this.check(deploymentEngine, spec, launch, source));
  }

  get scaleTarget(): ScaleTarget {
    return this.workload.scaleTarget;
  }

  scaledBy(policy: AutoscalingPolicy): void {
    this.scalers.push(policy);
  }

  /** The pods as they will be written, overrides applied. */
  template(): PodTemplate {
    return this.pod.apply(this.makeTemplate());
  }

  private writtenReplicas(): number | undefined {
    return this.scalers.length > 0 ? undefined : this.replicas.min;
  }

  private createService({ name, labels, selector }: ServingGroupSpec): k8s.KubeService {
    return new k8s.KubeService(this, 'Service', {
      metadata: { name, labels },
      spec: {
        clusterIp: 'None',
        selector,
        ports: [{ name: 'http', port: this.engine.port, targetPort: k8s.IntOrString.fromString('http'), protocol: 'TCP' }],
      },
    });
  }

  private createDisruptionBudget({ name, labels, selector, podsPerReplica }: ServingGroupSpec): k8s.KubePodDisruptionBudget {
    return new k8s.KubePodDisruptionBudget(this, 'DisruptionBudget', {
      metadata: { name, labels },
      spec: {
        // One replica at a time; pods that are not ready never block a drain.
        maxUnavailable: k8s.IntOrString.fromNumber(podsPerReplica),
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
        selector: { matchLabels: selector },
      },
    });
  }

  private check(workloadEngine: WorkloadEngine, spec: ServingGroupSpec, launch: Launch, source: ModelSource): readonly Finding[] {
    const findings: Finding[] = [...this.engine.check(launch)];
    for (const { what, instead } of workloadEngine.limits(spec)) {
      findings.push({
        code: 'workload/cannot-express',
        severity: 'error',
        field: what.split(' ')[0]!,
        message: `${what}, which a ${workloadEngine.name} cannot do`,
        remedy: `a ${instead} can; ask for one pod per replica here`,
      });
    }
    if (!this.replicas.isFixed && this.scalers.length === 0) {
      findings.push({
        code: 'scaling/no-scaler',
        severity: 'warning',
        field: 'replicas',
        message: `between(${this.replicas.min}, ${this.replicas.max}), and nothing scales it`,
        remedy: 'add an AutoscalingPolicy, or give a number',
      });
    }
    if (source.origin.kind === 'hub') findings.push(...checkRevision(source.origin.revision));
    return findings;
  }
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

function checkRevision(revision: string | undefined): readonly Finding[] {
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
