import type { AlertTarget } from './alert-rules';
import { ENGINE_SERIES, MODEL_LABEL } from './engine-series';

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly queries: readonly Query[];
}

const PANEL_HEIGHT = 8;
const PANEL_WIDTH = 12;

/** A Grafana dashboard over the platform, as JSON. `router` and `autoscaler` are absent where they are not installed. */
export function dashboardJson(title: string, router: AlertTarget | undefined, autoscaler: AlertTarget | undefined): string {
  const panels = [
    ...(router === undefined ? [] : routerPanels(router)),
    ...enginePanels(),
    ...(autoscaler === undefined ? [] : autoscalerPanels(autoscaler)),
  ];
  const document = {
    uid: title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
    title,
    tags: ['kvasir'],
    schemaVersion: 39,
    time: { from: 'now-1h', to: 'now' },
    refresh: '30s',
    templating: {
      list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' }],
    },
    panels: panels.map((panel, index) => grafanaPanel(panel, index)),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function grafanaPanel({ title, unit, queries }: Panel, index: number): object {
  const datasource = { type: 'prometheus', uid: '$' + '{datasource}' };
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    datasource,
    gridPos: {
      x: (index % 2) * PANEL_WIDTH,
      y: Math.floor(index / 2) * PANEL_HEIGHT,
      w: PANEL_WIDTH,
      h: PANEL_HEIGHT,
    },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: queries.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode(65 + i),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}

function routerPanels({ job, namespace }: AlertTarget): readonly Panel[] {
  const of = (name: string, more = '') => `${name}{job="${job}",namespace="${namespace}"${more}}`;
  const quantiles = (bucket: string) =>
    [0.5, 0.95, 0.99].map((quantile) => ({
      expr: `histogram_quantile(${quantile}, sum by (model, le) (rate(${of(bucket)}[5m])))`,
      legend: `{{model}} p${quantile * 100}`,
    }));
  return [
    {
      title: 'Requests by status',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (model, status_code) (rate(${of('kthena_router_requests_total')}[5m]))`,
          legend: '{{model}} {{status_code}}',
        },
      ],
    },
    {
      title: 'Requests being served',
      unit: 'short',
      queries: [{ expr: `sum by (model) (${of('kthena_router_active_downstream_requests')})`, legend: '{{model}}' }],
    },
    { title: 'Time to first token', unit: 's', queries: quantiles('kvasir_router_time_to_first_token_seconds_bucket') },
    { title: 'Length of requests', unit: 's', queries: quantiles('kthena_router_request_duration_seconds_bucket') },
    {
      title: 'Tokens per second',
      unit: 'short',
      queries: [
        {
          expr: `sum by (model, token_type) (rate(${of('kthena_router_tokens_total')}[5m]))`,
          legend: '{{model}} {{token_type}}',
        },
      ],
    },
    {
      title: 'Prompt tokens found in caches',
      unit: 'percentunit',
      queries: [
        {
          expr: `sum by (model) (rate(${of('kvasir_router_cached_token_ratio_sum')}[5m])) / sum by (model) (rate(${of('kvasir_router_cached_token_ratio_count')}[5m]))`,
          legend: '{{model}}',
        },
      ],
    },
    { title: 'Wait for room in a pod', unit: 's', queries: quantiles('kthena_router_fairness_queue_duration_seconds_bucket') },
    {
      title: 'Requests refused for a limit',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (model, limit_type) (rate(${of('kthena_router_rate_limit_exceeded_total')}[5m]))`,
          legend: '{{model}} {{limit_type}}',
        },
      ],
    },
    {
      title: 'Attempts by outcome',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (model_server, outcome) (rate(${of('kvasir_router_attempts_total')}[5m]))`,
          legend: '{{model_server}} {{outcome}}',
        },
      ],
    },
  ];
}

function enginePanels(): readonly Panel[] {
  const legend = `{{namespace}} {{${MODEL_LABEL}}}`;
  const panel = (title: string, unit: string, expr: string): Panel => ({ title, unit, queries: [{ expr, legend }] });
  return [
    panel('Running requests', 'short', ENGINE_SERIES.running),
    panel('Waiting requests per pod', 'short', ENGINE_SERIES.waiting),
    panel('KV cache in use', 'percentunit', ENGINE_SERIES.kvUsage),
    panel('Generated tokens per second', 'short', ENGINE_SERIES.generationTokens),
  ];
}

function autoscalerPanels({ job, namespace }: AlertTarget): readonly Panel[] {
  const replicas = `kvasir_autoscaler_replicas{job="${job}",namespace="${namespace}"}`;
  return [
    {
      title: 'Replicas: current, ready, recommended, desired',
      unit: 'short',
      queries: [{ expr: `sum by (policy, target, of) (${replicas})`, legend: '{{target}} {{of}}' }],
    },
    {
      title: 'Conditions of policies',
      unit: 'short',
      queries: [
        {
          expr: `kvasir_autoscaler_condition{job="${job}",namespace="${namespace}"} == 1`,
          legend: '{{policy}} {{condition}}: {{reason}}',
        },
      ],
    },
  ];
}
