import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

export interface PodSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
}

/** Who may be talked to or listened to: pods of namespaces, or addresses. */
export type NetworkPeer =
  | { readonly namespaceSelector?: PodSelector; readonly podSelector?: PodSelector }
  | { readonly ipBlock: { readonly cidr: string; readonly except?: readonly string[] } };

export interface NetworkPort {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number | string;
}

export interface NetworkPolicySpec {
  readonly podSelector: PodSelector;
  readonly policyTypes: readonly ('Ingress' | 'Egress')[];
  readonly ingress?: readonly { readonly from?: readonly NetworkPeer[]; readonly ports?: readonly NetworkPort[] }[];
  readonly egress?: readonly { readonly to?: readonly NetworkPeer[]; readonly ports?: readonly NetworkPort[] }[];
}

/** L1: one NetworkPolicy object, fields as in the API. */
export class KubeNetworkPolicy extends KubeApiObject<NetworkPolicySpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<NetworkPolicySpec>) {
    super(scope, id, KubeNetworkPolicy.GVK, props);
  }
}
