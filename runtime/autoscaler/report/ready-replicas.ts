import type { Pod } from '../../../src/api/pod';
import { podState, replicaOf } from '../observe/target-pods';

/** How many replicas serve: those of whose pods none is unready. @param pods that serve, of one target or one role of it. */
export function readyReplicas(pods: readonly Pod[], role: string | undefined): number {
  const areReady = new Map<string, boolean>();
  for (const pod of pods) {
    const replica = replicaOf(pod, role);
    areReady.set(replica, (areReady.get(replica) ?? true) && podState(pod) === 'ready');
  }
  return [...areReady.values()].filter((isReady) => isReady).length;
}
