import type { KubeObject } from '../../../src/api/meta';
import {
  DISAGGREGATED_GROUP,
  DisaggregatedLabels,
  type DisaggregatedRole,
  type DisaggregatedSet,
  LeaderWorkerLabels,
} from '../../../src/expand/leader-worker-workload';
import { groupOf, type ObjectRef } from '../object-source';
import type { ObjectStore } from './object-store';

const KIND = 'DisaggregatedSetRoleScaler';

interface RoleScaler extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

/** The objects by which single roles of DisaggregatedSets are scaled, made as their controller makes them. */
export class RoleScalers {
  constructor(private readonly store: ObjectStore) {}

  /** `set` with the replicas of roles that are scaled from outside taken from their scalers. A scaler that lacks is made, with 1. */
  resolve(set: DisaggregatedSet): DisaggregatedSet {
    const roles = set.spec.roles.map((role): DisaggregatedRole => {
      if (role.scaling?.mode !== 'External') return role;
      const { spec } = this.scalerOf(set, role);
      return { ...role, spec: { ...role.spec, replicas: spec?.replicas ?? 0 } };
    });
    return { ...set, spec: { ...set.spec, roles } };
  }

  /** Writes how many replicas a role has. */
  report(set: DisaggregatedSet, role: string, replicas: number): void {
    const scaler = this.store.get(refOf(set, role));
    if (scaler === undefined) return;
    const selector = [
      `${DisaggregatedLabels.name}=${set.metadata.name}`,
      `${DisaggregatedLabels.role}=${role}`,
      `${LeaderWorkerLabels.workerIndex}=0`,
    ].join(',');
    const status = { observedGeneration: scaler.metadata.generation, replicas, selector };
    this.store.update(scaler, { ...scaler, status } as KubeObject);
  }

  private scalerOf(set: DisaggregatedSet, role: DisaggregatedRole): RoleScaler {
    const present = this.store.get(refOf(set, role.name));
    if (present !== undefined) return present;
    const { name, namespace } = set.metadata;
    const made = {
      apiVersion: set.apiVersion,
      kind: KIND,
      metadata: {
        name: `${name}-${role.name}`,
        ...(namespace === undefined ? {} : { namespace }),
        ownerReferences: [{ apiVersion: set.apiVersion, kind: set.kind, name, uid: set.metadata.uid!, controller: true }],
      },
      spec: { replicas: 1 },
    };
    return this.store.create(made);
  }
}

/** Set and role of a scaler, which is called `<set>-<role>`. */
export function scaledRole({ metadata }: KubeObject): { readonly name: string; readonly role: string } {
  const name = metadata.ownerReferences?.find(({ kind }) => kind === 'DisaggregatedSet')?.name ?? '';
  return { name, role: metadata.name.slice(name.length + 1) };
}

/** The set whose role `object` scales; undefined for any other object. */
export function scaledSet(object: KubeObject): ObjectRef | undefined {
  if (groupOf(object.apiVersion) !== DISAGGREGATED_GROUP || object.kind !== KIND) return undefined;
  const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === 'DisaggregatedSet');
  if (owner === undefined) return undefined;
  return {
    group: DISAGGREGATED_GROUP,
    kind: owner.kind,
    namespace: object.metadata.namespace ?? 'default',
    name: owner.name,
  };
}

function refOf({ metadata }: DisaggregatedSet, role: string): ObjectRef {
  return {
    group: DISAGGREGATED_GROUP,
    kind: KIND,
    namespace: metadata.namespace ?? 'default',
    name: `${metadata.name}-${role}`,
  };
}
