import type { KubeObject } from '../api/meta';
import type { Pod } from '../api/pod';
import { scaleTarget } from '../api/scale-target';
import type { ScaleTargetRef } from '../api/scaling-target';
import type { EnginePlan } from '../expand/engine-plan';
import { deploymentPod } from '../expand/expand-deployment';
import { expandWorkload, workloadKindOf } from '../expand/expand-workload';
import { DisaggregatedLabels, LeaderWorkerLabels } from '../expand/leader-worker-workload';
import { planEngine } from '../expand/plan-engine';
import { gpusOf } from '../expand/pod-accelerators';
import type { AppsWorkload } from '../expand/workload-plan';
import { Labels } from '../labels';
import { ObjectSet } from './object-set';
import { ServingIndex } from './serving-index';

/** One server of a workload and the pods that work for it. */
export interface PlannedServer {
  /** The pod that serves. */
  readonly pod: Pod;
  readonly plan: EnginePlan;
  /** GPUs of all pods that work together on this server's model. */
  readonly gpus: number;
}

/** A workload as its controller would run it. */
export interface PlannedWorkload {
  readonly object: KubeObject;
  /** Pods of one replica; of a DisaggregatedSet, of one slice. */
  readonly pods: readonly Pod[];
  /** The same, by what shares one copy of a model. */
  readonly instances: readonly PodInstance[];
  readonly servers: readonly PlannedServer[];
  /** Fewest and most replicas: those of the policy that scales it, else those that it asks for. */
  readonly replicas: Bounds;
  /** Bounds of roles that a policy scales inside a replica. */
  readonly roleReplicas: ReadonlyMap<string, Bounds>;
}

/** Pods that work together: an instance of a role, a group of a LeaderWorkerSet, else all pods of a replica. */
export interface PodInstance {
  /** Empty where the workload has no roles. */
  readonly role: string;
  readonly pods: readonly Pod[];
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Every workload of `set`, expanded once; what cannot be expanded is left out. */
export function planWorkloads(set: ObjectSet, index = new ServingIndex(set)): readonly PlannedWorkload[] {
  const bounds = scaledBounds(set);
  const workloads: PlannedWorkload[] = [];
  for (const object of set.objects) {
    if (workloadKindOf(object) === undefined) continue;
    const written = writtenReplicas(object);
    const pods = podsOfOneReplica(object);
    const instances = instancesOf(pods);
    const key = keyOf(object);
    workloads.push({
      object,
      pods,
      instances,
      servers: instances.flatMap((instance) => serverOf(instance.pods, index)),
      replicas: bounds.ofWorkload.get(key) ?? { min: written, max: written },
      roleReplicas: (object.kind === 'ModelServing' ? bounds.ofRoles.get(key) : undefined) ?? NO_ROLES,
    });
  }
  return workloads;
}

const NO_ROLES: ReadonlyMap<string, Bounds> = new Map();

interface WithReplicas {
  readonly spec?: { readonly replicas?: number; readonly slices?: number };
}

function writtenReplicas(object: KubeObject): number {
  const { spec } = object as KubeObject & WithReplicas;
  return (object.kind === 'DisaggregatedSet' ? spec?.slices : spec?.replicas) ?? 1;
}

/** Nothing here is about names of pods, and to hash a large template costs as much as to check it. */
const UNHASHED = 'template';

/** A workload without replicas still says what its pods would be. */
function podsOfOneReplica(object: KubeObject): readonly Pod[] {
  const { spec } = object as KubeObject & WithReplicas;
  if (spec === undefined) return [];
  if (object.kind === 'Deployment') return [deploymentPod(object as AppsWorkload, 0, UNHASHED)];
  const one = object.kind === 'DisaggregatedSet' ? { slices: 1 } : { replicas: 1 };
  return (expandWorkload({ ...object, spec: { ...spec, ...one } } as KubeObject)?.pods ?? []).map(({ pod }) => pod);
}

function instancesOf(pods: readonly Pod[]): readonly PodInstance[] {
  const instances = new Map<string, { role: string; pods: Pod[] }>();
  for (const pod of pods) {
    const labels = pod.metadata.labels ?? {};
    const role = labels[DisaggregatedLabels.role] ?? labels[Labels.modelServingRole] ?? '';
    const key = `${role}/${labels[LeaderWorkerLabels.groupKey] ?? labels[Labels.modelServingRoleId] ?? ''}`;
    const found = instances.get(key);
    if (found === undefined) instances.set(key, { role, pods: [pod] });
    else found.pods.push(pod);
  }
  return [...instances.values()];
}

function serverOf(group: readonly Pod[], index: ServingIndex): PlannedServer[] {
  for (const pod of group) {
    const plan = planEngine(pod, index.contextOf(pod));
    if (plan !== undefined) return [{ pod, plan, gpus: group.reduce((sum, member) => sum + gpusOf(member), 0) }];
  }
  return [];
}

const keyOf = ({ apiVersion, kind, metadata }: KubeObject): string =>
  ObjectSet.key(apiVersion, kind, metadata.namespace ?? 'default', metadata.name);

/** Bounds of all policies, by what they scale. */
interface ScaledBounds {
  readonly ofWorkload: ReadonlyMap<string, Bounds>;
  /** Of roles that scale inside a workload, by workload and role. */
  readonly ofRoles: ReadonlyMap<string, ReadonlyMap<string, Bounds>>;
}

function scaledBounds(set: ObjectSet): ScaledBounds {
  const ofWorkload = new Map<string, Bounds>();
  const ofRoles = new Map<string, Map<string, Bounds>>();
  for (const scaler of [...set.ofKind('AutoscalingPolicy'), ...set.ofKind('AutoscalingPolicyBinding')]) {
    const { homogeneousTarget, heterogeneousTarget, disaggregatedTarget } = scaler.spec;
    const add = (ref: ScaleTargetRef | undefined, { minReplicas, maxReplicas }: Scaled, role?: string): void => {
      const { apiVersion, kind, namespace, name } = scaleTarget(ref ?? {}, scaler.metadata.namespace ?? 'default');
      const key = ObjectSet.key(apiVersion, kind, namespace, name);
      const bounds = { min: minReplicas, max: maxReplicas };
      if (role === undefined) ofWorkload.set(key, bounds);
      else ofRoles.set(key, (ofRoles.get(key) ?? new Map<string, Bounds>()).set(role, bounds));
    };
    if (homogeneousTarget !== undefined) add(homogeneousTarget.target?.targetRef, homogeneousTarget);
    for (const param of heterogeneousTarget?.params ?? []) add(param.target?.targetRef, param);
    for (const [name, role] of Object.entries(disaggregatedTarget?.roles ?? {})) {
      add(disaggregatedTarget!.targetRef, role, name);
    }
  }
  return { ofWorkload, ofRoles };
}

interface Scaled {
  readonly minReplicas: number;
  readonly maxReplicas: number;
}
