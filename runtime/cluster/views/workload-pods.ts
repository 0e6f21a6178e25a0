import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import { expandWorkload } from '../../../src/expand/expand-workload';
import { groupOf, type ObjectSource } from '../object-source';
import type { TargetRef } from '../scaling';
import type { Workloads } from '../workloads';

interface Scalable extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly roles?: readonly { readonly replicas?: number }[] };
  };
}

/** What a workload's pods are like, and whether it asks for any. */
export interface PlannedPods {
  readonly pods: readonly Pod[];
  readonly isAsleep: boolean;
}

/** What the workloads of a source would run; each stored value is expanded once. */
export class WorkloadPods implements Workloads {
  private readonly known = new WeakMap<KubeObject, PlannedPods>();

  constructor(private readonly source: ObjectSource) {}

  podsOf({ apiVersion, kind, namespace, name }: TargetRef): readonly Pod[] {
    const object = this.source.get({ group: groupOf(apiVersion), kind, namespace, name });
    return object === undefined ? [] : this.plannedOf(object).pods;
  }

  plannedOf(object: KubeObject): PlannedPods {
    let known = this.known.get(object);
    if (known === undefined) {
      const planned = expandWorkload(withPods(object))?.pods ?? [];
      known = {
        pods: planned.map(({ pod }) => pod),
        isAsleep: (expandWorkload(object)?.pods.length ?? 0) === 0,
      };
      this.known.set(object, known);
    }
    return known;
  }
}

/** A workload as if it asked for the least that has pods of every kind. */
function withPods(object: Scalable): KubeObject {
  const { spec } = object;
  const roles = spec?.template?.roles;
  const template =
    roles === undefined
      ? spec?.template
      : { ...spec?.template, roles: roles.map((role) => ({ ...role, replicas: Math.max(1, role.replicas ?? 1) })) };
  return {
    ...object,
    spec: { ...spec, replicas: Math.max(1, spec?.replicas ?? 1), ...(template && { template }) },
  } as KubeObject;
}
