import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** One port that a Gateway listens on. */
export interface GatewayListener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: {
    readonly mode?: 'Terminate' | 'Passthrough';
    readonly certificateRefs?: readonly {
      readonly group?: string;
      readonly kind?: string;
      readonly name: string;
      readonly namespace?: string;
    }[];
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly allowedRoutes?: {
    readonly namespaces?: {
      readonly from?: 'All' | 'Selector' | 'Same' | 'None';
      readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    };
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface GatewaySpec {
  readonly gatewayClassName: string;
  readonly listeners: readonly GatewayListener[];
  readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
  readonly infrastructure?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string };
  };
}

/** L1: one Gateway object, fields as in the API. */
export class KubeGateway extends KubeApiObject<GatewaySpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<GatewaySpec>) {
    super(scope, id, KubeGateway.GVK, props);
  }
}
