import { describeObject, type KubeObject } from '../../../src/api/meta';
import { DisaggregatedLabels, LeaderWorkerLabels } from '../../../src/expand/leader-worker-workload';
import { Labels, WORKLOAD_GROUP } from '../../../src/labels';
import { groupOf } from '../object-source';
import type { ReadOutcome, WriteOutcome } from '../outcome';
import type { Scale, Scaling, TargetRef } from '../scaling';
import type { ObjectStore } from './object-store';
import { scaledRole } from './role-scalers';

/** Kinds with a `/scale` subresource, as `group/Kind`. */
const SCALABLE: ReadonlySet<string> = new Set([
  'apps/Deployment',
  'apps/StatefulSet',
  'apps/ReplicaSet',
  `${WORKLOAD_GROUP}/ModelServing`,
  'leaderworkerset.x-k8s.io/LeaderWorkerSet',
  'disaggregatedset.x-k8s.io/DisaggregatedSetRoleScaler',
]);

interface Scalable extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template?: { readonly roles?: readonly { readonly name: string; readonly replicas?: number }[] };
  };
  readonly status?: { readonly replicas?: number };
}

/**
 * Replicas of the objects in the store.
 *
 * @param admit checks a changed object as an API server would: what to store, or why not.
 */
export class ScaleAccess implements Scaling {
  constructor(
    private readonly store: ObjectStore,
    private readonly admit: (object: KubeObject) => { readonly object: KubeObject } | { readonly refusal: string },
  ) {}

  async read(target: TargetRef): Promise<ReadOutcome<Scale>> {
    const found = this.find(target);
    return found.kind === 'found' ? { kind: 'found', value: scaleOf(found.value) } : found;
  }

  async set(target: TargetRef, replicas: number, version: string): Promise<WriteOutcome> {
    if (!isCount(replicas)) return { kind: 'invalid', message: `spec.replicas: ${replicas} is no whole number ≥ 0` };
    return this.write(target, version, (object) => ({ ...object.spec, replicas }));
  }

  async setRoles(target: TargetRef, replicas: Readonly<Record<string, number>>, version: string): Promise<WriteOutcome> {
    return this.write(target, version, (object) => {
      const roles = object.spec?.template?.roles;
      if (roles === undefined) return `${describeObject(object)} has no roles`;
      for (const [name, count] of Object.entries(replicas)) {
        if (!roles.some((role) => role.name === name)) return `${describeObject(object)} has no role ${name}`;
        if (!isCount(count)) return `replicas of role ${name}: ${count} is no whole number ≥ 0`;
      }
      const changed = roles.map((role) => ({ ...role, replicas: replicas[role.name] ?? role.replicas ?? 1 }));
      return { ...object.spec, template: { ...object.spec?.template, roles: changed } };
    });
  }

  private find(target: TargetRef): Exclude<ReadOutcome<Scalable>, { kind: 'throttled' | 'unavailable' | 'forbidden' }> {
    const group = groupOf(target.apiVersion);
    if (!SCALABLE.has(`${group}/${target.kind}`)) {
      return { kind: 'invalid', message: `${target.kind} of ${target.apiVersion} cannot be scaled` };
    }
    const object = this.store.get({ group, kind: target.kind, namespace: target.namespace, name: target.name });
    return object === undefined ? { kind: 'gone' } : { kind: 'found', value: object as Scalable };
  }

  private write(
    target: TargetRef,
    version: string,
    /** The new spec, or why there is none. */
    change: (object: Scalable) => object | string,
  ): WriteOutcome {
    const found = this.find(target);
    if (found.kind !== 'found') return found;
    const object = found.value;
    if (object.metadata.resourceVersion !== version) return { kind: 'conflict' };
    const spec = change(object);
    if (typeof spec === 'string') return { kind: 'invalid', message: spec };
    const admitted = this.admit({ ...object, spec } as KubeObject);
    if ('refusal' in admitted) return { kind: 'invalid', message: admitted.refusal };
    const stored = this.store.update(object, admitted.object);
    return { kind: stored === object ? 'unchanged' : 'applied', version: stored.metadata.resourceVersion! };
  }
}

function scaleOf(object: Scalable): Scale {
  return {
    uid: object.metadata.uid!,
    desired: object.spec?.replicas ?? 1,
    actual: object.status?.replicas ?? 0,
    selector: selectorOf(object),
    version: object.metadata.resourceVersion!,
  };
}

/** Only the pods count that serve and are measured: entries of a ModelServing's role instances, leaders of a LeaderWorkerSet's groups. */
function selectorOf(object: Scalable): Readonly<Record<string, string>> {
  if (object.kind === 'LeaderWorkerSet') {
    return { [LeaderWorkerLabels.name]: object.metadata.name, [LeaderWorkerLabels.workerIndex]: '0' };
  }
  if (object.kind === 'DisaggregatedSetRoleScaler') {
    const { name, role } = scaledRole(object);
    return { [DisaggregatedLabels.name]: name, [DisaggregatedLabels.role]: role, [LeaderWorkerLabels.workerIndex]: '0' };
  }
  if (object.kind === 'ModelServing') {
    return { [Labels.modelServingName]: object.metadata.name, [Labels.modelServingEntry]: 'true' };
  }
  return object.spec?.selector?.matchLabels ?? {};
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
