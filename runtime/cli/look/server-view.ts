import { keyOf, selects } from '../../../src/api/meta';
import type { ModelServer } from '../../../src/api/model-server';
import type { Pod } from '../../../src/api/pod';
import type { WorkloadSnapshot } from '../../cluster/snapshot-workload';
import { type Look, objectsOf } from './look';
import { podState } from './pod-state';

/** Pods of one kind that serve a model: those of one workload, or those that no known workload makes. */
export interface PoolView {
  /** `Kind namespace/name`; undefined for pods without a workload. */
  readonly workload?: string;
  /** Where prefill and decode are apart. */
  readonly role?: 'prefill' | 'decode';
  readonly podsReady: number;
  readonly podsThere: number;
  /** Undefined where it is not known how many there should be. */
  readonly podsWanted?: number;
  /** Replicas asked for. */
  readonly replicas?: number;
  readonly accelerator?: string;
  readonly gpusPerPod?: number;
  /** Of its pods now; where nothing runs, of the replicas asked for. */
  readonly costPerHour?: number;
  readonly pods: readonly string[];
  /** Pods that are not ready, with their state and, where it is known, why. */
  readonly notReady: readonly { readonly pod: string; readonly status: string; readonly why?: string }[];
}

/** A ModelServer and what it selects. */
export interface ServerView {
  readonly server: ModelServer;
  /** `namespace/name`. */
  readonly key: string;
  readonly pools: readonly PoolView[];
}

/** Every ModelServer, by key. Pure. */
export function serverViews(look: Look): ReadonlyMap<string, ServerView> {
  const pods = objectsOf(look, 'Pod').filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return new Map(objectsOf(look, 'ModelServer').map((server) => [keyOf(server), serverView(server, pods, look)]));
}

/** Pods of its namespace that a ModelServer selects. */
export function selectedPods({ metadata, spec }: ModelServer, pods: readonly Pod[]): readonly Pod[] {
  const { namespace = 'default' } = metadata;
  const { matchLabels = {} } = spec.workloadSelector;
  // No labels at all would be the whole namespace; a router takes them for nobody.
  if (Object.keys(matchLabels).length === 0) return [];
  return pods.filter(
    (pod) => (pod.metadata.namespace ?? 'default') === namespace && selects({ matchLabels }, pod.metadata.labels),
  );
}

function serverView(server: ModelServer, all: readonly Pod[], { snapshot, isLive }: Look): ServerView {
  const key = keyOf(server);
  const selected = selectedPods(server, all);
  const byKey = new Map(all.map((pod) => [keyOf(pod), pod]));
  const selectedKeys = new Set(selected.map(keyOf));
  const known = snapshot.workloads.filter(
    ({ servers, pods }) => servers.includes(key) || pods.some((pod) => selectedKeys.has(pod)),
  );
  const ofWorkloads = new Set(known.flatMap(({ pods }) => pods));
  const strays = selected.filter((pod) => !ofWorkloads.has(keyOf(pod)));
  return {
    server,
    key,
    pools: [
      ...known.map((workload) => {
        const { kind, namespace, name } = workload.target;
        const pods = workload.pods.flatMap((pod) => byKey.get(pod) ?? []);
        return {
          workload: `${kind} ${namespace}/${name}`,
          ...factsOf(workload, isLive),
          ...poolOf(server, pods, workload.podLabels),
        };
      }),
      ...(strays.length === 0 ? [] : [poolOf(server, strays, [])]),
    ],
  };
}

function factsOf(workload: WorkloadSnapshot, isLive: boolean): Partial<PoolView> {
  const { podsWanted, replicas, accelerator, gpusPerPod, costPerReplicaHour } = workload;
  const asked = costPerReplicaHour === undefined || replicas === undefined ? undefined : costPerReplicaHour * replicas;
  const costPerHour = isLive ? workload.costPerHour : asked;
  return {
    ...(podsWanted !== undefined && { podsWanted }),
    ...(replicas !== undefined && { replicas }),
    ...(accelerator !== undefined && { accelerator }),
    ...(gpusPerPod !== undefined && { gpusPerPod }),
    ...(costPerHour !== undefined && { costPerHour }),
  };
}

function poolOf(
  { spec }: ModelServer,
  pods: readonly Pod[],
  podLabels: readonly Readonly<Record<string, string>>[],
): Pick<PoolView, 'role' | 'podsReady' | 'podsThere' | 'pods' | 'notReady'> {
  const { pdGroup } = spec.workloadSelector;
  const labels = [...podLabels, ...pods.map(({ metadata }) => metadata.labels ?? {})];
  const isAll = (matchLabels: Readonly<Record<string, string>>): boolean =>
    labels.length > 0 && labels.every((each) => selects({ matchLabels }, each));
  const role =
    pdGroup === undefined
      ? undefined
      : isAll(pdGroup.prefillLabels)
        ? 'prefill'
        : isAll(pdGroup.decodeLabels)
          ? 'decode'
          : undefined;
  const states = pods.map((pod) => ({ pod: keyOf(pod), ...podState(pod) }));
  return {
    ...(role !== undefined && { role }),
    podsReady: states.filter(({ isReady }) => isReady).length,
    podsThere: pods.length,
    pods: pods.map(keyOf),
    notReady: states
      .filter(({ isReady }) => !isReady)
      .map(({ pod, status, why }) => ({ pod, status, ...(why !== undefined && { why }) })),
  };
}
