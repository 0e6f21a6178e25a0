import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import type { LabelSelector } from '../../src/api/meta';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** How a member is found: by name, by a pattern of names, or, for nodes, by labels. */
export type HyperNodeSelector =
  | { readonly exactMatch: { readonly name: string } }
  | { readonly regexMatch: { readonly pattern: string } }
  | { readonly labelMatch: LabelSelector };

export interface HyperNodeSpec {
  /** 1 is the nearest: nodes under one switch. */
  readonly tier: number;
  readonly tierName?: string;
  readonly members: readonly { readonly type: 'Node' | 'HyperNode'; readonly selector: HyperNodeSelector }[];
}

/** L1: nodes that are near to each other in the network, as Volcano's topology-aware scheduling sees them. Cluster-wide. */
export class KubeHyperNode extends KubeApiObject<HyperNodeSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'topology.volcano.sh/v1alpha1', kind: 'HyperNode' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<HyperNodeSpec>) {
    super(scope, id, KubeHyperNode.GVK, props);
  }
}
