import { keyOf, selects } from '../../src/api/meta';
import type { ModelServer } from '../../src/api/model-server';
import type { Pod } from '../../src/api/pod';
import { costPerHourOf, expandWorkload } from '../../src/expand';
import { LeaderWorkerLabels } from '../../src/expand/leader-worker-workload';
import { acceleratorOf, gpusOf } from '../../src/expand/pod-accelerators';
import { Annotations, Labels } from '../../src/labels';
import type { Cluster } from './cluster';
import type { Kind, KindMap } from './objects';
import { isPodOf } from './pods-of-workload';
import type { TargetRef } from './scaling';

/** One workload in a snapshot. What its reader may not see is absent. */
export interface WorkloadSnapshot {
  readonly target: TargetRef;
  /** Whether it is there; a policy may name one that is not. */
  readonly isThere: boolean;
  /** Replicas asked for. */
  readonly replicas?: number;
  /** Pods of all those replicas. */
  readonly podsWanted?: number;
  /** Pods of one replica. */
  readonly podsPerReplica?: number;
  /** Name in the catalogue of the accelerators. */
  readonly accelerator?: string;
  readonly gpusPerPod?: number;
  /** Of its pods now, in currency units per hour. */
  readonly costPerHour?: number;
  /** Of one replica, in the same units. */
  readonly costPerReplicaHour?: number;
  /** Labels of the pods that it makes, each kind of pod once. */
  readonly podLabels: readonly Readonly<Record<string, string>>[];
  /** `namespace/name` of its pods, those that end not included. */
  readonly pods: readonly string[];
  /** `namespace/name` of the ModelServers that select pods that it makes. */
  readonly servers: readonly string[];
}

/** What of a cluster tells about workloads; `scaling` and `workloadPods` are absent for a reader that may not use them. */
export type WorkloadReader = Pick<Cluster, 'objects'> & Partial<Pick<Cluster, 'scaling' | 'workloadPods'>>;

/** @param servers all that might select its pods. @param isListed whether a kind may be listed. */
export async function snapshotWorkload(
  target: TargetRef,
  reader: WorkloadReader,
  servers: readonly ModelServer[],
  isListed: (kind: Kind) => boolean,
): Promise<WorkloadSnapshot> {
  const { kind, namespace, name } = target;
  const scale = await reader.scaling?.read(target);
  const planned = reader.workloadPods?.podsOf(target) ?? [];
  const object =
    (kind === 'Deployment' || kind === 'ModelServing') && isListed(kind) ? reader.objects.get(kind, namespace, name) : undefined;
  const pods = (isListed('Pod') ? reader.objects.list('Pod', { namespace }) : []).filter(
    (pod) => pod.metadata.deletionTimestamp === undefined && isPodOf(target, pod, object),
  );
  const kinds: readonly Pick<Pod, 'metadata' | 'spec'>[] = planned.length > 0 ? planned : pods;
  const replicas = scale?.kind === 'found' ? scale.value.desired : undefined;
  const podsPerReplica = kinds.length === 0 ? undefined : Math.max(1, Math.round(kinds.length / replicaCount(kinds)));
  const podsWanted = podsWantedOf(object, kind, replicas, podsPerReplica, planned.length);
  const withGpus = kinds.find((pod) => gpusOf(pod as Pod) > 0) as Pod | undefined;
  const accelerator = withGpus && (acceleratorOf(withGpus)?.name ?? withGpus.metadata.annotations?.[Annotations.accelerator]);
  const costPerHour = costOf(pods, podsPerReplica ?? 1);
  const costOfKinds = costOf(kinds, podsPerReplica ?? 1);
  return {
    target,
    isThere: scale === undefined ? true : scale.kind !== 'gone' || object !== undefined,
    ...(replicas !== undefined && { replicas }),
    ...(podsWanted !== undefined && { podsWanted }),
    ...(podsPerReplica !== undefined && { podsPerReplica }),
    ...(accelerator !== undefined && { accelerator }),
    ...(withGpus !== undefined && { gpusPerPod: gpusOf(withGpus) }),
    ...(costPerHour !== undefined && { costPerHour }),
    ...(costOfKinds !== undefined && { costPerReplicaHour: toCents(costOfKinds / replicaCount(kinds)) }),
    podLabels: distinct(kinds.map(({ metadata }) => metadata.labels ?? {})),
    pods: pods.map(keyOf),
    servers: servers
      .filter((server) => (server.metadata.namespace ?? 'default') === namespace)
      .filter(({ spec }) => kinds.some(({ metadata }) => selects(spec.workloadSelector, metadata.labels)))
      .map(keyOf),
  };
}

function podsWantedOf(
  object: KindMap['Deployment' | 'ModelServing'] | undefined,
  kind: string,
  replicas: number | undefined,
  podsPerReplica: number | undefined,
  planned: number,
): number | undefined {
  if (object !== undefined) return expandWorkload(object)?.pods.length;
  // A DisaggregatedSet has no replicas of its own: its roles have.
  if (kind === 'DisaggregatedSet') return planned;
  return replicas === undefined ? undefined : replicas * (podsPerReplica ?? 1);
}

/** Replicas that some pods make up: groups of several pods carry their group's name. */
function replicaCount(pods: readonly Pick<Pod, 'metadata'>[]): number {
  const replicas = new Set(
    pods.map(
      ({ metadata }) =>
        (metadata.labels?.[Labels.modelServingName] === undefined ? undefined : metadata.labels[Labels.modelServingGroup]) ??
        metadata.labels?.[LeaderWorkerLabels.groupIndex] ??
        metadata.name,
    ),
  );
  return Math.max(1, replicas.size);
}

/** An annotated price is a replica's and stands on each of its pods; the catalogue's is a pod's. */
function costOf(pods: readonly Pick<Pod, 'metadata' | 'spec'>[], podsPerReplica: number): number | undefined {
  const prices = pods.flatMap((pod) => {
    const price = costPerHourOf(pod as Pod);
    if (price === undefined) return [];
    return [pod.metadata.annotations?.[Annotations.costPerReplicaHour] === undefined ? price : price / podsPerReplica];
  });
  return prices.length === 0 ? undefined : toCents(prices.reduce((sum, price) => sum + price, 0));
}

const toCents = (cost: number): number => Math.round(cost * 100) / 100;

function distinct(labels: readonly Readonly<Record<string, string>>[]): readonly Readonly<Record<string, string>>[] {
  const known = new Map(labels.map((each) => [JSON.stringify(withoutIdentity(each)), withoutIdentity(each)]));
  return [...known.values()].slice(0, MAX_POD_LABELS);
}

/** Kinds of pods of a workload that are told apart; a role or two, a leader and its workers. */
const MAX_POD_LABELS = 8;

/** Labels that tell one pod from its sibling say nothing about what a selector could match. */
function withoutIdentity(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { [LeaderWorkerLabels.groupIndex]: _index, [LeaderWorkerLabels.groupKey]: _key, ...rest } = labels;
  return Object.fromEntries(
    Object.entries(rest).filter(
      ([key]) => !/(?:pod-index|pod-name|pod-template-hash|role-id|group-name|worker-index)$/.test(key),
    ),
  );
}
