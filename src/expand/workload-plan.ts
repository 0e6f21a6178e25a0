import type { KubeObject } from '../api/meta';
import type { Pod, PodSpec } from '../api/pod';
import { hashOnce } from './template-hash';

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'ModelServing' | 'LeaderWorkerSet' | 'DisaggregatedSet';

/** A pod as its controller would create it: no uid, status or creation time yet. */
export interface PodTemplateInstance {
  readonly pod: Pod;
  /** Ordinal of the replica that it belongs to; the pods of a serving group share it. */
  readonly replica: number;
}

/** What a workload's controller makes of it. */
export interface WorkloadPlan {
  readonly kind: WorkloadKind;
  /** Replicas asked for: `spec.replicas`, 1 when absent. */
  readonly replicas: number;
  /** Labels by which the `/scale` subresource finds pods; one pod per replica. */
  readonly selector: Readonly<Record<string, string>>;
  /** Changes when running pods are outdated, and only then. */
  readonly revision: string;
  /** Pods of replicas 0 … replicas - 1. A pod keeps its name while the replica count changes. */
  readonly pods: readonly PodTemplateInstance[];
  /** Headless Services that the controller adds. */
  readonly services: readonly KubeObject[];
}

/** What a controller does next about a workload's pods. */
export interface PodChanges {
  /** Pods to make, without uid or status. */
  readonly create: readonly Pod[];
  /** Pods to delete, of those given. */
  readonly remove: readonly Pod[];
}

/** Where a pod stands in a ModelServing. */
export interface ServingPosition {
  /** Ordinal of the serving group. */
  readonly group: number;
  readonly role: string;
  /** Ordinal of the role's instance in the group. */
  readonly instance: number;
  /** 0 is the entry, others are workers. */
  readonly index: number;
}

/** A pod template as workloads carry it. */
export interface PodTemplateSpec {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: PodSpec;
}

/** A Deployment or StatefulSet, as far as it is read. */
export interface AppsWorkload extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template: PodTemplateSpec;
    readonly serviceName?: string;
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    /** Deployment. */
    readonly strategy?: UpdateStrategy;
    /** StatefulSet. */
    readonly updateStrategy?: UpdateStrategy;
  };
}

export interface UpdateStrategy {
  readonly type?: 'RollingUpdate' | 'Recreate' | 'OnDelete';
  readonly rollingUpdate?: {
    readonly maxSurge?: number | string;
    readonly maxUnavailable?: number | string;
    readonly partition?: number;
  };
}

export const NO_CONTAINERS: PodSpec = { containers: [] };

/** Hash of a Deployment's or StatefulSet's pod template. */
export function revisionOf({ spec: { template } }: AppsWorkload): string {
  return hashOnce(template, () => template);
}

/** An owner reference as controllers set it. */
export function controllerReference(owner: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}) {
  return { ...owner, controller: true, blockOwnerDeletion: true };
}

/** A count that may be a percentage of `total`, as maxSurge (rounded up) and maxUnavailable (rounded down) are. */
export function countOf(value: number | string, total: number, round: (n: number) => number): number {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value);
  return percent === null ? Number(value) : round((Number(percent[1]) * total) / 100);
}
