import { selects } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import type { Objects } from '../../cluster/objects';
import type { Workloads } from '../../cluster/workloads';
import type { PolicyUnit } from '../policy';
import type { PodPages } from './pod-pages';
import { requestsOf, serversOf } from './rest';

/** Who gets requests from routers, and how many. */
export interface PodTraffic {
  /** Longest time that streams of a pod may go on before it goes. */
  readonly timeoutMs: number;
  /** Whether a ModelServer selects pods of the unit, so that routers send them requests and see that they are drained. */
  isRouted(unit: PolicyUnit): boolean;
  /** Requests that a pod has; undefined: it does not tell. */
  streams(unit: PolicyUnit, pod: Pod): Promise<number | undefined>;
}

/** @param pages of this round; undefined where no page is read, so that no pod tells what it has. */
export function podTraffic(
  timeoutMs: number,
  view: { readonly objects: Objects; readonly workloadPods: Workloads; readonly pages?: PodPages },
): PodTraffic {
  return {
    timeoutMs,
    isRouted: (unit) => serversOf(unit, view).length > 0,
    streams: async (unit, pod) => {
      const server = serversOf(unit, view).find(({ spec }) =>
        selects({ matchLabels: spec.workloadSelector.matchLabels ?? {} }, pod.metadata.labels),
      );
      // What no router serves has no requests that were routed.
      if (server === undefined) return 0;
      const requests = view.pages === undefined ? 'silent' : await requestsOf(pod, server.spec, view.pages);
      return typeof requests === 'number' ? requests : undefined;
    },
  };
}
