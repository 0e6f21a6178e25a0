import type { Construct } from 'constructs';
import type { ModelServingManifest } from '../../src/api/model-serving';
import { Labels } from '../../src/labels';
import type { GangOptions } from '../gang-options';
import { schedulerNameOf } from '../gang-options';
import { KubeModelServing } from '../kube/model-serving';
import { controllerGangLimits, queueAnnotations } from './controller-gang';
import type { PodTemplate } from './pod-template';
import type { GroupVariables, Limit, ServingGroupSpec, Workload, WorkloadEngine, WorkloadName } from './workload';

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
    ...recoveryLimits(group, 'LeaderWorkerSet'),
    // Of one that begins at zero Kthena's controller never writes a status, and so no scaler can read it.
    ...(group.replicas() === 0 ? [{ what: 'replicas is 0', instead: otherEngine(group) }] : []),
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
          recoveryPolicy: 'ServingGroupRecreate',
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
export function surgeLimits(group: ServingGroupSpec): readonly Limit[] {
  const { maxSurge } = group.rollout;
  return maxSurge === 0 ? [] : [{ what: `rollout.surge is ${maxSurge}`, instead: otherEngine(group) }];
}

/** Under `recoveryPolicy: None` Kthena's controller deletes a pod that failed and does not make it again, so that is never written. */
export function recoveryLimits({ recovery, podsPerReplica }: ServingGroupSpec, instead: WorkloadName): readonly Limit[] {
  return recovery === 'replica' || podsPerReplica === 1 ? [] : [{ what: 'recovery is pod', instead }];
}

function otherEngine({ podsPerReplica }: ServingGroupSpec): WorkloadName {
  return podsPerReplica === 1 ? 'Deployment' : 'LeaderWorkerSet';
}
