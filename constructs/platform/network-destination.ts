import { isIP } from 'node:net';
import type { KubeObject } from '../../src/api/meta';
import type { NetworkPeer, NetworkPort } from '../kube/network-policy';
import { addresses, podsIn, tcp } from './network-flows';

/** Something that listens. */
export interface HostPort {
  readonly host: string;
  /** Undefined where nothing says it. */
  readonly port: number | undefined;
}

/** Where somebody may connect to, as a policy says it: without ports to all of them. */
export interface Destination {
  readonly to: readonly NetworkPeer[];
  readonly ports?: readonly NetworkPort[];
}

/** Names of Services as pods of any namespace write them. */
const SERVICE = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?$/;

/**
 * The pods or addresses behind a host. Policies know no names, so that one outside of the cluster may be anywhere in `elsewhere`. A
 * policy sees the ports of pods, and a Service may have others: of one that is not among `objects` only the namespace is known.
 */
export function destinationOf(
  { host, port }: HostPort,
  namespace: string,
  objects: readonly KubeObject[],
  elsewhere: readonly NetworkPeer[],
): Destination {
  const ports = port === undefined ? {} : { ports: tcp(port) };
  const bare = host.replace(/^\[|\]$/g, '');
  const family = isIP(bare);
  if (family !== 0) return { to: addresses([`${bare}/${family === 4 ? 32 : 128}`]), ...ports };
  const [, name, of] = SERVICE.exec(host) ?? (/^[a-z0-9-]+$/.test(host) ? ['', host, namespace] : []);
  if (name === undefined || of === undefined) return { to: elsewhere, ...ports };
  const service = objects.find(
    ({ kind, metadata }) => kind === 'Service' && metadata.name === name && metadata.namespace === of,
  ) as Service | undefined;
  const { selector, ports: open = [] } = service?.spec ?? {};
  if (selector === undefined) return { to: [podsIn(of, {})] };
  const targets = open.filter((each) => port === undefined || each.port === port).map(targetOf);
  return { to: [podsIn(of, selector)], ...(targets.length === 0 ? {} : { ports: targets }) };
}

/** Ports of pods on which the headless Services of a workload let its own pods find each other. */
export function siblingPorts(
  labels: Readonly<Record<string, string>>,
  namespace: string,
  objects: readonly KubeObject[],
): readonly NetworkPort[] {
  return objects
    .filter((object): object is Service => object.kind === 'Service' && object.metadata.namespace === namespace)
    .filter(({ spec: { clusterIP, selector = {} } }) => {
      const wanted = Object.entries(selector);
      return clusterIP === 'None' && wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
    })
    .flatMap(({ spec: { ports = [] } }) => ports.map(targetOf));
}

/** Reads `host:port` or a URL. @param defaults port of a scheme whose URLs may leave it out. */
export function hostPortOf(text: string, defaults: Readonly<Record<string, number>> = {}): HostPort | undefined {
  const url = text.includes('://') ? text : `none://${text}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, port, protocol } = new URL(url);
  const number = port === '' ? (defaults[protocol] ?? WELL_KNOWN[protocol]) : Number(port);
  return hostname === '' ? undefined : { host: hostname, port: number };
}

const WELL_KNOWN: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

interface ServicePort {
  readonly port: number;
  readonly targetPort?: number | string;
  readonly protocol?: NetworkPort['protocol'];
}

interface Service extends KubeObject {
  readonly spec: {
    readonly clusterIP?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
  };
}

/** Policies take the names of container ports too. */
const targetOf = ({ port, targetPort, protocol }: ServicePort): NetworkPort => ({
  protocol: protocol ?? 'TCP',
  port: targetPort ?? port,
});
