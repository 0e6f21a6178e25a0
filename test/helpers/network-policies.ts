import { BlockList, isIP } from 'node:net';
import type { NetworkPeer, NetworkPolicySpec, NetworkPort } from '../../constructs';
import { selects } from '../../src/api/meta';

/** A pod or an address. */
export interface NetworkEnd {
  /** Address of something outside; undefined for a pod. */
  readonly address?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of container ports. */
  readonly portNames?: Readonly<Record<string, number>>;
}

export interface PlacedPolicy {
  readonly namespace: string;
  readonly spec: NetworkPolicySpec;
}

/** Whether `policies` let `from` connect to `port` of `to`, as the API defines it: both sides must allow it, and a pod that no policy selects is open. */
export function mayConnect(
  policies: readonly PlacedPolicy[],
  from: NetworkEnd,
  to: NetworkEnd,
  port: number,
  protocol = 'TCP',
): boolean {
  const goesOut = isOpen(policies, from, 'Egress', (policy) =>
    (policy.spec.egress ?? []).some((rule) => hasPeer(rule.to, to, policy) && hasPort(rule.ports, to, port, protocol)),
  );
  const comesIn = isOpen(policies, to, 'Ingress', (policy) =>
    (policy.spec.ingress ?? []).some((rule) => hasPeer(rule.from, from, policy) && hasPort(rule.ports, to, port, protocol)),
  );
  return goesOut && comesIn;
}

function isOpen(
  policies: readonly PlacedPolicy[],
  { address, namespace, labels }: NetworkEnd,
  type: 'Ingress' | 'Egress',
  allows: (policy: PlacedPolicy) => boolean,
): boolean {
  if (address !== undefined) return true;
  const own = policies.filter(
    ({ namespace: of, spec }) =>
      of === namespace && spec.policyTypes.includes(type) && selects(spec.podSelector as object, labels),
  );
  return own.length === 0 || own.some(allows);
}

function hasPeer(peers: readonly NetworkPeer[] | undefined, end: NetworkEnd, { namespace }: PlacedPolicy): boolean {
  if (peers === undefined || peers.length === 0) return true;
  return peers.some((peer) => {
    if ('ipBlock' in peer) {
      const { cidr, except = [] } = peer.ipBlock;
      return end.address !== undefined && isIn(cidr, end.address) && !except.some((hole) => isIn(hole, end.address!));
    }
    if (end.address !== undefined) return false;
    const { namespaceSelector, podSelector = {} } = peer;
    const isNamespace =
      namespaceSelector === undefined
        ? end.namespace === namespace
        : selects(namespaceSelector as object, { 'kubernetes.io/metadata.name': end.namespace! });
    return isNamespace && selects(podSelector as object, end.labels);
  });
}

function hasPort(ports: readonly NetworkPort[] | undefined, end: NetworkEnd, port: number, protocol: string): boolean {
  if (ports === undefined || ports.length === 0) return true;
  return ports.some((each) => {
    const number = typeof each.port === 'number' ? each.port : end.portNames?.[each.port];
    return each.protocol === protocol && number === port;
  });
}

function isIn(cidr: string, address: string): boolean {
  const [network = '', bits = ''] = cidr.split('/');
  const list = new BlockList();
  list.addSubnet(network, Number(bits), isIP(network) === 4 ? 'ipv4' : 'ipv6');
  return isIP(network) === isIP(address) && list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
