import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';
import type { MetricsEndpoint, MonitoredNamespaces, MonitorSelector } from './metrics-endpoint';

export interface ServiceMonitorSpec {
  readonly jobLabel?: string;
  readonly selector: MonitorSelector;
  readonly namespaceSelector?: MonitoredNamespaces;
  readonly endpoints: readonly MetricsEndpoint[];
}

/** L1: one ServiceMonitor object, fields as in the API. */
export class KubeServiceMonitor extends KubeApiObject<ServiceMonitorSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'monitoring.coreos.com/v1', kind: 'ServiceMonitor' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<ServiceMonitorSpec>) {
    super(scope, id, KubeServiceMonitor.GVK, props);
  }
}
