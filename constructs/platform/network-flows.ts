import type { NetworkPeer, NetworkPolicySpec, NetworkPort } from '../kube/network-policy';

/** Addresses that are in no public network: RFC 1918 and RFC 6598. */
export const PRIVATE_RANGES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'] as const;
/** Link-local addresses: among them the metadata service of clouds, which hands out credentials. */
const LINK_LOCAL = '169.254.0.0/16';
/** Where NodeLocal DNSCache listens. */
const NODE_LOCAL_DNS = '169.254.20.10/32';

type Labels = Readonly<Record<string, string>>;
export type Ingress = NonNullable<NetworkPolicySpec['ingress']>[number];
export type Egress = NonNullable<NetworkPolicySpec['egress']>[number];

export const tcp = (...ports: readonly number[]): NetworkPort[] => ports.map((port) => ({ protocol: 'TCP', port }));

/** Pods with `labels` in `namespace`; all of them without labels. */
export const podsIn = (namespace: string, labels: Labels): NetworkPeer => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  podSelector: Object.keys(labels).length === 0 ? {} : { matchLabels: labels },
});

export const addresses = (cidrs: readonly string[]): NetworkPeer[] => cidrs.map((cidr) => ({ ipBlock: { cidr } }));

/** Everything outside of the cluster and of private networks. */
export const INTERNET: NetworkPeer = { ipBlock: { cidr: '0.0.0.0/0', except: [...PRIVATE_RANGES, LINK_LOCAL] } };

/** All pods of the namespace: nothing in, nothing out but names. */
export const DEFAULT_DENY: NetworkPolicySpec = {
  podSelector: {},
  policyTypes: ['Ingress', 'Egress'],
  egress: [
    {
      to: [podsIn('kube-system', { 'k8s-app': 'kube-dns' }), ...addresses([NODE_LOCAL_DNS])],
      ports: [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
    },
  ],
};

/** What pods with `labels` may do beyond `DEFAULT_DENY`. Flows without peers are left out, and those to no port: they would mean everybody. */
export function allow(labels: Labels, ingress: readonly Ingress[], egress: readonly Egress[]): NetworkPolicySpec {
  const incoming = once(ingress.filter(({ from, ports }) => from?.length !== 0 && ports?.length !== 0));
  const outgoing = once(egress.filter(({ to, ports }) => to?.length !== 0 && ports?.length !== 0));
  return {
    podSelector: { matchLabels: labels },
    policyTypes: ['Ingress', 'Egress'],
    ...(incoming.length === 0 ? {} : { ingress: incoming }),
    ...(outgoing.length === 0 ? {} : { egress: outgoing }),
  };
}

/** Each flow once: two providers of one host need one rule. */
function once<T>(flows: readonly T[]): readonly T[] {
  return [...new Map(flows.map((flow) => [JSON.stringify(flow), flow])).values()];
}
