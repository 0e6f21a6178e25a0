import type { Pod } from '../api/pod';
import { Annotations } from '../labels';
import { acceleratorOf, gpusOf } from './pod-accelerators';

/**
 * Price of one pod in currency units per hour: the annotation `kvasir.dev/cost-per-replica-hour`, else the catalogue's list price times
 * the pod's GPUs.
 *
 * A replica of several pods carries its price on each pod; whoever sums over pods divides by the pods of the replica.
 *
 * @returns undefined when neither is known.
 */
export function costPerHourOf(pod: Pod): number | undefined {
  const annotated = pod.metadata.annotations?.[Annotations.costPerReplicaHour];
  if (annotated !== undefined && /^\d+(?:\.\d+)?$/.test(annotated)) return Number(annotated);
  const price = acceleratorOf(pod)?.listPricePerHour;
  const gpus = gpusOf(pod);
  return price === undefined || gpus === 0 ? undefined : price * gpus;
}
