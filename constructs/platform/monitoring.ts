import { Chart } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { Labels } from '../../src/labels';
import type { MetricsEndpoint } from '../kube/metrics-endpoint';
import { KubePodMonitor } from '../kube/pod-monitor';
import { KubePrometheusRule } from '../kube/prometheus-rule';
import { KubeServiceMonitor } from '../kube/service-monitor';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { ServingGroup } from '../serving-group';
import {
  type AlertTarget,
  type AlertThresholds,
  autoscalerAlerts,
  engineAlerts,
  type RouterAlertConfig,
  routerAlerts,
} from './alert-rules';
import type { Autoscaler } from './autoscaler';
import { dashboardJson } from './dashboard';
import { ENGINE_LABELS, engineSeries } from './engine-series';
import type { Router } from './router';

export interface MonitoringOptions {
  /** Name of the objects. @default 'kvasir' */
  readonly name?: string;
  /** Labels by which the Prometheus operator selects monitors and rules, such as `{ release: 'prometheus' }`. @default none */
  readonly labels?: Readonly<Record<string, string>>;
  /** Time between scrapes, as a Prometheus duration. @default '15s' */
  readonly interval?: string;
  /** When alerts fire. @default those of AlertThresholds */
  readonly thresholds?: AlertThresholds;
  /** Labels by which Grafana's sidecar selects the dashboard, or `false` for none. @default { grafana_dashboard: '1' } */
  readonly dashboard?: Readonly<Record<string, string>> | false;
}

export interface MonitoringProps extends MonitoringOptions {
  /** The router to watch. @default none */
  readonly router?: Router;
  /** The autoscaler to watch. @default none */
  readonly autoscaler?: Autoscaler;
}

const DEFAULT_METRICS_PATH = '/metrics';

/**
 * L2: what Prometheus and Grafana need to know, for clusters with the Prometheus operator. Creates a ServiceMonitor for the router and one
 * for the autoscaler, a PodMonitor for all engines of ModelBoosters and PDGroups, a PrometheusRule with alerts, and a dashboard in a
 * ConfigMap.
 *
 * @example
 * new Monitoring(system, 'monitoring', {
 *   router: new Router(system, 'router'),
 *   labels: { release: 'prometheus' },
 *   thresholds: { timeToFirstTokenSeconds: 5 },
 * });
 */
export class Monitoring extends Construct {
  readonly name: string;
  readonly podMonitor: KubePodMonitor;
  readonly rules: KubePrometheusRule;
  /** Absent when `dashboard` is `false`. */
  readonly dashboard: k8s.KubeConfigMap | undefined;

  constructor(scope: Construct, id: string, props: MonitoringProps = {}) {
    super(scope, id);
    const { router, autoscaler, thresholds = {}, dashboard = { grafana_dashboard: '1' } } = props;
    this.name = objectName(this, props.name ?? 'kvasir');
    const labels = ownedLabels(props.labels);
    const interval = props.interval ?? '15s';
    for (const part of [router, autoscaler]) {
      if (part !== undefined) this.serviceMonitor(part, labels, interval);
    }
    this.podMonitor = new KubePodMonitor(this, 'Engines', {
      metadata: { name: `${this.name}-engines`, labels },
      spec: () => ({
        podTargetLabels: [...ENGINE_LABELS],
        selector: { matchExpressions: [{ key: Labels.model, operator: 'Exists' }] },
        namespaceSelector: { any: true },
        podMetricsEndpoints: this.engineEndpoints(interval),
      }),
    });
    const [routerTarget, autoscalerTarget] = [router, autoscaler].map((part) =>
      part === undefined ? undefined : targetOf(part),
    );
    this.rules = new KubePrometheusRule(this, 'Rules', {
      metadata: { name: this.name, labels },
      spec: {
        groups: [
          { name: 'kvasir-engine-series', rules: engineSeries() },
          { name: 'kvasir-engines', rules: engineAlerts(thresholds) },
          ...(router === undefined
            ? []
            : [
                {
                  name: 'kvasir-router',
                  rules: routerAlerts(targetOf(router), alertConfig(router), thresholds),
                },
              ]),
          ...(autoscaler === undefined
            ? []
            : [{ name: 'kvasir-autoscaler', rules: autoscalerAlerts(targetOf(autoscaler), autoscaler.config) }]),
        ],
      },
    });
    if (dashboard === false) return;
    this.dashboard = new k8s.KubeConfigMap(this, 'Dashboard', {
      metadata: { name: `${this.name}-dashboard`, labels: ownedLabels(dashboard) },
      data: { [`${this.name}.json`]: dashboardJson('Kvasir', routerTarget, autoscalerTarget) },
    });
  }

  private serviceMonitor(part: Router | Autoscaler, labels: Record<string, string>, interval: string): void {
    new KubeServiceMonitor(this, part.name, {
      metadata: { name: part.name, labels },
      spec: {
        jobLabel: 'app',
        selector: { matchLabels: { app: part.name } },
        namespaceSelector: { matchNames: [targetOf(part).namespace] },
        endpoints: [{ port: 'metrics', path: DEFAULT_METRICS_PATH, interval }],
      },
    });
  }

  /** One endpoint for all engines, and one for each other path that an engine of the app has its page at. */
  private engineEndpoints(interval: string): readonly MetricsEndpoint[] {
    const odd = new Map<string, string[]>();
    for (const found of this.node.root.node.findAll()) {
      if (!(found instanceof ServingGroup) || found.engine.metricsPath === DEFAULT_METRICS_PATH) continue;
      odd.set(found.engine.metricsPath, [...(odd.get(found.engine.metricsPath) ?? []), found.name]);
    }
    const relabeling = (action: 'keep' | 'drop', names: readonly string[]) => ({
      action,
      sourceLabels: ['__meta_kubernetes_pod_label_app'],
      regex: [...names].sort().join('|'),
    });
    const all = [...odd.values()].flat();
    return [
      {
        port: 'http',
        path: DEFAULT_METRICS_PATH,
        interval,
        ...(all.length === 0 ? {} : { relabelings: [relabeling('drop', all)] }),
      },
      ...[...odd]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([path, names]) => ({ port: 'http', path, interval, relabelings: [relabeling('keep', names)] })),
    ];
  }
}

function alertConfig({ config: { limits, auth } }: Router): RouterAlertConfig {
  const { requestsInFlight } = limits;
  return auth === undefined || (auth.jwksUri ?? '') === ''
    ? { requestsInFlight }
    : { requestsInFlight, jwksRefreshMs: auth.jwks.refreshMs };
}

/** The labels of a part's series: its Service's `app` is the job. */
function targetOf(part: Router | Autoscaler): AlertTarget {
  return { job: part.name, namespace: Chart.of(part).namespace ?? 'default' };
}
