import { Metrics } from '../../../../runtime/lib/metrics';
import { HandOffMetrics } from '../../../../runtime/router/disaggregation/hand-off-metrics';
import { KvBlockMetrics } from '../../../../runtime/router/observability/kv-block-metrics';
import { LimitMetrics } from '../../../../runtime/router/observability/limit-metrics';
import { QueueMetrics } from '../../../../runtime/router/observability/queue-metrics';
import { RouterMetrics } from '../../../../runtime/router/observability/router-metrics';
import { SchedulingMetrics } from '../../../../runtime/router/observability/scheduling-metrics';
import { defaultRouterConfig } from '../../../../src/config/router-config';
import { chatBody, routerConfig, send, startTestRouter, TestEngine } from '../../../helpers/router-harness';

const DESTINATION = ['model_route', 'backend_type', 'backend_name', 'upstream_model'];
const L = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const P = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5];
const Q = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const R = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];
const K = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

type Row = readonly [name: string, type: string, labels: readonly string[], bounds?: readonly number[]];

/** Kthena's metrics with their labels in order and their bucket bounds. Queue waits have further bounds: requests may wait for a minute. */
const KTHENA: readonly Row[] = [
  ['requests_total', 'counter', ['model', 'path', 'status_code', 'error_type', ...DESTINATION]],
  ['request_duration_seconds', 'histogram', ['model', 'path', 'status_code', ...DESTINATION], L],
  ['request_prefill_duration_seconds', 'histogram', ['model', 'path', 'status_code'], L],
  ['request_decode_duration_seconds', 'histogram', ['model', 'path', 'status_code'], L],
  ['tokens_total', 'counter', ['model', 'path', 'token_type', ...DESTINATION]],
  ['scheduler_plugin_duration_seconds', 'histogram', ['model', 'plugin', 'type'], P],
  ['rate_limit_exceeded_total', 'counter', ['model', 'limit_type', 'path']],
  ['active_requests', 'gauge', []],
  ['active_downstream_requests', 'gauge', ['model']],
  ['active_upstream_requests', 'gauge', ['model_server', ...DESTINATION]],
  ['fairness_queue_size', 'gauge', ['model', 'user_id']],
  ['fairness_queue_duration_seconds', 'histogram', ['model', 'user_id'], Q],
  ['fairness_queue_cancelled_total', 'counter', ['model', 'user_id']],
  ['fairness_queue_dequeue_total', 'counter', ['model', 'user_id']],
  ['fairness_queue_inflight', 'gauge', ['model']],
  ['prefix_cache_match_ratio', 'histogram', ['model'], R],
  ['prefix_cache_evictions_total', 'counter', ['model']],
  ['prefix_cache_entries', 'gauge', []],
  ['kvcache_aware_match_ratio', 'histogram', ['model'], R],
  ['kvcache_aware_redis_duration_seconds', 'histogram', ['model'], K],
  ['kvcache_aware_tokenize_duration_seconds', 'histogram', ['model'], K],
  ['kvcache_aware_errors_total', 'counter', ['model', 'stage']],
  ['session_boost_queue_size', 'gauge', ['model']],
  ['session_boost_queue_duration_seconds', 'histogram', ['model'], Q],
  ['session_boost_queue_cancelled_total', 'counter', ['model']],
  ['session_boost_queue_dequeue_total', 'counter', ['model']],
  ['session_boost_queue_inflight', 'gauge', ['model']],
];

interface Family {
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly bounds?: readonly number[];
}

function families(): ReadonlyMap<string, Family> {
  const { metrics } = new RouterMetrics();
  const { queue } = defaultRouterConfig();
  new HandOffMetrics(metrics);
  new KvBlockMetrics(metrics);
  new LimitMetrics(metrics);
  new QueueMetrics(metrics, { ...queue, sessionBoost: { ...queue.sessionBoost, enabled: true } });
  new SchedulingMetrics(metrics, () => 0);
  const all = metrics.registry.getMetricsAsArray() as unknown as (Family & { readonly name: string })[];
  return new Map(all.map((family) => [family.name, family]));
}

describe('Kthena’s metrics', () => {
  it.each(KTHENA.map((row) => [row[0], row[1], row] as const))(
    'include kthena_router_%s as a %s',
    (name, type, [, , labels, bounds]) => {
      const family = families().get(`kthena_router_${name}`);
      expect(family).toMatchObject({ type, labelNames: labels });
      if (bounds !== undefined) expect(family!.bounds).toEqual(expect.arrayContaining([...bounds]));
    },
  );
});

describe('A router’s metrics page', () => {
  it('has samples of decisions and of the prefix index after a request', async () => {
    const engine = await new TestEngine((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    }).start();
    const { router, url } = await startTestRouter({ engines: [engine], config: routerConfig({ profile: 'least-request' }) });
    try {
      await send(url, '/v1/chat/completions', chatBody());
      const { body } = await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics');
      expect(body).toContain(
        'kthena_router_scheduler_plugin_duration_seconds_count{model="m",plugin="least-request",type="score"} 1\n',
      );
      expect(body).toContain(
        'kthena_router_scheduler_plugin_duration_seconds_count{model="m",plugin="least-request",type="filter"} 1\n',
      );
      expect(body).toContain('kthena_router_prefix_cache_match_ratio_count{model="m"} 1\n');
      expect(body).toMatch(/kthena_router_prefix_cache_entries \d+\n/);
    } finally {
      await router.close();
      await engine.kill();
    }
  });
});

describe('A metric', () => {
  it('goes on where it was when its part is made anew, and is refused with other labels', async () => {
    const metrics = new Metrics();
    metrics.counter('c', 'Counts.', ['model']).with('m').add(2);
    metrics.counter('c', 'Counts.', ['model']).with('m').add(3);
    expect(await metrics.page()).toContain('c{model="m"} 5\n');
    expect(() => metrics.counter('c', 'Counts.', ['path'])).toThrow('c');
  });
});

describe('The number of series', () => {
  it('is bounded: what is beyond goes to one series that says so', async () => {
    const metrics = new Metrics();
    const family = metrics.counter('c', 'Counts.', ['model']);
    for (let i = 0; i < 5_100; i++) family.with(`model-${i}`).add(1);
    const page = await metrics.page();
    expect(page.split('\n').filter((line) => line.startsWith('c{'))).toHaveLength(5_001);
    expect(page).toContain('c{model="_other"} 100\n');
  });

  it('does not grow with the names of models that no route has', async () => {
    const { router, url } = await startTestRouter({ engines: [] });
    try {
      const page = async () => (await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics')).body.split('\n').length;
      await send(url, '/v1/chat/completions', '{"model":"x"}');
      const before = await page();
      for (let i = 0; i < 20; i++) await send(url, `/v1/chat/completions?${i}`, JSON.stringify({ model: `guess-${i}` }));
      for (let i = 0; i < 20; i++) await send(url, `/v1/guess/${i}`, '{}');
      expect(await page()).toBe(before);
    } finally {
      await router.close();
    }
  });
});
