import type { AutoscalerConfig } from '../../src/config/autoscaler-config';
import type { PrometheusRuleEntry } from '../kube/prometheus-rule';
import { ENGINE_SERIES, MODEL_LABEL } from './engine-series';

/** When alerts fire. */
export interface AlertThresholds {
  /** Share of a model's requests that fail. @default 0.05 */
  readonly failedRequests?: number;
  /** 95th percentile of the time to the first token, in seconds. @default 10 */
  readonly timeToFirstTokenSeconds?: number;
  /** Requests that wait at an engine, on average over a model's pods. @default 16 */
  readonly waitingRequests?: number;
  /** Share of KV cache in use, on average over a model's pods. @default 0.95 */
  readonly kvCacheUsage?: number;
}

/** Series of one part of the platform, as Prometheus labels them: its Service's `app` is the job. */
export interface AlertTarget {
  readonly job: string;
  readonly namespace: string;
}

const selectorOf = ({ job, namespace }: AlertTarget, more = ''): string => `{job="${job}",namespace="${namespace}"${more}}`;

/** What of a router's configuration its alerts go by. */
export interface RouterAlertConfig {
  readonly requestsInFlight: number;
  /** Time from fetch to fetch of the keys that sign tokens; absent where no tokens are taken. */
  readonly jwksRefreshMs?: number;
}

/** A week, and a day. */
const CERTIFICATE_WARNING_SECONDS = 7 * 86_400;
const CERTIFICATE_CRITICAL_SECONDS = 86_400;
/** What of an autoscaler's configuration its alerts go by. */
export type AutoscalerAlertConfig = Pick<AutoscalerConfig, 'syncPeriodMs' | 'leaseDurationMs'>;

/** Keys are called stale when so many fetches in a row brought none, */
const MISSED_FETCHES = 3;
/** and not before this: an issuer may be restarted. */
const LEAST_STALE_SECONDS = 900;

export function routerAlerts(
  router: AlertTarget,
  { requestsInFlight, jwksRefreshMs }: RouterAlertConfig,
  thresholds: AlertThresholds,
): readonly PrometheusRuleEntry[] {
  const series = (name: string, more = '') => `${name}${selectorOf(router, more)}`;
  const requests = 'kthena_router_requests_total';
  const failed = thresholds.failedRequests ?? 0.05;
  const seconds = thresholds.timeToFirstTokenSeconds ?? 10;
  return [
    critical('KvasirRouterDown', '5m', `absent(${series('kthena_router_active_requests')})`, {
      summary: 'No router answers its metrics port',
      description: 'Nothing is served, or Prometheus cannot reach it. Look at the pods, then at the network policies.',
    }),
    critical(
      'KvasirRequestsFail',
      '5m',
      `sum by (model) (rate(${series(requests, ',status_code=~"5.."')}[5m])) / sum by (model) (rate(${series(requests)}[5m])) > ${failed} and sum by (model) (increase(${series(requests)}[5m])) >= 10`,
      {
        summary: 'Requests for {{ $labels.model }} fail',
        description:
          '{{ $value | humanizePercentage }} of them are answered with 5xx. The access log names the error, /debug/decisions the pods.',
      },
    ),
    critical(
      'KvasirModelHasNoPods',
      '2m',
      `sum by (model) (increase(${series(requests, ',error_type="pod_discovery"')}[5m])) > 0`,
      {
        summary: 'Requests for {{ $labels.model }} find no ready pod',
        description:
          'Its ModelServer is missing or selects no pod that is ready. Look at the pods, their start-up and the labels.',
      },
    ),
    warning('KvasirRouterOverloaded', '5m', `sum(increase(${series(requests, ',error_type="overload"')}[5m])) > 0`, {
      summary: 'Routers refuse requests that they have no room for',
      description: 'They are at limits.requestsInFlight or limits.bodyBudgetBytes, or not synced yet. Add replicas.',
    }),
    warning(
      'KvasirRouterNearLimit',
      '5m',
      `max by (pod) (${series('kthena_router_active_requests')}) / ${requestsInFlight} > 0.8`,
      {
        summary: 'Router {{ $labels.pod }} is near its limit of requests',
        description: 'It serves {{ $value | humanizePercentage }} of limits.requestsInFlight. Add replicas.',
      },
    ),
    warning(
      'KvasirSlowFirstToken',
      '10m',
      `histogram_quantile(0.95, sum by (model, le) (rate(${series('kvasir_router_time_to_first_token_seconds_bucket')}[5m]))) > ${seconds}`,
      {
        summary: 'The first token of {{ $labels.model }} comes late',
        description: 'The slowest twentieth waits {{ $value | humanizeDuration }} or longer. Compare with queues and KV cache.',
      },
    ),
    warning(
      'KvasirAttemptsFail',
      '10m',
      `sum by (model_server) (rate(${series('kvasir_router_attempts_total', ',outcome=~"failed|refused"')}[5m])) / sum by (model_server) (rate(${series('kvasir_router_attempts_total')}[5m])) > 0.2`,
      {
        summary: 'Pods of {{ $labels.model_server }} fail requests',
        description:
          '{{ $value | humanizePercentage }} of the attempts fail; clients see it only when retries fail too. Look at the engines’ logs.',
      },
    ),
    warning('KvasirConfigRefused', '5m', `min by (pod) (${series('kvasir_router_config_last_reload_successful')}) == 0`, {
      summary: 'Router {{ $labels.pod }} does not take its new configuration',
      description: 'It goes on with the last good one. Its log names the field, and so does /debug/config.',
    }),
    warning('KvasirConfigAwaitsRestart', '30m', `max by (pod) (${series('kvasir_router_config_fields_awaiting_restart')}) > 0`, {
      summary: 'Router {{ $labels.pod }} needs a restart for its configuration',
      description: '{{ $value }} fields of the file are not in use before. Its log names them; roll the Deployment.',
    }),
    ...certificateAlerts(series),
    siblingsUnknown(series),
    ...(jwksRefreshMs === undefined ? [] : [staleKeys(series, jwksRefreshMs)]),
  ];
}

/** Renewal begins weeks before a certificate ends, so that one with a week left is not being renewed. Silent without TLS. */
function certificateAlerts(series: (name: string, more?: string) => string): readonly PrometheusRuleEntry[] {
  const left = `min by (pod, use) (${series('kvasir_router_tls_certificate_expiry_timestamp_seconds')}) - time()`;
  const description =
    'It has {{ $value | humanizeDuration }}. Look at what renews the Secret; a new file is taken without a restart.';
  return [
    warning('KvasirCertificateEndsSoon', '30m', `${left} < ${CERTIFICATE_WARNING_SECONDS}`, {
      summary: 'The certificate of router {{ $labels.pod }} ({{ $labels.use }}) ends within a week',
      description,
    }),
    critical('KvasirCertificateEnds', '5m', `${left} < ${CERTIFICATE_CRITICAL_SECONDS}`, {
      summary: 'The certificate of router {{ $labels.pod }} ({{ $labels.use }}) ends within a day, or has ended',
      description,
    }),
    warning('KvasirCertificateRefused', '5m', `min by (pod, use) (${series('kvasir_router_tls_last_reload_successful')}) == 0`, {
      summary: 'Router {{ $labels.pod }} cannot use its new certificate ({{ $labels.use }})',
      description: 'It goes on with the last good one until that ends. Its log names the file and what is wrong with it.',
    }),
  ];
}

/** Silent without replication: the series is absent then. Replicas come and go in a rollout, within minutes. */
function siblingsUnknown(series: (name: string, more?: string) => string): PrometheusRuleEntry {
  const peers = series('kvasir_replication_peers');
  return warning('KvasirSiblingsUnknown', '10m', `min by (pod) (${peers}) < scalar(count(${peers})) - 1`, {
    summary: 'Router {{ $labels.pod }} does not hear all of its siblings',
    description:
      'It knows {{ $value }} of them, and decides without what the others send. Look at port 9091 in the network policies, at Redis, and at kvasir_replication_refused_total: `handshake` is another secret.',
  });
}

function staleKeys(series: (name: string, more?: string) => string, refreshMs: number): PrometheusRuleEntry {
  const fetchedAt = `max by (pod) (${series('kvasir_router_jwks_last_success_timestamp_seconds')})`;
  const failures = `sum by (pod) (increase(${series('kvasir_router_jwks_fetches_total', ',outcome="failed"')}[15m]))`;
  const staleSeconds = Math.max(LEAST_STALE_SECONDS, (MISSED_FETCHES * refreshMs) / 1000);
  return warning(
    'KvasirSigningKeysStale',
    '5m',
    `(time() - ${fetchedAt} > ${staleSeconds}) or (${failures} > 0 unless ${fetchedAt})`,
    {
      summary: 'Router {{ $labels.pod }} cannot fetch the keys that sign tokens',
      description:
        'It goes on with those it has, and refuses tokens with new ones. Look at auth.jwksUri, its certificate and the network policies.',
    },
  );
}

export function autoscalerAlerts(
  autoscaler: AlertTarget,
  { syncPeriodMs, leaseDurationMs }: AutoscalerAlertConfig,
): readonly PrometheusRuleEntry[] {
  const series = (name: string, more = '') => `${name}${selectorOf(autoscaler, more)}`;
  const replicas = (of: string) => series('kvasir_autoscaler_replicas', `,of="${of}"`);
  const leader = series('kvasir_autoscaler_leader');
  const scrapes = 'kvasir_autoscaler_scrapes_total';
  const window = `${Math.max(5, Math.ceil((4 * syncPeriodMs) / 60_000))}m`;
  return [
    critical('KvasirAutoscalerDown', '10m', `absent(${series('kvasir_autoscaler_round_seconds_count')})`, {
      summary: 'The autoscaler does not answer its metrics port',
      description: 'Replicas stay as they are, whatever the load. Look at its pod.',
    }),
    critical('KvasirAutoscalerNoLeader', `${Math.max(3, Math.ceil((2 * leaseDurationMs) / 60_000))}m`, `max(${leader}) == 0`, {
      summary: 'No autoscaler leads',
      description:
        'All replicas stand by, and nothing is scaled. Their logs say what keeps them from the Lease; kubectl get lease shows it.',
    }),
    critical(
      'KvasirAutoscalerStuck',
      '5m',
      `increase(${series('kvasir_autoscaler_round_seconds_count')}[${window}]) == 0 and ${leader} == 1`,
      {
        summary: 'The autoscaler finishes no round',
        description: 'It leads and decides nothing. Its log names what it waits for.',
      },
    ),
    warning(
      'KvasirAutoscalerBlind',
      '10m',
      `sum(rate(${series(scrapes, ',result="failed"')}[5m])) / sum(rate(${series(scrapes)}[5m])) > 0.5`,
      {
        summary: 'The autoscaler cannot read most metrics pages',
        description: 'It holds replicas that it cannot judge. Look at network policies and the ports in policies.',
      },
    ),
    warning('KvasirTargetMissing', '10m', `${series('kvasir_autoscaler_condition', ',condition="TargetFound"')} == 0`, {
      summary: 'What policy {{ $labels.policy }} scales is not there',
      description: 'Nothing is scaled by it. Its status says what is missing: create it, or correct targetRef.',
    }),
    warning('KvasirReplicasMissing', '30m', `${replicas('desired')} - ignoring(of) ${replicas('ready')} > 0`, {
      summary: '{{ $labels.target }} lacks {{ $value }} ready replicas',
      description:
        'Policy {{ $labels.policy }} has wanted more for half an hour. Look for GPUs, quota, failing starts, and conditions of the policy.',
    }),
    warning('KvasirReplicasStay', '30m', `${replicas('ready')} - ignoring(of) ${replicas('desired')} > 0`, {
      summary: '{{ $labels.target }} has {{ $value }} ready replicas too many',
      description:
        'Policy {{ $labels.policy }} has wanted fewer for half an hour. Look for streams that do not end, a rollout that hangs, and conditions of the policy.',
    }),
    warning('KvasirAtMaximum', '10m', `${replicas('recommended')} - ignoring(of) ${replicas('desired')} > 0`, {
      summary: '{{ $labels.target }} needs more replicas than it may have',
      description:
        'Policy {{ $labels.policy }} is at its bounds, {{ $value }} short of what its metrics ask for. Raise them if there are GPUs.',
    }),
  ];
}

export function engineAlerts(thresholds: AlertThresholds): readonly PrometheusRuleEntry[] {
  const model = `{{ $labels.${MODEL_LABEL} }}`;
  return [
    warning('KvasirQueueLong', '10m', `${ENGINE_SERIES.waiting} > ${thresholds.waitingRequests ?? 16}`, {
      summary: `Requests queue at the engines of ${model}`,
      description: '{{ $value | humanize }} wait per pod. Is it scaled, and is it at its maximum?',
    }),
    warning('KvasirKvCacheFull', '15m', `${ENGINE_SERIES.kvUsage} > ${thresholds.kvCacheUsage ?? 0.95}`, {
      summary: `The KV cache of ${model} is full`,
      description:
        '{{ $value | humanizePercentage }} is in use: prefixes are evicted and requests wait. Add replicas or shorten the context.',
    }),
    warning('KvasirPreemptions', '10m', `${ENGINE_SERIES.preemptions} > 0.1`, {
      summary: `Engines of ${model} take KV cache from running requests`,
      description:
        '{{ $value | humanize }} times per second, each computed anew. Lower the requests per replica that the policy aims at.',
    }),
  ];
}

type Text = { readonly summary: string; readonly description: string };

const critical = (alert: string, lasting: string, expr: string, annotations: Text): PrometheusRuleEntry => ({
  alert,
  expr,
  for: lasting,
  labels: { severity: 'critical' },
  annotations,
});

const warning = (alert: string, lasting: string, expr: string, annotations: Text): PrometheusRuleEntry => ({
  alert,
  expr,
  for: lasting,
  labels: { severity: 'warning' },
  annotations,
});
