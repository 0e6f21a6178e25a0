import type { Construct } from 'constructs';
import type { ModelServingManifest } from '../../src/api/model-serving';
import { Labels } from '../../src/labels';
import type { GangOptions } from '../gang-options';
import { schedulerNameOf } from '../gang-options';
import { KubeModelServing } from '../kube/model-serving';
import { controllerGangLimits, queueAnnotations } from './controller-gang';
import type { PodTemplate } from './pod-template';
import type { GroupVariables, Limit, ServingGroupSpec, Workload, WorkloadEngine } from './workload';

type ModelServingSpec = ModelServingManifest['spec'];
type Role = ModelServingSpec['template']['roles'][number];

/** Environment variables that Kthena's controller sets in every container. */
export const MODEL_SERVING_VARIABLES: GroupVariables = {
  leaderAddress: 'ENTRY_ADDRESS',
  index: 'WORKER_INDEX',
  size: 'GROUP_SIZE',
};
/** What Kthena's own controller calls the one role of an aggregated model. */
const ROLE = 'leader';
/** Kubernetes' scheduler; the kind's default is Volcano. */
const DEFAULT_SCHEDULER = 'default-scheduler';

/** One or several pods per replica, under a ModelServing of Kthena: each replica is a serving group with one role. */
export const modelServingEngine: WorkloadEngine = {
  name: 'ModelServing',
  groupVariables: MODEL_SERVING_VARIABLES,
  gangs: 'controller',

  limits: (group): readonly Limit[] => [
    ...controllerGangLimits(group.gang, group.podsPerReplica, 'with-topology'),
    ...surgeLimits(group),
  ],

  create(scope: Construct, group: ServingGroupSpec): Workload {
    const { name, labels, rollout, podsPerReplica, minReplicas } = group;
    const resource = new KubeModelServing(scope, 'Resource', {
      metadata: { name, labels, ...queueAnnotations(group.gang) },
      spec: (): ModelServingSpec => {
        const replicas = group.replicas();
        return {
          ...(replicas === undefined ? {} : { replicas }),
          schedulerName: servingScheduler(group.gang),
          recoveryPolicy: group.recovery === 'replica' ? 'ServingGroupRecreate' : 'None',
          rolloutStrategy: {
            type: 'ServingGroupRollingUpdate',
            rollingUpdateConfiguration: {
              maxUnavailable: Math.max(1, rollout.maxUnavailable),
              ...(rollout.partition === 0 ? {} : { partition: rollout.partition }),
            },
          },
          template: { ...servingTopology(group.gang), roles: [{ ...servingRole(ROLE, group), replicas: 1, maxUnavailable: 1 }] },
        };
      },
    });
    const podSelector = { app: name };
    return {
      resource,
      scaleTarget: { ...KubeModelServing.GVK, name },
      podSelector,
      servingSelector: { ...podSelector, [Labels.modelServingEntry]: 'true' },
      makesService: false,
      // A budget's maxUnavailable counts in the units of the owner's /scale, which are replicas here and not pods.
      disruption: podsPerReplica === 1 ? { maxUnavailable: 1 } : { minAvailable: Math.max(0, minReplicas - 1) * podsPerReplica },
    };
  },
};

/** The pods of `group` as a role, without its replicas. */
export function servingRole(name: string, group: ServingGroupSpec): Role {
  const workerReplicas = group.podsPerReplica - 1;
  return {
    name,
    workerReplicas,
    entryTemplate: templateOf(group.template()),
    ...(workerReplicas === 0 ? {} : { workerTemplate: templateOf(group.workerTemplate()) }),
  };
}

/** A pod template as the kind's own types have it; the fields are the same. */
function templateOf(template: PodTemplate): Role['entryTemplate'] {
  return template as unknown as Role['entryTemplate'];
}

export function servingScheduler(gang: GangOptions | undefined): string {
  return gang === undefined ? DEFAULT_SCHEDULER : schedulerNameOf(gang);
}

/** Nearness of the pods of a serving group. */
export function servingTopology(gang: GangOptions | undefined): Pick<ModelServingSpec['template'], 'networkTopology'> {
  if (gang?.topology === undefined) return {};
  const { mode = 'hard', highestTierAllowed } = gang.topology;
  return { networkTopology: { groupPolicy: { mode, ...(highestTierAllowed === undefined ? {} : { highestTierAllowed }) } } };
}

/** Kthena's controller replaces; it never starts more than there were. */
export function surgeLimits({ rollout, podsPerReplica }: ServingGroupSpec): readonly Limit[] {
  if (rollout.maxSurge === 0) return [];
  const instead = podsPerReplica === 1 ? 'Deployment' : 'LeaderWorkerSet';
  return [{ what: `rollout.surge is ${rollout.maxSurge}`, instead }];
}
