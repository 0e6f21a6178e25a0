import { deploymentEngine } from './deployment';
import { leaderWorkerSetEngine } from './leader-worker-set';
import { modelServingEngine } from './model-serving';
import type { Limit, WorkloadEngine, WorkloadName } from './workload';

const ENGINES = {
  Deployment: deploymentEngine,
  LeaderWorkerSet: leaderWorkerSetEngine,
  ModelServing: modelServingEngine,
  // One group alone is what each role of a DisaggregatedSet is.
  DisaggregatedSet: leaderWorkerSetEngine,
} as const satisfies Readonly<Record<WorkloadName, WorkloadEngine>>;

/** The engine that was asked for; by default a Deployment for one pod per replica, else a LeaderWorkerSet. */
export function chooseEngine(asked: WorkloadName | undefined, podsPerReplica: number): WorkloadEngine {
  return ENGINES[asked ?? (podsPerReplica > 1 ? 'LeaderWorkerSet' : 'Deployment')];
}

/** What is wrong with asking for `asked` for one group alone. */
export function loneGroupLimits(asked: WorkloadName | undefined): readonly Limit[] {
  return asked === 'DisaggregatedSet' ? [{ what: 'workload is for one group alone', instead: 'LeaderWorkerSet' }] : [];
}
