import { destinationOf, hostPortOf, siblingPorts } from '../../../constructs/platform/network-destination';
import type { KubeObject } from '../../../src/api/meta';

const service = (name: string, namespace: string, spec: object): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec }) as KubeObject;
const SERVICES = [
  service('keys', 'auth', { selector: { app: 'issuer' }, ports: [{ port: 80, targetPort: 8080 }] }),
  service('store', 'llm', { selector: { app: 'store' }, ports: [{ port: 6379, targetPort: 'redis' }, { port: 9121 }] }),
  service('bare', 'llm', { ports: [{ port: 80 }] }),
];
const ELSEWHERE = [{ ipBlock: { cidr: '203.0.113.0/24' } }];
const pods = (namespace: string, podSelector: object) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  podSelector,
});
const tcp = (port: number | string) => [{ protocol: 'TCP', port }];

describe('the destination of', () => {
  it.each<[string, string, object]>([
    ['an IPv4 address', '10.0.0.7:6379', { to: [{ ipBlock: { cidr: '10.0.0.7/32' } }], ports: tcp(6379) }],
    ['an IPv6 address', '[fd00::7]:6379', { to: [{ ipBlock: { cidr: 'fd00::7/128' } }], ports: tcp(6379) }],
    ['a name outside of the cluster', 'https://id.example.com/x', { to: ELSEWHERE, ports: tcp(443) }],
    ['a Service', 'http://keys.auth.svc/jwks', { to: [pods('auth', { matchLabels: { app: 'issuer' } })], ports: tcp(8080) }],
    [
      'a Service by its full name',
      'http://keys.auth.svc.cluster.local',
      { to: [pods('auth', { matchLabels: { app: 'issuer' } })], ports: tcp(8080) },
    ],
    [
      'a Service of the same namespace, with a named port',
      'redis://store:6379',
      { to: [pods('llm', { matchLabels: { app: 'store' } })], ports: tcp('redis') },
    ],
    ['a port that a Service has not', 'http://keys.auth.svc:81', { to: [pods('auth', { matchLabels: { app: 'issuer' } })] }],
    ['a Service of somebody else', 'http://minio.storage.svc:9000', { to: [pods('storage', {})] }],
    ['a Service that selects no pods', 'http://bare', { to: [pods('llm', {})] }],
    ['a URL without a port that is known', 'lm://store.example.com', { to: ELSEWHERE }],
  ])('%s (%s) is what is behind it', (_, text, expected) => {
    expect(destinationOf(hostPortOf(text)!, 'llm', SERVICES, ELSEWHERE)).toEqual(expected);
  });

  it.each(['', 'http://', ':6379'])('%p is unknown', (text) => {
    expect(hostPortOf(text)).toBeUndefined();
  });
});

describe('ports between siblings', () => {
  const spec = { clusterIP: 'None', selector: { app: 'router' }, ports: [{ port: 1, targetPort: 'sync' }, { port: 2 }] };

  it.each<[string, string, object, readonly unknown[]]>([
    ['a headless Service that selects them', 'system', spec, ['sync', 2]],
    ['a Service with an address of its own', 'system', { ...spec, clusterIP: undefined }, []],
    ['one for others', 'system', { ...spec, selector: { app: 'other' } }, []],
    ['one that selects nobody', 'system', { ...spec, selector: {} }, []],
    ['one of another namespace', 'other', spec, []],
  ])('are those of %s', (_, namespace, of, expected) => {
    const found = siblingPorts({ app: 'router' }, 'system', [service('s', namespace, of)]);
    expect(found.map(({ port }) => port)).toEqual(expected);
  });
});
