import type { Construct } from 'constructs';
import { LeaderWorkerLabels, LeaderWorkerVariables } from '../../src/expand/leader-worker-workload';
import { KubeLeaderWorkerSet, type LeaderWorkerSetSpec } from '../kube/leader-worker-set';
import { controllerGangLimits, queueAnnotations } from './controller-gang';
import type { Limit, ServingGroupSpec, Workload, WorkloadEngine } from './workload';

/**
 * A label of 63 characters holds `<name>-<group>` and a revision of up to 10; without room for it the StatefulSets of the workers make
 * no pods. Four digits are left for the group.
 */
const LONGEST_NAME = 63 - 11 - 5;

/** One or several pods per replica, under a LeaderWorkerSet. */
export const leaderWorkerSetEngine: WorkloadEngine = {
  name: 'LeaderWorkerSet',
  groupVariables: LeaderWorkerVariables,
  gangs: 'controller',

  limits: (group): readonly Limit[] => [
    ...controllerGangLimits(group.gang, group.podsPerReplica, 'without-topology'),
    ...nameLimits(group.name, LONGEST_NAME),
  ],

  create(scope: Construct, group: ServingGroupSpec): Workload {
    const { name, labels } = group;
    const resource = new KubeLeaderWorkerSet(scope, 'Resource', {
      metadata: { name, labels, ...queueAnnotations(group.gang) },
      spec: () => leaderWorkerSetSpec(group),
    });
    const podSelector = { app: name };
    return {
      resource,
      scaleTarget: { ...KubeLeaderWorkerSet.GVK, name },
      podSelector,
      servingSelector: { ...podSelector, [LeaderWorkerLabels.workerIndex]: '0' },
      makesService: true,
      disruption: { maxUnavailable: 1 },
    };
  },
};

/** Spec with every default of the controller's webhook written out. */
export function leaderWorkerSetSpec(group: ServingGroupSpec): LeaderWorkerSetSpec {
  const { maxSurge, maxUnavailable, partition } = group.rollout;
  return {
    replicas: group.replicas(),
    startupPolicy: 'LeaderCreated',
    networkConfig: { subdomainPolicy: 'Shared' },
    rolloutStrategy: { type: 'RollingUpdate', rollingUpdateConfiguration: { maxSurge, maxUnavailable, partition } },
    leaderWorkerTemplate: {
      size: group.podsPerReplica,
      restartPolicy: group.recovery === 'replica' ? 'RecreateGroupOnPodRestart' : 'None',
      ...(group.podsPerReplica === 1
        ? { workerTemplate: group.template() }
        : { leaderTemplate: group.template(), workerTemplate: group.workerTemplate() }),
    },
  };
}

/** The limit of a name that its controller makes longer ones of. */
export function nameLimits(name: string, longest: number): readonly Limit[] {
  if (name.length <= longest) return [];
  return [{ what: `name is ${name.length} characters long`, instead: { remedy: `choose one of at most ${longest}` } }];
}
