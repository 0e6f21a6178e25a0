import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { autoscalerAlerts, engineAlerts, routerAlerts } from '../../../constructs/platform/alert-rules';
import { engineSeries } from '../../../constructs/platform/engine-series';
import { defaultAutoscalerConfig } from '../../../src/config/autoscaler-config';
import { promtool } from '../../helpers/promtool';
import { temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

const AT = 'job="kvasir-router",namespace="kvasir"';
const SCALER = 'job="kvasir-autoscaler",namespace="kvasir"';
const POD = 'namespace="llm",kvasir_dev_model="chat",pod="chat-0"';
const requests = (status: number, errorType: string) =>
  `kthena_router_requests_total{${AT},model="chat",status_code="${status}",error_type="${errorType}"}`;
const attempts = (outcome: string) => `kvasir_router_attempts_total{${AT},model_server="llm/chat",outcome="${outcome}"}`;
const ttft = (le: string) => `kvasir_router_time_to_first_token_seconds_bucket{${AT},model="chat",le="${le}"}`;
const replicas = (of: string) => `kvasir_autoscaler_replicas{${SCALER},policy="chat",target="chat-l40s",of="${of}"}`;
const scrapes = (result: string) => `kvasir_autoscaler_scrapes_total{${SCALER},result="${result}"}`;
const active = `kthena_router_active_requests{${AT},pod="kvasir-router-0"}`;
const keysFetched = `kvasir_router_jwks_last_success_timestamp_seconds{${AT},pod="kvasir-router-0"}`;
const keysFailed = `kvasir_router_jwks_fetches_total{${AT},pod="kvasir-router-0",outcome="failed"}`;
const configTaken = `kvasir_router_config_last_reload_successful{${AT},pod="kvasir-router-0"}`;
const configAwaiting = `kvasir_router_config_fields_awaiting_restart{${AT},pod="kvasir-router-0"}`;
const certificate = `kvasir_router_tls_certificate_expiry_timestamp_seconds{${AT},pod="kvasir-router-0",use="listener"}`;
const certificateTaken = `kvasir_router_tls_last_reload_successful{${AT},pod="kvasir-router-0",use="listener"}`;
const peersOf = (at: number) => `kvasir_replication_peers{${AT},pod="kvasir-router-${at}"}`;
const THREE_PEERS = { [peersOf(0)]: '2+0x60', [peersOf(1)]: '2+0x60', [peersOf(2)]: '2+0x60' };
const rounds = `kvasir_autoscaler_round_seconds_count{${SCALER},pod="kvasir-autoscaler-0"}`;
const leads = `kvasir_autoscaler_leader{${SCALER},pod="kvasir-autoscaler-0"}`;
const targetFound = `kvasir_autoscaler_condition{${SCALER},policy="chat",condition="TargetFound",reason="TargetFound"}`;
/** Another replica, which stands by. */
const standbyRounds = rounds.replace('-0"', '-1"');
const standbyLeads = leads.replace('-0"', '-1"');

/** Series of a platform that works, one sample per minute for an hour. */
const HEALTHY: Readonly<Record<string, string>> = {
  [active]: '100+0x60',
  [requests(200, 'successful_request')]: '0+600x60',
  [requests(503, 'proxy')]: '0+6x60',
  [attempts('completed')]: '0+600x60',
  [attempts('failed')]: '0+30x60',
  [ttft('1')]: '0+590x60',
  [ttft('10')]: '0+600x60',
  [ttft('60')]: '0+600x60',
  [ttft('+Inf')]: '0+600x60',
  [keysFetched]: '0+60x60',
  [keysFailed]: '0+1x60',
  [configTaken]: '1+0x60',
  [configAwaiting]: '0+0x60',
  [rounds]: '0+4x60',
  [leads]: '1+0x60',
  [standbyRounds]: '0+0x60',
  [standbyLeads]: '0+0x60',
  [targetFound]: '1+0x60',
  [scrapes('answered')]: '0+40x60',
  [scrapes('failed')]: '0+4x60',
  [replicas('current')]: '2+0x60',
  [replicas('ready')]: '2+0x60',
  [replicas('recommended')]: '2+0x60',
  [replicas('desired')]: '2+0x60',
  [`vllm:num_requests_waiting{${POD}}`]: '3+0x60',
  [`vllm:kv_cache_usage_perc{${POD}}`]: '0.7+0x60',
  [`vllm:num_preemptions_total{${POD}}`]: '0+1x60',
};

type Case = readonly [what: string, change: Readonly<Record<string, string | null>>, minutes: number, alerts: readonly string[]];

/** What changes against a healthy platform, and what fires that many minutes later. */
const CASES: readonly Case[] = [
  ['all is well', {}, 60, []],
  ['no router answers', { [active]: null }, 6, ['KvasirRouterDown']],
  ['no router has answered for a short while', { [active]: null }, 4, []],
  ['a tenth of the requests fails', { [requests(503, 'proxy')]: '0+60x60' }, 8, ['KvasirRequestsFail']],
  [
    'two of three requests fail, which says little',
    { [requests(200, 'successful_request')]: '0+0x19 1+0x40', [requests(503, 'proxy')]: '0+0x19 2+0x40' },
    26,
    [],
  ],
  ['a model has no pods', { [requests(503, 'pod_discovery')]: '0+5x60' }, 8, ['KvasirModelHasNoPods']],
  ['routers refuse requests', { [requests(503, 'overload')]: '0+2x60' }, 10, ['KvasirRouterOverloaded']],
  ['a router is nearly full', { [active]: '950+0x60' }, 8, ['KvasirRouterNearLimit']],
  ['first tokens come late', { [ttft('1')]: '0+0x60', [ttft('10')]: '0+500x60' }, 16, ['KvasirSlowFirstToken']],
  ['engines fail attempts that retries save', { [attempts('refused')]: '0+300x60' }, 16, ['KvasirAttemptsFail']],
  ['the keys of tokens are old', { [keysFetched]: '0+0x60' }, 36, ['KvasirSigningKeysStale']],
  ['the keys of tokens are not so old', { [keysFetched]: '0+0x60' }, 29, []],
  ['no keys ever came', { [keysFetched]: null }, 8, ['KvasirSigningKeysStale']],
  ['a configuration is refused', { [configTaken]: '0+0x60' }, 6, ['KvasirConfigRefused']],
  ['a configuration waits for a restart', { [configAwaiting]: '2+0x60' }, 31, ['KvasirConfigAwaitsRestart']],
  ['a certificate has eight days', { [certificate]: `${8 * 86_400}+0x60`, [certificateTaken]: '1+0x60' }, 59, []],
  ['a certificate has six days', { [certificate]: `${6 * 86_400}+0x60` }, 31, ['KvasirCertificateEndsSoon']],
  ['a certificate has an hour', { [certificate]: '3600+0x60' }, 31, ['KvasirCertificateEndsSoon', 'KvasirCertificateEnds']],
  ['a certificate is refused', { [certificateTaken]: '0+0x60' }, 6, ['KvasirCertificateRefused']],
  ['three routers know each other', THREE_PEERS, 60, []],
  ['a router is alone, as it is meant to be', { [peersOf(0)]: '0+0x60' }, 60, []],
  ['a router lost a sibling', { ...THREE_PEERS, [peersOf(1)]: '2+0x5 1+0x55' }, 20, ['KvasirSiblingsUnknown']],
  ['a router lost a sibling in a rollout', { ...THREE_PEERS, [peersOf(1)]: '2+0x5 1+0x6 2+0x50' }, 20, []],
  [
    'the autoscaler is away',
    { [rounds]: null, [standbyRounds]: null, [leads]: null, [standbyLeads]: null },
    12,
    ['KvasirAutoscalerDown'],
  ],
  ['the standby of the autoscaler is away', { [standbyRounds]: null, [standbyLeads]: null }, 12, []],
  ['the autoscaler leads no more', { [leads]: '1+0x5 0+0x55' }, 10, ['KvasirAutoscalerNoLeader']],
  [
    'another autoscaler takes over',
    { [leads]: '1+0x5 0+0x55', [standbyLeads]: '0+0x7 1+0x53', [standbyRounds]: '0+0x7 0+4x53' },
    20,
    [],
  ],
  ['a target is missing', { [targetFound]: '0+0x60' }, 12, ['KvasirTargetMissing']],
  ['a target has been missing for a short while', { [targetFound]: '0+0x60' }, 9, []],
  ['the autoscaler finishes no round', { [rounds]: '7+0x60' }, 15, ['KvasirAutoscalerStuck']],
  ['most pages cannot be read', { [scrapes('failed')]: '0+60x60' }, 16, ['KvasirAutoscalerBlind']],
  [
    'replicas do not come',
    { [replicas('desired')]: '4+0x60', [replicas('recommended')]: '4+0x60' },
    31,
    ['KvasirReplicasMissing'],
  ],
  [
    'replicas are asked for and do not become ready',
    { [replicas('desired')]: '4+0x60', [replicas('current')]: '4+0x60' },
    35,
    ['KvasirReplicasMissing'],
  ],
  ['replicas do come', { [replicas('desired')]: '4+0x60', [replicas('ready')]: '2+0x20 4+0x40' }, 35, []],
  ['replicas do not go', { [replicas('desired')]: '1+0x60', [replicas('recommended')]: '1+0x60' }, 35, ['KvasirReplicasStay']],
  ['more is needed than is allowed', { [replicas('recommended')]: '9+0x60' }, 11, ['KvasirAtMaximum']],
  ['more has been needed for a short while', { [replicas('recommended')]: '9+0x60' }, 9, []],
  ['requests queue at vLLM', { [`vllm:num_requests_waiting{${POD}}`]: '40+0x60' }, 15, ['KvasirQueueLong']],
  ['requests queue at SGLang', { [`sglang:num_queue_reqs{${POD},engine="b"}`]: '60+0x60' }, 15, ['KvasirQueueLong']],
  ['the KV cache is full', { [`vllm:kv_cache_usage_perc{${POD}}`]: '0.99+0x60' }, 20, ['KvasirKvCacheFull']],
  ['running requests lose their cache', { [`vllm:num_preemptions_total{${POD}}`]: '0+30x60' }, 16, ['KvasirPreemptions']],
];

const groups = [
  { name: 'kvasir-engine-series', rules: engineSeries() },
  { name: 'kvasir-engines', rules: engineAlerts({}) },
  {
    name: 'kvasir-router',
    rules: routerAlerts({ job: 'kvasir-router', namespace: 'kvasir' }, { requestsInFlight: 1000, jwksRefreshMs: 600_000 }, {}),
  },
  {
    name: 'kvasir-autoscaler',
    rules: autoscalerAlerts({ job: 'kvasir-autoscaler', namespace: 'kvasir' }, defaultAutoscalerConfig()),
  },
];
const SEVERITY = new Map(
  groups.flatMap(({ rules }) => rules).flatMap((rule) => ('alert' in rule ? [[rule.alert, rule.labels.severity]] : [])),
);

/** Runs `cases` in one go. */
function run(cases: readonly Case[]) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'rules.yaml'), stringify({ groups }));
  const tests = cases.map(([name, change, minutes, alerts]) => ({
    name,
    interval: '1m',
    input_series: Object.entries({ ...HEALTHY, ...change }).flatMap(([series, values]) =>
      values === null ? [] : [{ series, values }],
    ),
    promql_expr_test: [
      {
        expr: 'count by (alertname, severity) (ALERTS{alertstate="firing"})',
        eval_time: `${minutes}m`,
        exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}",severity="${SEVERITY.get(alert)}"}`, value: 1 })),
      },
    ],
  }));
  writeFileSync(join(folder, 'tests.yaml'), stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }));
  return promtool('test', 'rules', join(folder, 'tests.yaml'));
}

describe('the alert rules, run by Prometheus', () => {
  it('fire when they should, and only then', () => {
    const result = run(CASES);
    if (result === undefined) return;
    expect(result.output).toContain('SUCCESS');
    expect(result.status).toBe(0);
  });

  it('are not called right when one does not fire', () => {
    const result = run([['a wrong expectation', {}, 60, ['KvasirRouterDown']]]);
    if (result === undefined) return;
    expect(result.status).not.toBe(0);
  });

  it('each have a case that fires them', () => {
    const fired = new Set(CASES.flatMap(([, , , alerts]) => alerts));
    expect([...SEVERITY.keys()].filter((alert) => !fired.has(alert!))).toEqual([]);
  });
});
