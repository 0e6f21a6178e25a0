import type { Pod } from '../../../src/api/pod';
import { costPerHourOf } from '../../../src/expand/cost';
import { acceleratorOf, gpusOf } from '../../../src/expand/pod-accelerators';
import { Labels } from '../../../src/labels';
import type { Workloads } from '../../cluster/workloads';
import type { PolicyUnit } from '../policy';

/** What a pod, or one replica, takes of what is limited. */
export interface Footprint {
  readonly namespace: string;
  /** Name in the catalogue; undefined: none is named. */
  readonly accelerator: string | undefined;
  readonly gpus: number;
  /** Undefined: no price is known, though it has GPUs. */
  readonly costPerHour: number | undefined;
}

/** What one pod takes. @param pods of its replica, which all carry the replica's price. */
export function footprintOf(pod: Pod, pods = 1): Footprint {
  const gpus = gpusOf(pod);
  const cost = costPerHourOf(pod);
  const isPriced = cost !== undefined || gpus > 0;
  return {
    namespace: pod.metadata.namespace ?? 'default',
    accelerator: acceleratorOf(pod)?.name,
    gpus,
    costPerHour: isPriced ? cost && cost / pods : 0,
  };
}

/** What one replica of a unit takes, by its template: one entry for each of its pods. */
export function replicaFootprint({ target, role }: PolicyUnit, workloads: Workloads): readonly Footprint[] {
  const pods = workloads
    .podsOf(target)
    .filter(({ metadata }) => role === undefined || metadata.labels?.[Labels.modelServingRole] === role);
  return pods.map((pod) =>
    footprintOf({ ...pod, metadata: { namespace: target.namespace, ...pod.metadata } } as Pod, pods.length),
  );
}
