import type { KubeObject } from '../../../src/api/meta';
import type { Bounds, PlannedWorkload } from '../../../src/checks/planned-workloads';
import { expandWorkload } from '../../../src/expand';
import type { FieldChange } from './field-changes';
import { immutableChanges } from './immutable-fields';

/** What happens in a cluster when an object goes from one version to the next. */
export type Effect =
  /** The API server refuses the change: the object is deleted and made anew, its pods with it. */
  | { readonly kind: 'replaced'; readonly fields: readonly string[]; readonly pods?: Bounds }
  /** The pod template changes: every pod is made anew, with an empty cache. */
  | { readonly kind: 'restarts'; readonly pods: Bounds }
  /** Fewer replicas at the least or at the most. */
  | { readonly kind: 'fewer-replicas'; readonly before: Bounds; readonly after: Bounds }
  /** A number that was written is now a scaler's: the first sync sets one replica. */
  | { readonly kind: 'resets-replicas'; readonly before: number }
  /** The workload goes, its pods with it. */
  | { readonly kind: 'stops'; readonly replicas: Bounds; readonly pods: Bounds }
  /** The file goes and the object stays, because it says so. */
  | { readonly kind: 'stays' };

/** The same workload before and after; absent for objects that are none. */
export interface WorkloadPair {
  readonly before?: PlannedWorkload;
  readonly after?: PlannedWorkload;
}

/** Effects of a change, the gravest first. Pure. */
export function effectsOfChange(
  before: KubeObject,
  after: KubeObject,
  changes: readonly FieldChange[],
  workload: WorkloadPair,
): readonly Effect[] {
  const effects: Effect[] = [];
  const fields = immutableChanges(before, after, changes);
  if (fields.length > 0) {
    effects.push({ kind: 'replaced', fields, ...(workload.before === undefined ? {} : { pods: podsOf(workload.before) }) });
  } else if (workload.before !== undefined && revisionOf(before) !== revisionOf(after)) {
    effects.push({ kind: 'restarts', pods: podsOf(workload.before) });
  }
  if (workload.before === undefined || workload.after === undefined) return effects;
  const [old, now] = [workload.before.replicas, workload.after.replicas];
  if (now.max < old.max || now.min < old.min) effects.push({ kind: 'fewer-replicas', before: old, after: now });
  const written = writtenReplicas(before);
  if (written !== undefined && written > 1 && writtenReplicas(after) === undefined) {
    effects.push({ kind: 'resets-replicas', before: written });
  }
  return effects;
}

/** Effects of an object's file being gone. Pure. */
export function effectsOfRemoval(object: KubeObject, workload: PlannedWorkload | undefined): readonly Effect[] {
  const { annotations = {} } = object.metadata;
  const isKept = /\bPrune=false\b/.test(annotations['argocd.argoproj.io/sync-options'] ?? '');
  if (isKept) return [{ kind: 'stays' }];
  return workload === undefined ? [] : [{ kind: 'stops', replicas: workload.replicas, pods: podsOf(workload) }];
}

/** Pods of a workload at its fewest and most replicas. */
function podsOf({ pods, replicas }: PlannedWorkload): Bounds {
  return { min: pods.length * replicas.min, max: pods.length * replicas.max };
}

function revisionOf(object: KubeObject): string | undefined {
  return expandWorkload(object)?.revision;
}

function writtenReplicas(object: KubeObject): number | undefined {
  return (object as KubeObject & { readonly spec?: { readonly replicas?: number } }).spec?.replicas;
}
