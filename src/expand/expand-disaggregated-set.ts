import { createHash } from 'node:crypto';
import type { KubeObject } from '../api/meta';
import type { Pod } from '../api/pod';
import { expandLeaderWorkerSet } from './expand-leader-worker-set';
import {
  type DisaggregatedRole,
  type DisaggregatedSet,
  DisaggregatedLabels as Labels,
  LEADER_WORKER_GROUP,
  LeaderWorkerLabels,
  type LeaderWorkerSet,
} from './leader-worker-workload';
import { canonicalJson } from './template-hash';
import { controllerReference, type PodTemplateSpec, type WorkloadPlan } from './workload-plan';

const REVISION_DIGITS = 8;

/** Pods and headless Services that the DisaggregatedSet controller makes: a LeaderWorkerSet for each role in each slice. */
export function expandDisaggregatedSet(set: DisaggregatedSet): WorkloadPlan {
  const plans = leaderWorkerSetsOf(set).map((member) => ({ member, plan: expandLeaderWorkerSet(member) }));
  return {
    kind: 'DisaggregatedSet',
    replicas: slicesOf(set),
    selector: { [Labels.name]: set.metadata.name, [LeaderWorkerLabels.workerIndex]: '0' },
    revision: disaggregatedRevision(set),
    pods: plans.flatMap(({ member, plan }) =>
      plan.pods.map(({ pod }) => ({ pod, replica: Number(member.metadata.labels![Labels.slice]) })),
    ),
    services: plans.flatMap(({ member, plan }) => [...plan.services, privateService(set, member)]),
  };
}

export function slicesOf({ spec }: DisaggregatedSet): number {
  return spec.slices ?? 1;
}

const revisions = new WeakMap<readonly DisaggregatedRole[], string>();

/**
 * Hash of the roles' names and templates, computed once for each list of roles: objects are values. It differs from a real controller's,
 * which hashes Go's JSON of its structs.
 */
export function disaggregatedRevision({ spec: { roles } }: DisaggregatedSet): string {
  let revision = revisions.get(roles);
  if (revision === undefined) {
    const templates = roles.map((role) => [role.name, role.spec.leaderWorkerTemplate]);
    revision = createHash('sha256').update(canonicalJson(templates)).digest('hex').slice(0, REVISION_DIGITS);
    revisions.set(roles, revision);
  }
  return revision;
}

/** The LeaderWorkerSets of the current revision, slice by slice. */
export function leaderWorkerSetsOf(set: DisaggregatedSet): readonly LeaderWorkerSet[] {
  return Array.from({ length: slicesOf(set) }, (_, slice) =>
    set.spec.roles.map((role) => leaderWorkerSetOf(set, slice, role)),
  ).flat();
}

/** The LeaderWorkerSet of one role in one slice. */
export function leaderWorkerSetOf(set: DisaggregatedSet, slice: number, role: DisaggregatedRole): LeaderWorkerSet {
  const { name, namespace = 'default', uid = name } = set.metadata;
  const revision = disaggregatedRevision(set);
  const labels = {
    app: `${name}-${slice}-${role.name}`,
    [Labels.name]: name,
    [Labels.revision]: revision,
    [Labels.role]: role.name,
    [Labels.slice]: String(slice),
  };
  const { leaderTemplate, workerTemplate, ...rest } = role.spec.leaderWorkerTemplate;
  return {
    apiVersion: `${LEADER_WORKER_GROUP}/v1`,
    kind: 'LeaderWorkerSet',
    metadata: {
      name: `${name}-${slice}-${revision}-${role.name}`,
      namespace,
      uid: `${uid}-${slice}-${revision}-${role.name}`,
      labels,
      ownerReferences: [{ apiVersion: set.apiVersion, kind: set.kind, name, uid, controller: true }],
    },
    spec: {
      ...role.spec,
      leaderWorkerTemplate: {
        ...rest,
        ...(leaderTemplate === undefined ? {} : { leaderTemplate: labelled(leaderTemplate, labels) }),
        workerTemplate: labelled(workerTemplate, labels),
      },
    },
  };
}

/** Which slice and role a pod belongs to, by the labels that the controller sets over the template's. */
export function disaggregatedPosition(pod: Pod): { readonly slice: number; readonly role: string } | undefined {
  const { [Labels.slice]: slice, [Labels.role]: role } = pod.metadata.labels ?? {};
  return slice === undefined || role === undefined ? undefined : { slice: Number(slice), role };
}

function labelled(template: PodTemplateSpec, labels: Readonly<Record<string, string>>): PodTemplateSpec {
  return { ...template, metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...labels } } };
}

/** The Service over the pods of one role, slice and revision. */
function privateService({ apiVersion, kind, metadata }: DisaggregatedSet, member: LeaderWorkerSet): KubeObject {
  const { app: _, ...selector } = member.metadata.labels!;
  const { blockOwnerDeletion: __, ...owner } = controllerReference({
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid ?? metadata.name,
  });
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: `${member.metadata.name}-prv`,
      namespace: member.metadata.namespace!,
      labels: selector,
      ownerReferences: [owner],
    },
    spec: { clusterIP: 'None', selector },
  };
  return service;
}
