import { describeObject, type KubeObject } from '../api/meta';
import type { Pod } from '../api/pod';
import { error } from '../api/problem';
import type { Finding } from '../errors';
import type { ObjectSet } from './object-set';
import type { PlannedWorkload } from './planned-workloads';

/** Access modes with which a claim is mounted on one node at a time. */
const SINGLE_NODE = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);

interface WithAccessModes {
  readonly spec?: { readonly accessModes?: readonly string[] };
}

interface WithVolumes {
  readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName?: string } }[];
}

/** Claims that one node can mount, under workloads whose pods may need several nodes. */
export function* singleNodeClaims(set: ObjectSet, workloads: readonly PlannedWorkload[]): Iterable<Finding> {
  const users = new Map<KubeObject, PlannedWorkload[]>();
  for (const workload of workloads) {
    for (const claim of claimsOf(workload, set)) users.set(claim, [...(users.get(claim) ?? []), workload]);
  }
  for (const [claim, mounting] of users) {
    const modes = (claim as KubeObject & WithAccessModes).spec?.accessModes ?? [];
    if (modes.length === 0 || !modes.every((mode) => SINGLE_NODE.has(mode))) continue;
    const pods = mounting.reduce((sum, { pods: each, replicas }) => sum + each.length * replicas.max, 0);
    if (pods <= 1) continue;
    const names = mounting.map(({ object }) => describeObject(object)).join(' and ');
    yield set.finding(
      claim,
      error(
        'spec.accessModes',
        'volumes/single-node',
        `${modes.join(', ')} lets one node mount the claim, and up to ${pods} pods of ${names} need it`,
        'use ReadWriteMany or ReadOnlyMany, or a volume per pod',
      ),
    );
  }
}

function claimsOf({ object, pods }: PlannedWorkload, set: ObjectSet): ReadonlySet<KubeObject> {
  const names = new Set(pods.flatMap(claimNames));
  const namespace = object.metadata.namespace ?? 'default';
  const claims = [...names].map((name) => set.find('v1', 'PersistentVolumeClaim', namespace, name));
  return new Set(claims.filter((claim): claim is KubeObject => claim !== undefined));
}

function claimNames({ spec }: Pod): readonly string[] {
  return ((spec as WithVolumes).volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}
