import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { LabelSelector } from '../../src/api/meta';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** How far apart pods may be, in tiers of HyperNodes. Tier and tier name exclude each other. */
export interface PodGroupTopology {
  readonly mode: 'hard' | 'soft';
  readonly highestTierAllowed?: number;
  readonly highestTierName?: string;
}

/** Pods of a gang that are a gang of their own. Needs Volcano 1.14. */
export interface SubGroupPolicy {
  readonly name: string;
  readonly labelSelector: LabelSelector;
  /** Labels whose values tell the sub-groups apart; without any, all selected pods are one. */
  readonly matchLabelKeys?: readonly string[];
  /** Pods of a sub-group that must fit. */
  readonly subGroupSize: number;
  /** Sub-groups that must fit. */
  readonly minSubGroups: number;
  readonly networkTopology?: PodGroupTopology;
}

export interface PodGroupSpec {
  /** Pods that must fit before any of them starts. */
  readonly minMember: number;
  /** Their resource requests, in canonical form: Volcano rewrites others. */
  readonly minResources?: Readonly<Record<string, string>>;
  readonly queue?: string;
  readonly priorityClassName?: string;
  readonly networkTopology?: PodGroupTopology;
  readonly subGroupPolicy?: readonly SubGroupPolicy[];
}

/**
 * L1: one PodGroup of Volcano.
 *
 * @example
 * new KubePodGroup(models, 'gang', { metadata: { name: 'gang' }, spec: { minMember: 4, queue: 'llm' } });
 */
export class KubePodGroup extends KubeApiObject<PodGroupSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'scheduling.volcano.sh/v1beta1', kind: 'PodGroup' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<PodGroupSpec>) {
    super(scope, id, KubePodGroup.GVK, props);
  }
}
