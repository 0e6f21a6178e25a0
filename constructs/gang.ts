import type { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import type { Finding } from '../src/errors';
import { gangRequirement } from '../src/gang/gang-requirement';
import { containerRequests } from '../src/gang/resource-list';
import { Annotations } from '../src/labels';
import { addCheck } from './check';
import { type GangOptions, schedulerNameOf } from './gang-options';
import { KubeCoschedulingPodGroup } from './kube/coscheduling-pod-group';
import { KubePodGroup, type PodGroupSpec, type PodGroupTopology, type SubGroupPolicy } from './kube/pod-group';
import { objectName } from './object-name';
import { ownedLabels } from './owned-labels';
import type { Replicas } from './replicas';
import { stackContext } from './stack-context';
import { clusterFindings } from './workload/cluster-findings';
import type { PodTemplate } from './workload/pod-template';
import type { WorkloadName } from './workload/workload';

/** Pods that may be part of a gang. `ServingGroup` is one. */
export interface GangMember {
  readonly name: string;
  readonly replicas: Replicas;
  readonly podsPerReplica: number;
  readonly workloadName: WorkloadName;
  /** Labels that only its pods carry. */
  readonly podSelector: Readonly<Record<string, string>>;
  /** Its pods as they will be written, asked for at synth. */
  template(): PodTemplate;
  workerTemplate(): PodTemplate;
  /** Told once, so that its pods are marked. */
  joinGang(gang: Gang): void;
}

export interface GangRoleOptions {
  /** The pods. They must be those of a Deployment. */
  readonly group: GangMember;
  /** Name of its part of the gang. @default the group's name */
  readonly role?: string;
  /** Replicas that must fit. @default its smallest number */
  readonly minReplicas?: number;
}

export interface GangProps extends Omit<GangOptions, 'minReplicas'> {
  /** Name of the PodGroup. @default the construct's id */
  readonly name?: string;
  /** The groups that start together. */
  readonly members: readonly GangRoleOptions[];
}

/**
 * L2: pods of one or several Deployments that start together or not at all. Creates a PodGroup and has the pods name it. A PodGroup is
 * static: it holds the groups at their smallest numbers of replicas, and later replicas join one by one. LeaderWorkerSets and
 * ModelServings bring a gang of their own for each replica.
 *
 * @example
 * new Gang(models, 'gang', {
 *   scheduler: 'volcano',
 *   members: [{ group: qwen.pools.h100 }],
 * });
 */
export class Gang extends Construct {
  readonly name: string;
  readonly resource: ApiObject;

  constructor(
    scope: Construct,
    id: string,
    private readonly props: GangProps,
  ) {
    super(scope, id);
    this.name = objectName(this, props.name ?? id);
    for (const { group } of props.members) group.joinGang(this);
    const metadata = { name: this.name, labels: ownedLabels() };
    this.resource =
      props.scheduler === 'volcano'
        ? new KubePodGroup(this, 'Resource', { metadata, spec: () => this.podGroupSpec() })
        : new KubeCoschedulingPodGroup(this, 'Resource', {
            metadata,
            spec: () => ({ ...this.needs(), ...defined({ scheduleTimeoutSeconds: props.scheduleTimeoutSeconds }) }),
          });
    addCheck(this, () => [
      ...clusterFindings('Deployment', props, stackContext(this).cluster),
      ...props.members.flatMap(memberFindings),
      ...this.emptyFindings(),
      ...dialectFindings(props),
    ]);
  }

  /** `template` as a pod of this gang. */
  mark(template: PodTemplate): PodTemplate {
    const { metadata, spec } = template;
    const isVolcano = this.props.scheduler === 'volcano';
    return {
      metadata: {
        labels: isVolcano ? metadata.labels : { ...metadata.labels, [KubeCoschedulingPodGroup.LABEL]: this.name },
        annotations: isVolcano ? { ...metadata.annotations, [Annotations.schedulingGroup]: this.name } : metadata.annotations,
      },
      spec: { ...spec, schedulerName: schedulerNameOf(this.props) },
    };
  }

  private requirement() {
    return gangRequirement(
      this.props.members.map(({ group, role, minReplicas }) => ({
        name: role ?? group.name,
        replicas: group.replicas.min,
        minReplicas,
        podsPerReplica: group.podsPerReplica,
        entryRequests: containerRequests(group.template().spec),
        workerRequests: group.podsPerReplica === 1 ? {} : containerRequests(group.workerTemplate().spec),
      })),
    );
  }

  private needs() {
    const { minMember, minResources } = this.requirement();
    return { minMember, minResources };
  }

  private podGroupSpec(): PodGroupSpec {
    const { queue, topology, members } = this.props;
    const { minMember, minResources, subGroups } = this.requirement();
    return {
      minMember,
      minResources,
      // The kind's default, written out: a default shows as a difference in some GitOps tools.
      queue: queue ?? 'default',
      ...(topology === undefined ? {} : { networkTopology: topologyOf(topology) }),
      ...(members.length < 2
        ? {}
        : {
            // A Deployment's replicas are single pods without a label that tells them apart, so a role is one sub-group.
            subGroupPolicy: members.flatMap(({ group }, i): SubGroupPolicy[] => {
              const { name, size, minGroups } = subGroups[i]!;
              if (minGroups === 0) return [];
              return [
                { name, labelSelector: { matchLabels: group.podSelector }, subGroupSize: size * minGroups, minSubGroups: 1 },
              ];
            }),
          }),
    };
  }

  private emptyFindings(): readonly Finding[] {
    if (this.requirement().minMember > 0) return [];
    return [
      {
        code: 'gang/empty',
        severity: 'error',
        field: 'gang',
        message: 'holds the groups at their smallest numbers of replicas, and those are 0',
        remedy: 'raise the lower bound to at least 1, or leave the gang out',
      },
    ];
  }
}

function topologyOf({ mode = 'hard', highestTierAllowed }: NonNullable<GangOptions['topology']>): PodGroupTopology {
  return { mode, ...defined({ highestTierAllowed }) };
}

function memberFindings({ group, minReplicas }: GangRoleOptions): readonly Finding[] {
  const findings: Finding[] = [];
  if (group.workloadName !== 'Deployment') {
    findings.push({
      code: 'gang/own-gang',
      severity: 'error',
      field: 'members',
      message: `${group.name} is a ${group.workloadName}, whose controller makes a gang of each replica itself`,
      remedy: 'leave it out of this gang, or give it one pod per replica as a Deployment',
    });
  }
  if (minReplicas !== undefined && minReplicas > group.replicas.min) {
    findings.push({
      code: 'gang/more-than-minimum',
      severity: 'error',
      field: 'gang.minReplicas',
      message: `${minReplicas} replicas of ${group.name} must fit, and there may be as few as ${group.replicas.min}`,
      remedy: `ask for at most ${group.replicas.min}, or raise the lower bound`,
    });
  }
  return findings;
}

/** What only the other scheduler understands. */
function dialectFindings({ scheduler, queue, topology, scheduleTimeoutSeconds }: GangProps): readonly Finding[] {
  const unknown = Object.entries(scheduler === 'volcano' ? { scheduleTimeoutSeconds } : { queue, topology });
  return unknown
    .filter(([, value]) => value !== undefined)
    .map(([field]) => ({
      code: 'gang/unknown-option',
      severity: 'error',
      field: `gang.${field}`,
      message: `${scheduler} has nothing of the kind`,
      remedy: `leave it out, or use scheduler: '${scheduler === 'volcano' ? 'coscheduling' : 'volcano'}'`,
    }));
}

function defined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
