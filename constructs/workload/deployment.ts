import type { Construct } from 'constructs';
import { RawDeployment } from '../kube/deployment';
import type { Limit, ServingGroupSpec, Workload, WorkloadEngine } from './workload';

/** Old ReplicaSets to keep: enough to roll back twice, few enough to read. */
const REVISION_HISTORY_LIMIT = 3;

/** One pod per replica, under a Deployment. */
export const deploymentEngine: WorkloadEngine = {
  name: 'Deployment',
  gangs: 'pod-group',

  limits({ podsPerReplica, rollout }): readonly Limit[] {
    return [
      ...(podsPerReplica > 1 ? [{ what: `podsPerReplica is ${podsPerReplica}`, instead: 'LeaderWorkerSet' } as const] : []),
      ...(rollout.partition > 0
        ? [{ what: `rollout.partition is ${rollout.partition}`, instead: 'LeaderWorkerSet' } as const]
        : []),
    ];
  },

  create(scope: Construct, group: ServingGroupSpec): Workload {
    const { name, labels, rollout } = group;
    const selector = { app: name };
    const resource = new RawDeployment(scope, 'Resource', {
      metadata: { name, labels },
      spec: () => ({
        replicas: group.replicas(),
        selector: { matchLabels: selector },
        strategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxSurge: rollout.maxSurge, maxUnavailable: rollout.maxUnavailable },
        },
        // The clock starts anew with each pod that becomes available, so one pod's time is enough.
        progressDeadlineSeconds: group.startupBudgetSeconds,
        revisionHistoryLimit: REVISION_HISTORY_LIMIT,
        template: group.template(),
      }),
    });
    return {
      resource,
      scaleTarget: { ...RawDeployment.GVK, name },
      podSelector: selector,
      servingSelector: selector,
      makesService: false,
      disruption: { maxUnavailable: 1 },
    };
  },
};
