import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';
import type { MetricsEndpoint, MonitoredNamespaces, MonitorSelector } from './metrics-endpoint';

export interface PodMonitorSpec {
  readonly jobLabel?: string;
  readonly podTargetLabels?: readonly string[];
  readonly selector: MonitorSelector;
  readonly namespaceSelector?: MonitoredNamespaces;
  readonly podMetricsEndpoints: readonly MetricsEndpoint[];
}

/** L1: one PodMonitor object, fields as in the API. */
export class KubePodMonitor extends KubeApiObject<PodMonitorSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PodMonitor' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<PodMonitorSpec>) {
    super(scope, id, KubePodMonitor.GVK, props);
  }
}
