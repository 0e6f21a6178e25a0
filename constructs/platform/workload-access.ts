import type { Construct } from 'constructs';
import { DISAGGREGATED_GROUP, LEADER_WORKER_GROUP } from '../../src/expand/leader-worker-workload';
import { WORKLOAD_GROUP } from '../../src/labels';
import { stackContext } from '../stack-context';
import { type AccessRule, READ } from './access';

/** Rights to read the workloads whose pods serve: which of them sleep, and what policies scale. */
export function readWorkloads(scope: Construct): readonly AccessRule[] {
  const rules: AccessRule[] = [
    { group: 'apps', resources: ['deployments', 'statefulsets'], verbs: READ },
    { group: WORKLOAD_GROUP, resources: ['modelservings'], verbs: READ },
    { group: LEADER_WORKER_GROUP, resources: ['leaderworkersets'], verbs: READ },
  ];
  if (stackContext(scope).cluster.leaderWorkerSet)
    rules.push({ group: DISAGGREGATED_GROUP, resources: ['disaggregatedsets'], verbs: READ });
  return rules;
}
