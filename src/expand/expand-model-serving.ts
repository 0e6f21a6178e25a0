import type { KubeObject } from '../api/meta';
import type { ModelServing, ServingRole } from '../api/model-serving';
import type { Container, EnvVar, Pod } from '../api/pod';
import { Annotations, Labels } from '../labels';
import { applyPlugins } from './serving-plugins';
import { hashOnce } from './template-hash';
import {
  controllerReference,
  NO_CONTAINERS,
  type PodTemplateInstance,
  type ServingPosition,
  type WorkloadPlan,
} from './workload-plan';

/** Kthena's label for the hash of a role's templates. */
export const ROLE_TEMPLATE_HASH = 'modelserving.volcano.sh/role-template-hash';
const VOLCANO = 'volcano';

/** Pods and headless Services that Kthena's controller makes of a ModelServing, with Volcano's PodGroup kind in the cluster. */
export function expandModelServing(serving: ModelServing): WorkloadPlan {
  const { replicas = 1, template } = serving.spec;
  const first = template.roles[0]?.name ?? '';
  const groups = Array.from({ length: replicas }, (_, group) => group);
  return {
    kind: 'ModelServing',
    replicas,
    selector: {
      [Labels.modelServingEntry]: 'true',
      [Labels.modelServingName]: serving.metadata.name,
      [Labels.modelServingRole]: first,
      [Labels.modelServingRoleId]: `${first}-0`,
    },
    revision: servingRevision(serving),
    pods: groups.flatMap((group) => servingGroupPods(serving, group)),
    services: groups.flatMap((group) =>
      template.roles
        .filter(({ workerTemplate }) => workerTemplate !== undefined)
        .flatMap((role) =>
          Array.from({ length: role.replicas ?? 1 }, (_, instance) => entryService(serving, group, role.name, instance)),
        ),
    ),
  };
}

/** All pods of one serving group, role by role, each instance's entry before its workers. */
export function servingGroupPods(serving: ModelServing, group: number): readonly PodTemplateInstance[] {
  return serving.spec.template.roles.flatMap((role) =>
    Array.from({ length: role.replicas ?? 1 }, (_, instance) => instancePods(serving, role, group, instance)).flat(),
  );
}

/** The entry and the workers of one role instance. */
export function instancePods(
  serving: ModelServing,
  role: ServingRole,
  group: number,
  instance: number,
): readonly PodTemplateInstance[] {
  return Array.from({ length: 1 + role.workerReplicas }, (_, index) => ({
    replica: group,
    pod: servingPod(serving, role, { group, role: role.name, instance, index }),
  }));
}

/** Hash of the role list, blind to replica counts and rollout limits, which never make a pod outdated. */
export function servingRevision(serving: ModelServing): string {
  const { template } = serving.spec;
  return hashOnce(template, () => template.roles.map(comparable));
}

export function roleTemplateHash(role: ServingRole): string {
  return hashOnce(role, () => comparable(role));
}

function comparable({ replicas, maxUnavailable, partition, ...rest }: ServingRole) {
  return rest;
}

function servingPod(serving: ModelServing, role: ServingRole, position: ServingPosition): Pod {
  const { name, namespace = 'default' } = serving.metadata;
  const isEntry = position.index === 0;
  const template = (isEntry ? role.entryTemplate : role.workerTemplate) ?? {};
  const group = `${name}-${position.group}`;
  const roleId = `${role.name}-${position.instance}`;
  const schedulerName = serving.spec.schedulerName ?? VOLCANO;
  const env: readonly EnvVar[] = [
    { name: 'GROUP_SIZE', value: String(role.workerReplicas + 1) },
    { name: 'ENTRY_ADDRESS', value: `${group}-${roleId}-0.${namespace}` },
    { name: 'WORKER_INDEX', value: String(position.index) },
  ];
  const spec = { ...(template.spec ?? NO_CONTAINERS), schedulerName };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${group}-${roleId}-${position.index}`,
      namespace,
      labels: {
        [Labels.modelServingName]: name,
        [Labels.modelServingGroup]: group,
        [Labels.modelServingRole]: role.name,
        [Labels.modelServingRoleId]: roleId,
        [Labels.modelServingRevision]: servingRevision(serving),
        [ROLE_TEMPLATE_HASH]: roleTemplateHash(role),
        ...(isEntry ? { [Labels.modelServingEntry]: 'true' } : {}),
        ...template.metadata?.labels,
      },
      annotations: {
        ...(schedulerName === VOLCANO ? { [Annotations.schedulingGroup]: group, 'volcano.sh/task-spec': roleId } : {}),
        ...template.metadata?.annotations,
      },
      ownerReferences: [servingReference(serving)],
    },
    spec: {
      ...spec,
      ...(spec.initContainers === undefined
        ? {}
        : { initContainers: spec.initContainers.map((container) => withEnv(container, env)) }),
      containers: spec.containers.map((container) => withEnv(container, env)),
    },
  };
  return applyPlugins(serving, position, pod);
}

/** Adds `added` last and removes variables of the same names, so that the controller's values win. */
function withEnv(container: Container, added: readonly EnvVar[]): Container {
  const names = new Set(added.map(({ name }) => name));
  return { ...container, env: [...(container.env ?? []).filter(({ name }) => !names.has(name)), ...added] };
}

function servingReference(serving: ModelServing) {
  const { apiVersion, kind, metadata } = serving;
  return controllerReference({ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? metadata.name });
}

/** The headless Service under which workers reach their entry. */
function entryService(serving: ModelServing, group: number, role: string, instance: number): KubeObject {
  const { name, namespace = 'default' } = serving.metadata;
  const groupName = `${name}-${group}`;
  const roleId = `${role}-${instance}`;
  const position = {
    [Labels.modelServingGroup]: groupName,
    [Labels.modelServingRole]: role,
    [Labels.modelServingRoleId]: roleId,
  };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: `${groupName}-${roleId}-0`,
      namespace,
      labels: { [Labels.modelServingName]: name, ...position },
      ownerReferences: [servingReference(serving)],
    },
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { ...position, [Labels.modelServingEntry]: 'true' } },
  };
  return service;
}

/**
 * Where `pod` stands in `serving`, read from its name, which templates cannot override as they can labels.
 *
 * @returns undefined when the name is not of this ModelServing.
 */
export function servingPosition(serving: ModelServing, pod: Pod): ServingPosition | undefined {
  const prefix = `${serving.metadata.name}-`;
  if (!pod.metadata.name.startsWith(prefix)) return undefined;
  const match = /^(\d+)-(.+)-(\d+)-(\d+)$/.exec(pod.metadata.name.slice(prefix.length));
  if (match === null) return undefined;
  return { group: Number(match[1]), role: match[2]!, instance: Number(match[3]), index: Number(match[4]) };
}
