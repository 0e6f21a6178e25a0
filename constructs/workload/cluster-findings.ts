import type { Finding } from '../../src/errors';
import type { Cluster } from '../cluster';
import type { GangOptions } from '../gang-options';
import type { WorkloadName } from './workload';

/** What a workload needs and the cluster is said to lack. That Kthena's controllers act on LeaderWorkerSets is found with the objects. */
export function clusterFindings(workload: WorkloadName, gang: GangOptions | undefined, cluster: Cluster): readonly Finding[] {
  const isLeaderWorker = workload === 'LeaderWorkerSet' || workload === 'DisaggregatedSet';
  return [
    ...lacking(isLeaderWorker && !cluster.leaderWorkerSet, {
      code: 'cluster/no-leader-worker-set',
      field: 'workload',
      message: `a ${workload} needs the LeaderWorkerSet controller, which the cluster does not have`,
      remedy: 'install it and say leaderWorkerSet: true in Cluster.of, or choose another workload',
    }),
    ...lacking(workload === 'ModelServing' && !cluster.kthenaServesWorkloads, {
      code: 'cluster/no-model-serving',
      field: 'workload',
      message: `a ModelServing needs Kthena's workload controller, which the cluster does not have (kthena: '${cluster.kthena}')`,
      remedy: "install it and say kthena: 'workload' in Cluster.of, or choose another workload",
    }),
    ...(gang === undefined ? [] : gangFindings(isLeaderWorker, gang, cluster)),
  ];
}

function gangFindings(isLeaderWorker: boolean, { scheduler }: GangOptions, cluster: Cluster): readonly Finding[] {
  return [
    ...lacking(scheduler === 'volcano' && !cluster.volcano, {
      code: 'cluster/no-volcano',
      field: 'gang.scheduler',
      message: 'the cluster does not have Volcano, and without it the pods stay pending for ever',
      remedy: 'install it and say volcano: true in Cluster.of, or leave the gang out',
    }),
    ...lacking(scheduler === 'coscheduling' && !cluster.coscheduling, {
      code: 'cluster/no-coscheduling',
      field: 'gang.scheduler',
      message:
        'the cluster does not have a scheduler with the coscheduling plugin, and without it the pods stay pending for ever',
      remedy: 'install it and say coscheduling: true in Cluster.of, or leave the gang out',
    }),
    ...lacking(scheduler === 'volcano' && isLeaderWorker && cluster.leaderWorkerSet && !cluster.leaderWorkerSetGangs, {
      code: 'cluster/no-leader-worker-set-gang',
      field: 'gang',
      message: "the LeaderWorkerSet controller makes a replica's gang itself, and only with Volcano as its scheduler provider",
      remedy: "start it so and say leaderWorkerSet: { gang: 'volcano' } in Cluster.of, or leave the gang out",
    }),
  ];
}

function lacking(isLacking: boolean, finding: Omit<Finding, 'severity'>): readonly Finding[] {
  return isLacking ? [{ ...finding, severity: 'error' }] : [];
}
