import type { Pod } from '../../../src/api/pod';
import type { EngineWindow } from '../decide/capacity/engine-window';
import type { PoolWindows } from './pool-windows';
import { podState, replicaOf } from './target-pods';

/**
 * What is asked of each replica, by the windows of its engines: of one with several engines their sum, once all of them are known. A replica of a
 * role is in each of several groups and has their mean.
 *
 * @param pods of the target that serve, ready or not.
 */
export function replicaDemands(
  pods: readonly Pod[],
  recent: PoolWindows['recent'],
  role: string | undefined,
  demandOf: (window: EngineWindow) => number,
): readonly number[] {
  const windows = new Map(recent.map(({ pod, window }) => [pod, window]));
  const byReplica = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (podState(pod) === 'terminating') continue;
    const replica = replicaOf(pod, role);
    byReplica.set(replica, [...(byReplica.get(replica) ?? []), pod]);
  }
  return [...byReplica.values()].flatMap((engines) => {
    const demands = engines.flatMap((pod) => {
      const window = windows.get(pod);
      return window === undefined ? [] : [demandOf(window)];
    });
    const sum = demands.reduce((total, demand) => total + demand, 0);
    if (role !== undefined) return demands.length === 0 ? [] : [sum / demands.length];
    return demands.length < engines.length ? [] : [sum];
  });
}
