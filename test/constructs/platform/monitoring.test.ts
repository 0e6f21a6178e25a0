import { Chart } from 'cdk8s';
import {
  Accelerator,
  Engine,
  GitOpsApp,
  InferencePlatform,
  type InferencePlatformProps,
  ModelBooster,
  ModelSource,
  Monitoring,
} from '../../../constructs';
import { type AnyObject, synth } from '../../../constructs/testing';
import { AutoscalerMetrics } from '../../../runtime/autoscaler/report/autoscaler-metrics';
import { Metrics } from '../../../runtime/lib/metrics';
import { AuthMetrics } from '../../../runtime/router/observability/auth-metrics';
import { ConfigMetrics } from '../../../runtime/router/observability/config-metrics';
import { LimitMetrics } from '../../../runtime/router/observability/limit-metrics';
import { QueueMetrics } from '../../../runtime/router/observability/queue-metrics';
import { ReplicationMetrics } from '../../../runtime/router/observability/replication-metrics';
import { RouterMetrics } from '../../../runtime/router/observability/router-metrics';
import { SchedulingMetrics } from '../../../runtime/router/observability/scheduling-metrics';
import { TlsMetrics } from '../../../runtime/router/observability/tls-metrics';
import { ENGINES } from '../../../src/catalog/engines/engine-table';
import { defaultRouterConfig } from '../../../src/config/router-config';
import { definitionProblems } from '../../helpers/definition-problems';
import { seriesOf } from '../../helpers/promql-names';

function stack(props: InferencePlatformProps = {}) {
  const app = new GitOpsApp({ images: { registry: 'r.example.com', tag: '1' } });
  const system = new Chart(app, 'system', { namespace: 'kvasir' });
  const platform = new InferencePlatform(system, 'p', { crds: 'external', monitoring: {}, ...props });
  return { app, platform };
}

const watched = synth(stack().platform.monitoring!);
const spec = <T>(object: AnyObject) => object.spec as T;

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly annotations?: { readonly summary: string; readonly description: string };
}
const rules = spec<{ groups: { name: string; rules: Rule[] }[] }>(watched.get('PrometheusRule', 'kvasir')).groups.flatMap(
  (group) => group.rules,
);

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}
const dashboardOf = (objects: typeof watched) =>
  JSON.parse((objects.get('ConfigMap', 'kvasir-dashboard').data as Record<string, string>)['kvasir.json']!) as Dashboard;

/** Every series that somebody exports, or a rule records, with its labels. */
async function exported(): Promise<ReadonlyMap<string, readonly string[]>> {
  const autoscaler = new Metrics();
  new AutoscalerMetrics(autoscaler, () => true);
  const router = new RouterMetrics().metrics;
  new AuthMetrics(router);
  new ConfigMetrics(router);
  new TlsMetrics(router);
  new ReplicationMetrics(router);
  new LimitMetrics(router);
  new QueueMetrics(router, defaultRouterConfig().queue);
  new SchedulingMetrics(router, () => 0);
  const registries = [router.registry, autoscaler.registry];
  const own = registries.flatMap((registry) =>
    registry.getMetricsAsArray().flatMap((metric): [string, readonly string[]][] => {
      const { name, labelNames } = metric as unknown as { readonly name: string; readonly labelNames: readonly string[] };
      return ['', '_bucket', '_sum', '_count'].map((suffix) => [`${name}${suffix}`, labelNames]);
    }),
  );
  const engines = Object.values(ENGINES).flatMap(({ metrics }) => Object.values(metrics).flat());
  const recorded = rules.filter(({ record }) => record !== undefined);
  return new Map([
    ...own,
    ...engines.map(({ name }): [string, readonly string[]] => [name, []]),
    ...recorded.map(({ record }): [string, readonly string[]] => [record!, ['kvasir_dev_model']]),
  ]);
}

/** Labels that Prometheus adds to every series. */
const FROM_TARGET = ['job', 'namespace', 'pod', 'le'];

describe('Monitoring', () => {
  it.each(
    watched.all.filter(({ kind }) => kind !== 'ConfigMap').map((object) => [`${object.kind} ${object.metadata.name}`, object]),
  )('makes a %s that the operator accepts', (_, object) => {
    expect(definitionProblems(object as AnyObject)).toEqual([]);
  });

  it('watches the metrics port of router and autoscaler in their namespace', () => {
    for (const name of ['kvasir-router', 'kvasir-autoscaler']) {
      expect(watched.get('ServiceMonitor', name).spec).toEqual({
        jobLabel: 'app',
        selector: { matchLabels: { app: name } },
        namespaceSelector: { matchNames: ['kvasir'] },
        endpoints: [{ port: 'metrics', path: '/metrics', interval: '15s' }],
      });
    }
  });

  it('watches the engines of all models, wherever their page is', () => {
    const { app, platform } = stack();
    const models = new Chart(app, 'models', { namespace: 'llm' });
    const engine = Engine.custom({ image: 'r.example.com/own:1', port: 9000, metricsPath: '/stats' });
    const source = ModelSource.pvc('weights', 'm', { shape: 'Qwen/Qwen3-8B' });
    for (const name of ['b', 'a']) {
      new ModelBooster(models, name, { source, engine, pools: { x: { accelerator: Accelerator.L40S_48GB } } });
    }
    const monitor = synth(platform.monitoring!).get('PodMonitor', 'kvasir-engines');
    const sourceLabels = ['__meta_kubernetes_pod_label_app'];
    expect(monitor.spec).toEqual({
      podTargetLabels: ['kvasir.dev/model', 'kvasir.dev/pool'],
      selector: { matchExpressions: [{ key: 'kvasir.dev/model', operator: 'Exists' }] },
      namespaceSelector: { any: true },
      podMetricsEndpoints: [
        { port: 'http', path: '/metrics', interval: '15s', relabelings: [{ action: 'drop', sourceLabels, regex: 'a-x|b-x' }] },
        { port: 'http', path: '/stats', interval: '15s', relabelings: [{ action: 'keep', sourceLabels, regex: 'a-x|b-x' }] },
      ],
    });
  });

  it.each([
    ...rules.map(({ alert, record, expr }) => [(alert ?? record)!, expr] as const),
    ...dashboardOf(watched).panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ])('asks in "%s" only for series and labels that exist', async (_, expr) => {
    const known = await exported();
    const asked = seriesOf(expr);
    expect(asked.length).toBeGreaterThan(0);
    for (const { metric, labels } of asked) {
      expect([...known.keys()]).toContain(metric);
      expect(labels.filter((label) => ![...known.get(metric)!, ...FROM_TARGET].includes(label))).toEqual([]);
    }
  });

  it('tells in every alert what is wrong and what to look at', () => {
    const alerts = rules.filter(({ alert }) => alert !== undefined);
    expect(alerts.length).toBeGreaterThanOrEqual(14);
    for (const { annotations } of alerts) {
      expect(annotations!.summary.length).toBeGreaterThan(15);
      expect(annotations!.description).toMatch(/\. |\?$/);
    }
  });

  it('asks for all names that engines had for a metric', () => {
    const { expr } = rules.find(({ record }) => record === 'kvasir:engine_kv_cache_usage:avg')!;
    expect(expr).toBe(
      'avg by (namespace, kvasir_dev_model) (vllm:kv_cache_usage_perc or vllm:gpu_cache_usage_perc or sglang:token_usage)',
    );
  });

  it('leaves out what is not installed', () => {
    const { app } = stack({ router: false, autoscaler: false, monitoring: undefined });
    const alone = synth(
      new Monitoring(new Chart(app, 'alone'), 'm', { name: 'engines', dashboard: false, labels: { release: 'x' } }),
    );
    expect(alone.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'PodMonitor engines-engines',
      'PrometheusRule engines',
    ]);
    expect(JSON.stringify(alone.all)).not.toMatch(/kthena_router|kvasir_autoscaler/);
    expect(alone.get('PodMonitor', 'engines-engines').metadata.labels).toMatchObject({ release: 'x' });
  });

  it('derives the limit of a router from its configuration', () => {
    const config = { limits: { requestsInFlight: 500 } };
    const made = synth(stack({ router: { config } }).platform.monitoring!).get('PrometheusRule', 'kvasir');
    expect(JSON.stringify(made.spec)).toContain('/ 500 > 0.8');
  });
});

describe('the reader of expressions', () => {
  it.each([
    ['sum by (a, b) (rate(x_total{job="a or b",code=~"5.."}[5m])) / 3 > 0', [{ metric: 'x_total', labels: ['job', 'code'] }]],
    [
      'a:b:c - ignoring(of) d{e!="f"} and absent(g)',
      [
        { metric: 'a:b:c', labels: [] },
        { metric: 'd', labels: ['e'] },
        { metric: 'g', labels: [] },
      ],
    ],
  ])('finds the series in %s', (expr, series) => {
    expect(seriesOf(expr)).toEqual(series);
  });
});
