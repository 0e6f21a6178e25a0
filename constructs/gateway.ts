import { Chart } from 'cdk8s';
import { Construct } from 'constructs';
import { type GatewayListener, KubeGateway } from './kube/gateway';
import { ownedLabels } from './owned-labels';

/** A Gateway that routes attach to, as they name it. */
export interface GatewayRef {
  /** Name of the Gateway. */
  readonly name: string;
  /** Absent: that of the route. */
  readonly namespace?: string;
  /** One listener; absent: all. */
  readonly sectionName?: string;
}

export interface ListenerOptions {
  /** Name that routes may attach to. @default 'https' with a certificate, else 'http' */
  readonly name?: string;
  /** @default 443 with a certificate, else 80 */
  readonly port?: number;
  /** Host that is served, such as `llm.example.com` or `*.example.com`. @default any */
  readonly hostname?: string;
  /** Name of the TLS Secret in the Gateway's namespace. @default none: plain HTTP */
  readonly certificate?: string;
  /** Whose routes may attach. @default 'Same': those of the Gateway's namespace */
  readonly routesFrom?: 'Same' | 'All' | { readonly namespaceLabels: Readonly<Record<string, string>> };
}

export interface GatewayProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** The class that an installed Gateway API implementation serves. */
  readonly className: string;
  /** @default one on port 80 */
  readonly listeners?: readonly ListenerOptions[];
}

/**
 * L2: the way into the cluster, by whatever Gateway API implementation runs there. Creates a Gateway. Defaults are written out, since
 * listeners are compared as a list.
 *
 * @example
 * new Gateway(system, 'edge', {
 *   className: 'your-gateway-class',
 *   listeners: [{ hostname: 'llm.example.com', certificate: 'llm-tls' }],
 * });
 */
export class Gateway extends Construct {
  readonly resource: KubeGateway;
  readonly name: string;

  constructor(scope: Construct, id: string, props: GatewayProps) {
    super(scope, id);
    this.name = props.name ?? id;
    this.resource = new KubeGateway(this, 'Resource', {
      metadata: { name: this.name, labels: ownedLabels() },
      spec: { gatewayClassName: props.className, listeners: (props.listeners ?? [{}]).map(listener) },
    });
  }

  /** How routes name this Gateway, or one listener of it. */
  ref(sectionName?: string): GatewayRef {
    const { namespace } = Chart.of(this);
    return {
      name: this.name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(sectionName === undefined ? {} : { sectionName }),
    };
  }
}

function listener({ name, port, hostname, certificate, routesFrom = 'Same' }: ListenerOptions): GatewayListener {
  const isTls = certificate !== undefined;
  return {
    name: name ?? (isTls ? 'https' : 'http'),
    ...(hostname === undefined ? {} : { hostname }),
    port: port ?? (isTls ? 443 : 80),
    protocol: isTls ? 'HTTPS' : 'HTTP',
    ...(isTls ? { tls: { mode: 'Terminate', certificateRefs: [{ group: '', kind: 'Secret', name: certificate }] } } : {}),
    allowedRoutes: {
      namespaces:
        typeof routesFrom === 'string'
          ? { from: routesFrom }
          : { from: 'Selector', selector: { matchLabels: routesFrom.namespaceLabels } },
    },
  };
}
