import { describeObject, type KubeObject } from '../../../src/api/meta';
import { type Bill, billOfObjects } from '../../../src/checks';
import { ObjectSet } from '../../../src/checks/object-set';
import { type PlannedWorkload, planWorkloads } from '../../../src/checks/planned-workloads';
import type { ManifestObject } from '../../../src/read-manifests';
import { decodeManifests } from '../manifests/decode-manifests';
import { type Effect, effectsOfChange, effectsOfRemoval } from './effects';
import { type FieldChange, fieldChanges } from './field-changes';

/** One object that is not the same any more. */
export interface ObjectChange {
  readonly change: 'added' | 'changed' | 'removed';
  /** `Kind namespace/name`. */
  readonly object: string;
  /** Empty for objects that are new or gone. */
  readonly fields: readonly FieldChange[];
  readonly effects: readonly Effect[];
}

/** What happens when one set of manifests takes the place of another. */
export interface ManifestDiff {
  /** Removed, then changed, then added, each by kind, namespace and name. */
  readonly changes: readonly ObjectChange[];
  readonly unchanged: number;
  readonly bill: { readonly before: Bill; readonly after: Bill };
}

/** Compares two sets of manifests object by object. Pure. */
export function diffManifests(before: readonly ManifestObject[], after: readonly ManifestObject[]): ManifestDiff {
  const [old, now] = [sideOf(before), sideOf(after)];
  const changes: ObjectChange[] = [];
  for (const [key, object] of old.objects) {
    if (now.objects.has(key)) continue;
    const effects = effectsOfRemoval(object, old.workloads.get(key));
    changes.push({ change: 'removed', object: describeObject(object), fields: [], effects });
  }
  let unchanged = 0;
  for (const [key, object] of now.objects) {
    const previous = old.objects.get(key);
    if (previous === undefined) continue;
    const fields = fieldChanges(previous, object);
    if (fields.length === 0) {
      unchanged += 1;
      continue;
    }
    const pair = { before: old.workloads.get(key), after: now.workloads.get(key) };
    changes.push({
      change: 'changed',
      object: describeObject(object),
      fields,
      effects: effectsOfChange(previous, object, fields, pair),
    });
  }
  for (const [key, object] of now.objects) {
    if (!old.objects.has(key)) changes.push({ change: 'added', object: describeObject(object), fields: [], effects: [] });
  }
  return { changes: scaledWithout(changes, old, now), unchanged, bill: { before: old.bill, after: now.bill } };
}

interface Side {
  readonly objects: ReadonlyMap<string, KubeObject>;
  readonly workloads: ReadonlyMap<string, PlannedWorkload>;
  readonly bill: Bill;
}

/** Of an object that is given twice the last one counts, as with kubectl. */
function sideOf(manifests: readonly ManifestObject[]): Side {
  const objects = [...manifests].sort((a, b) => compare(describeObject(a.object), describeObject(b.object)));
  const { checked } = decodeManifests(objects);
  return {
    objects: new Map(objects.map(({ object }) => [keyOf(object), object])),
    workloads: new Map(planWorkloads(new ObjectSet(checked)).map((workload) => [keyOf(workload.object), workload])),
    bill: billOfObjects(checked),
  };
}

/** Adds workloads whose own manifest stays while a policy takes replicas from them. */
function scaledWithout(changes: readonly ObjectChange[], old: Side, now: Side): readonly ObjectChange[] {
  const told = new Set(changes.map(({ object }) => object));
  const more = [...old.workloads].flatMap(([key, workload]): ObjectChange[] => {
    const { object } = workload;
    const after = now.workloads.get(key);
    const name = describeObject(object);
    if (after === undefined || told.has(name)) return [];
    const effects = effectsOfChange(object, after.object, [], { before: workload, after });
    return effects.length === 0 ? [] : [{ change: 'changed', object: name, fields: [], effects }];
  });
  return [...changes, ...more];
}

function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  return ObjectSet.key(apiVersion, kind, metadata.namespace ?? 'default', metadata.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
