import { scaleTarget, targetRefs } from '../../src/api/scale-target';
import { gpusOf } from '../../src/expand/pod-accelerators';
import type { Cluster, RouterCluster } from './cluster';
import { KINDS } from './kinds';
import type { Kind, KindMap } from './objects';
import type { TargetRef } from './scaling';
import { snapshotWorkload, type WorkloadSnapshot } from './snapshot-workload';
import { withoutSecrets } from './without-secrets';

/** What one reader sees of a cluster at one time, as plain data without environment values, command lines or credentials. */
export interface ClusterSnapshot {
  /** RFC 3339. */
  readonly at: string;
  /** Kinds that this reader lists; nothing is known of the others. */
  readonly kinds: readonly Kind[];
  readonly objects: { readonly [K in Kind]?: readonly KindMap[K][] };
  /** Workloads whose pods a ModelServer selects, that a policy names, or that have accelerators in a namespace with a ModelServer. */
  readonly workloads: readonly WorkloadSnapshot[];
}

/** Kinds that a router may list. */
export const ROUTER_KINDS: readonly Kind[] = ['ModelRoute', 'ModelServer', 'ExternalModelProvider', 'Pod'];

/**
 * Looks at a cluster once, from its caches where it has some.
 *
 * @param kinds what may be listed. @default every kind
 */
export async function takeSnapshot(
  cluster: Pick<RouterCluster, 'objects' | 'wake'> & Partial<Pick<Cluster, 'scaling' | 'workloadPods'>>,
  nowMs: number,
  kinds: readonly Kind[] = KINDS,
): Promise<ClusterSnapshot> {
  const { objects } = cluster;
  const listed = kinds.filter((kind) => objects.freshness(kind).isSynced);
  const isListed = (kind: Kind): boolean => listed.includes(kind);
  const servers = isListed('ModelServer') ? objects.list('ModelServer') : [];
  const targets = new Map<string, TargetRef>();
  const add = (target: TargetRef): void => void targets.set(`${target.kind} ${target.namespace}/${target.name}`, target);
  for (const server of servers) for (const { target } of cluster.wake?.sleepersOf(server) ?? []) add(target);
  for (const kind of ['AutoscalingPolicy', 'AutoscalingPolicyBinding'] as const) {
    for (const { metadata, spec } of isListed(kind) ? objects.list(kind) : []) {
      for (const { ref } of targetRefs(spec)) add(scaleTarget(ref, metadata.namespace ?? 'default'));
    }
  }
  const namespaces = new Set(servers.map(({ metadata }) => metadata.namespace ?? 'default'));
  for (const kind of ['Deployment', 'ModelServing'] as const) {
    for (const { apiVersion, metadata } of isListed(kind) ? objects.list(kind) : []) {
      const { namespace = 'default', name } = metadata;
      const target = { apiVersion, kind, namespace, name };
      const hasGpus = cluster.workloadPods?.podsOf(target).some((pod) => gpusOf(pod) > 0) === true;
      if (namespaces.has(namespace) && hasGpus) add(target);
    }
  }
  const workloads = await Promise.all(
    [...targets.values()].map((target) => snapshotWorkload(target, cluster, servers, isListed)),
  );
  return {
    at: new Date(nowMs).toISOString(),
    kinds: listed,
    objects: Object.fromEntries(listed.map((kind) => [kind, objects.list(kind).map(withoutSecrets)])),
    workloads: workloads.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1)),
  };
}

const sortKey = ({ target }: WorkloadSnapshot): string => `${target.namespace}/${target.name} ${target.kind}`;
