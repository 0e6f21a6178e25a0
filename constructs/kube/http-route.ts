import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** Where a rule sends requests. */
export interface HttpBackendRef {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly port?: number;
  readonly weight?: number;
}

export interface HttpRouteRule {
  readonly name?: string;
  readonly matches?: readonly {
    readonly path?: { readonly type?: 'Exact' | 'PathPrefix' | 'RegularExpression'; readonly value?: string };
    readonly headers?: readonly {
      readonly type?: 'Exact' | 'RegularExpression';
      readonly name: string;
      readonly value: string;
    }[];
    readonly method?: string;
  }[];
  readonly filters?: readonly { readonly type: string; readonly [filter: string]: unknown }[];
  readonly backendRefs?: readonly HttpBackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
}

export interface HttpRouteSpec {
  readonly parentRefs?: readonly {
    readonly group?: string;
    readonly kind?: string;
    readonly name: string;
    readonly namespace?: string;
    readonly sectionName?: string;
    readonly port?: number;
  }[];
  readonly hostnames?: readonly string[];
  readonly rules?: readonly HttpRouteRule[];
}

/** L1: one HTTPRoute object, fields as in the API. */
export class KubeHttpRoute extends KubeApiObject<HttpRouteSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<HttpRouteSpec>) {
    super(scope, id, KubeHttpRoute.GVK, props);
  }
}
