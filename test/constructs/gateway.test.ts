import { Chart, Testing } from 'cdk8s';
import { Gateway, type GatewayProps, GatewayRoute, type GatewayRouteProps, InferencePool } from '../../constructs';
import { type AnyObject, synth } from '../../constructs/testing';
import { definitionProblems } from '../helpers/definition-problems';

const newChart = (namespace?: string) => new Chart(Testing.app(), 'c', { namespace });
const only = (chart: Chart, kind: string): AnyObject => {
  const [made] = synth(chart).ofKind(kind);
  expect(definitionProblems(made!)).toEqual([]);
  return made!;
};

describe('a Gateway', () => {
  const spec = (props: Omit<GatewayProps, 'className'> = {}) => {
    const chart = newChart();
    new Gateway(chart, 'way', { className: 'any', ...props });
    return only(chart, 'Gateway').spec;
  };
  const Same = { namespaces: { from: 'Same' } };

  it.each<[string, Omit<GatewayProps, 'className'>, object]>([
    ['listens on port 80', {}, { name: 'http', port: 80, protocol: 'HTTP', allowedRoutes: Same }],
    [
      'ends TLS with a certificate, every default written out',
      { listeners: [{ certificate: 'tls', hostname: 'llm.example.com' }] },
      {
        name: 'https',
        hostname: 'llm.example.com',
        port: 443,
        protocol: 'HTTPS',
        tls: { mode: 'Terminate', certificateRefs: [{ group: '', kind: 'Secret', name: 'tls' }] },
        allowedRoutes: Same,
      },
    ],
    [
      'lets routes of chosen namespaces attach',
      { listeners: [{ name: 'in', port: 8080, routesFrom: { namespaceLabels: { team: 'ml' } } }] },
      {
        name: 'in',
        port: 8080,
        protocol: 'HTTP',
        allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { team: 'ml' } } } },
      },
    ],
  ])('%s', (_, props, listener) => {
    expect(spec(props)).toEqual({ gatewayClassName: 'any', listeners: [listener] });
  });

  it('is referred to with its namespace', () => {
    expect(new Gateway(newChart('gateways'), 'way', { className: 'any' }).ref()).toEqual({ name: 'way', namespace: 'gateways' });
  });
});

describe('a GatewayRoute', () => {
  const route = (props: Partial<GatewayRouteProps> = {}) => {
    const chart = newChart('llm');
    const made = new GatewayRoute(chart, 'r', { gateways: [{ name: 'g' }], backends: [{ service: 'kvasir-router' }], ...props });
    return { chart, made };
  };
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway' };
  const router = { group: '', kind: 'Service', name: 'kvasir-router', port: 80, weight: 1 };
  const everything = [{ path: { type: 'PathPrefix', value: '/' } }];

  it('sends everything to a Service, without a time limit on answers', () => {
    expect(only(route().chart, 'HTTPRoute').spec).toEqual({
      parentRefs: [{ ...parent, name: 'g' }],
      rules: [{ matches: everything, backendRefs: [router], timeouts: { request: '0s' } }],
    });
  });

  it('takes hosts, a path, a deadline, and a Gateway of another namespace', () => {
    const gateway = new Gateway(new Chart(Testing.app(), 'g', { namespace: 'gateways' }), 'way', { className: 'any' });
    const props = { gateways: [gateway], hostnames: ['llm.example.com'], pathPrefix: '/v1', timeoutMs: 600_000 };
    expect(only(route(props).chart, 'HTTPRoute').spec).toEqual({
      parentRefs: [{ ...parent, name: 'way', namespace: 'gateways' }],
      hostnames: ['llm.example.com'],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/v1' } }],
          backendRefs: [router],
          timeouts: { request: '10m' },
        },
      ],
    });
  });

  it('divides requests between a Service and a pool by weight', () => {
    const chart = newChart('llm');
    const pool = new InferencePool(chart, 'pool', { podLabels: { app: 'm' }, port: 8000, picker: { name: 'picker' } });
    new GatewayRoute(chart, 'r', {
      gateways: [{ name: 'g' }],
      backends: [
        { service: 'kvasir-router', port: 8080, weight: 9 },
        { pool, weight: 1 },
      ],
    });
    expect(only(chart, 'HTTPRoute').spec).toMatchObject({
      rules: [
        {
          backendRefs: [
            { ...router, port: 8080, weight: 9 },
            { group: 'inference.networking.k8s.io', kind: 'InferencePool', name: 'pool', weight: 1 },
          ],
        },
      ],
    });
  });
});

describe('an InferencePool', () => {
  it('names pods, port and picker, every default written out', () => {
    const chart = newChart();
    new InferencePool(chart, 'pool', {
      podLabels: { app: 'm' },
      port: 8000,
      picker: { name: 'picker', port: 9003, failureMode: 'FailOpen' },
    });
    expect(only(chart, 'InferencePool').spec).toEqual({
      selector: { matchLabels: { app: 'm' } },
      targetPorts: [{ number: 8000 }],
      appProtocol: 'http',
      endpointPickerRef: { group: '', kind: 'Service', name: 'picker', port: { number: 9003 }, failureMode: 'FailOpen' },
    });
  });
});
