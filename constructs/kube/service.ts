import type { GroupVersionKind } from 'cdk8s';
import type { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import type { ApiJson } from './api-json';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** Spec of a Service without an address of its own, whose name leads to its pods. */
export interface RawServiceSpec extends ApiJson<Pick<k8s.ServiceSpec, 'selector' | 'ports'>> {
  readonly clusterIP: 'None';
}

/** L1: one Service, its spec passed through as it is. */
export class RawService extends KubeApiObject<RawServiceSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'v1', kind: 'Service' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<RawServiceSpec>) {
    super(scope, id, RawService.GVK, props);
  }
}
