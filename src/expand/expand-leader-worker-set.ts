import { createHash } from 'node:crypto';
import type { KubeObject } from '../api/meta';
import type { Container, EnvVar, Pod } from '../api/pod';
import { Annotations } from '../labels';
import { CONTROLLER_REVISION_HASH } from './expand-stateful-set';
import { LeaderWorkerLabels as Labels, type LeaderWorkerSet, LeaderWorkerVariables as Variables } from './leader-worker-workload';
import { hashOnce } from './template-hash';
import { controllerReference, NO_CONTAINERS, type PodTemplateInstance, type WorkloadPlan } from './workload-plan';

/** Where a pod stands in a LeaderWorkerSet: its group, and its place in the group, 0 for the leader. */
export interface LeaderWorkerPosition {
  readonly group: number;
  readonly index: number;
}

/** Pods and headless Services that the LeaderWorkerSet controller and its webhook make. Sub-groups and TPU variables are left out. */
export function expandLeaderWorkerSet(set: LeaderWorkerSet): WorkloadPlan {
  const replicas = set.spec.replicas ?? 1;
  return {
    kind: 'LeaderWorkerSet',
    replicas,
    selector: { [Labels.name]: set.metadata.name, [Labels.workerIndex]: '0' },
    revision: leaderWorkerRevision(set),
    pods: Array.from({ length: replicas }, (_, group) => leaderWorkerGroup(set, group)).flat(),
    services: servicesOf(set, replicas),
  };
}

/** The leader and the workers of one group. */
export function leaderWorkerGroup(set: LeaderWorkerSet, group: number): readonly PodTemplateInstance[] {
  return Array.from({ length: sizeOf(set) }, (_, index) => ({ replica: group, pod: leaderWorkerPod(set, { group, index }) }));
}

export function sizeOf({ spec }: LeaderWorkerSet): number {
  return spec.leaderWorkerTemplate.size ?? 1;
}

/** Hash of the templates and of what decides the pods' names in the network; replicas and limits of an update make no pod outdated. */
export function leaderWorkerRevision({ spec }: LeaderWorkerSet): string {
  return hashOnce(spec.leaderWorkerTemplate, () => [spec.leaderWorkerTemplate, subdomainPolicyOf(spec)]);
}

/** Read from the name. @returns undefined when the name is not of this set. */
export function leaderWorkerPosition(set: LeaderWorkerSet, pod: Pod): LeaderWorkerPosition | undefined {
  const prefix = `${set.metadata.name}-`;
  if (!pod.metadata.name.startsWith(prefix)) return undefined;
  const match = /^(\d+)(?:-(\d+))?$/.exec(pod.metadata.name.slice(prefix.length));
  return match === null ? undefined : { group: Number(match[1]), index: Number(match[2] ?? 0) };
}

function subdomainPolicyOf(spec: LeaderWorkerSet['spec']): 'Shared' | 'UniquePerReplica' {
  return spec.networkConfig?.subdomainPolicy ?? 'Shared';
}

function leaderWorkerPod(set: LeaderWorkerSet, { group, index }: LeaderWorkerPosition): Pod {
  const { metadata, spec } = set;
  const { leaderTemplate, workerTemplate } = spec.leaderWorkerTemplate;
  const namespace = metadata.namespace ?? 'default';
  const isLeader = index === 0;
  const leader = `${metadata.name}-${group}`;
  const name = isLeader ? leader : `${leader}-${index}`;
  const owner = isLeader ? metadata.name : leader;
  const template = (isLeader ? leaderTemplate : undefined) ?? workerTemplate;
  const podSpec = template.spec ?? NO_CONTAINERS;
  const isUnique = subdomainPolicyOf(spec) === 'UniquePerReplica';
  const subdomain = isUnique ? leader : metadata.name;
  const revision = leaderWorkerRevision(set);
  const env: readonly EnvVar[] = [
    { name: Variables.leaderAddress, value: `${leader}.${subdomain}.${namespace}` },
    { name: Variables.size, value: String(sizeOf(set)) },
    { name: Variables.index, value: String(index) },
  ];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: {
        ...template.metadata?.labels,
        'apps.kubernetes.io/pod-index': String(isLeader ? group : index),
        [CONTROLLER_REVISION_HASH]: `${owner}-${revision}`,
        [Labels.groupIndex]: String(group),
        [Labels.groupKey]: createHash('sha1').update(`${namespace}/${leader}`).digest('hex'),
        [Labels.name]: metadata.name,
        [Labels.revision]: revision,
        [Labels.workerIndex]: String(index),
        'statefulset.kubernetes.io/pod-name': name,
      },
      annotations: {
        ...template.metadata?.annotations,
        [Labels.size]: String(sizeOf(set)),
        ...(isLeader ? {} : { [Labels.leaderName]: leader }),
        ...(isUnique ? { [Labels.subdomainPolicy]: 'UniquePerReplica' } : {}),
        // With Volcano as its scheduler provider the controller makes a PodGroup of this name for each group.
        ...(schedulerOf(podSpec) === 'volcano' ? { [Annotations.schedulingGroup]: `${leader}-${revision}` } : {}),
      },
      ownerReferences: [
        controllerReference({ apiVersion: 'apps/v1', kind: 'StatefulSet', name: owner, uid: ownerUid(set, owner) }),
      ],
    },
    spec: {
      ...podSpec,
      hostname: name,
      subdomain,
      ...(podSpec.initContainers === undefined
        ? {}
        : { initContainers: podSpec.initContainers.map((container) => withEnv(container, env)) }),
      containers: podSpec.containers.map((container) => withEnv(container, env)),
    } as Pod['spec'],
  };
}

function schedulerOf(spec: object): string | undefined {
  return (spec as { readonly schedulerName?: string }).schedulerName;
}

/** The StatefulSets between set and pods are not made, so they have a uid of their own only in name. */
function ownerUid({ metadata }: LeaderWorkerSet, owner: string): string {
  return `${metadata.uid ?? metadata.name}-${owner}`;
}

/** Puts `added` first, so that other variables can refer to them, and removes variables of the same names. */
function withEnv(container: Container, added: readonly EnvVar[]): Container {
  const names = new Set(added.map(({ name }) => name));
  return { ...container, env: [...added, ...(container.env ?? []).filter(({ name }) => !names.has(name))] };
}

/** One Service for all groups, or one for each. */
function servicesOf(set: LeaderWorkerSet, replicas: number): readonly KubeObject[] {
  const { name } = set.metadata;
  if (subdomainPolicyOf(set.spec) === 'Shared') return [serviceOf(set, name, { [Labels.name]: name })];
  return Array.from({ length: replicas }, (_, group) =>
    serviceOf(set, `${name}-${group}`, { [Labels.name]: name, [Labels.groupIndex]: String(group) }),
  );
}

function serviceOf(set: LeaderWorkerSet, name: string, selector: Readonly<Record<string, string>>): KubeObject {
  const { apiVersion, kind, metadata } = set;
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: metadata.namespace ?? 'default',
      labels: { [Labels.name]: metadata.name },
      ownerReferences: [controllerReference({ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? metadata.name })],
    },
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector },
  };
  return service;
}
