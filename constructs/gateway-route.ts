import { Chart } from 'cdk8s';
import { Construct } from 'constructs';
import { formatDuration } from '../src/duration';
import type { Finding } from '../src/errors';
import { addCheck } from './check';
import { Gateway, type GatewayRef } from './gateway';
import { InferencePool } from './inference-pool';
import { type HttpBackendRef, type HttpRouteRule, KubeHttpRoute } from './kube/http-route';
import { ownedLabels } from './owned-labels';

/** A Service, by the construct that made it (`Router` is one) or by name. */
export interface ServiceBackend {
  /** Name of the Service, or the construct that made it. */
  readonly service: string | (Construct & { readonly name: string });
  /** @default 80 */
  readonly port?: number;
}

/** Where requests go. */
export type GatewayBackend = (ServiceBackend | { readonly pool: InferencePool }) & {
  /** Share of the traffic relative to the other backends. @default 1 */
  readonly weight?: number;
};

export interface GatewayRouteProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** Gateways that the route is attached to. */
  readonly gateways: readonly (Gateway | GatewayRef)[];
  /** Hosts that are routed. @default every host of the Gateway */
  readonly hostnames?: readonly string[];
  /** Beginning of the path that is routed. @default '/' */
  readonly pathPrefix?: string;
  /** Where requests go. */
  readonly backends: readonly GatewayBackend[];
  /**
   * Longest time for a whole request, in milliseconds.
   *
   * @default none, whatever the Gateway's own default is: an answer streams for minutes, and the router has deadlines
   */
  readonly timeoutMs?: number;
}

/**
 * L2: which requests of a Gateway go to the router, or to a pool behind an endpoint picker. Creates an HTTPRoute.
 *
 * @example
 * new GatewayRoute(system, 'llm', {
 *   gateways: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
 *   hostnames: ['llm.example.com'],
 *   backends: [{ service: 'kvasir-router' }],
 * });
 */
export class GatewayRoute extends Construct {
  readonly resource: KubeHttpRoute;
  readonly name: string;

  constructor(scope: Construct, id: string, props: GatewayRouteProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const refs = props.gateways.map((gateway) => (gateway instanceof Gateway ? gateway.ref() : gateway));
    this.resource = new KubeHttpRoute(this, 'Resource', {
      metadata: { name: this.name, labels: ownedLabels() },
      spec: {
        parentRefs: refs.map((ref) => ({ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...ref })),
        ...(props.hostnames === undefined ? {} : { hostnames: props.hostnames }),
        rules: [this.rule(props)],
      },
    });
    addCheck(this, () => props.backends.flatMap((backend, i) => this.foreignBackend(backend, i)));
  }

  private rule({ pathPrefix, backends, timeoutMs }: GatewayRouteProps): HttpRouteRule {
    return {
      matches: [{ path: { type: 'PathPrefix', value: pathPrefix ?? '/' } }],
      backendRefs: backends.map(backendRef),
      // 0s switches a timeout off in the Gateway API.
      timeouts: { request: timeoutMs === undefined ? '0s' : formatDuration(timeoutMs) },
    };
  }

  /** A backend in another namespace needs a ReferenceGrant there, which only its owner should give. */
  private foreignBackend(backend: GatewayBackend, i: number): readonly Finding[] {
    const target = 'pool' in backend ? backend.pool : backend.service;
    if (typeof target === 'string') return [];
    const [own, other] = [Chart.of(this).namespace ?? 'default', Chart.of(target).namespace ?? 'default'];
    if (own === other) return [];
    return [
      {
        code: 'gateway/foreign-backend',
        severity: 'error',
        field: `backends[${i}]`,
        message: `${target.node.path} is in namespace ${other}, and the route in ${own}`,
        remedy: 'create the GatewayRoute in the chart of its backend; the Gateway may be elsewhere',
      },
    ];
  }
}

/** Defaults are written out: the list is compared as a whole. */
function backendRef(backend: GatewayBackend): HttpBackendRef {
  const weight = backend.weight ?? 1;
  if ('pool' in backend) return { group: InferencePool.GROUP, kind: 'InferencePool', name: backend.pool.name, weight };
  const { service, port } = backend;
  return { group: '', kind: 'Service', name: typeof service === 'string' ? service : service.name, port: port ?? 80, weight };
}
