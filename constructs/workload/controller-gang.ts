import type { GangOptions } from '../gang-options';
import type { Limit, WorkloadName } from './workload';

/** Annotation from which a workload's controller takes the queue of the PodGroups that it makes. */
const QUEUE = 'scheduling.volcano.sh/queue-name';

/** Metadata that tells the queue of `gang` to a controller which makes the PodGroups itself. */
export function queueAnnotations(gang: GangOptions | undefined): { readonly annotations?: Record<string, string> } {
  return gang?.queue === undefined ? {} : { annotations: { [QUEUE]: gang.queue } };
}

/**
 * What a controller that makes the gang of each replica itself cannot do: another scheduler than Volcano, several replicas in one gang,
 * and, as the LeaderWorkerSet controller, nearness in the network.
 */
export function controllerGangLimits(
  gang: GangOptions | undefined,
  podsPerReplica: number,
  topology: 'with-topology' | 'without-topology',
): readonly Limit[] {
  if (gang === undefined) return [];
  const limits: Limit[] = [];
  const single: WorkloadName | undefined = podsPerReplica === 1 ? 'Deployment' : undefined;
  if (gang.scheduler !== 'volcano') {
    limits.push({
      what: `gang.scheduler is ${gang.scheduler}`,
      instead: single ?? { remedy: "use scheduler: 'volcano'" },
    });
  }
  if (gang.minReplicas !== undefined) {
    limits.push({
      what: `gang.minReplicas is ${gang.minReplicas}`,
      instead: single ?? { remedy: 'leave it out: each replica is a gang of its own' },
    });
  }
  if (gang.topology !== undefined && topology === 'without-topology') {
    limits.push({ what: 'gang.topology is given', instead: single ?? 'ModelServing' });
  }
  return limits;
}
