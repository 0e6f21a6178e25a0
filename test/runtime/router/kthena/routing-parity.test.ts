import { setTimeout as pause } from 'node:timers/promises';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import type { KubeObject } from '../../../../src/api/meta';
import type { ModelRoute } from '../../../../src/api/model-route';
import { exampleObjects } from '../../../helpers/example-objects';
import { InstantPods } from '../../../helpers/instant-pods';
import { type ManifestRouter, type ManifestRouterOptions, startManifestRouter } from '../../../helpers/manifest-router';
import { send } from '../../../helpers/router-harness';

const SMALL = ['kthena-router/LLM-Mock-ds1.5b.yaml', 'kthena-router/ModelServer-ds1.5b.yaml'];
const LARGE = ['kthena-router/LLM-Mock-ds7b.yaml', 'kthena-router/ModelServer-ds7b.yaml'];
const SGLANG = ['kthena-router/LLM-Mock-sglang.yaml', 'kthena-router/ModelServer-sglang.yaml'];
const CANARY = ['kthena-router/LLM-Mock-ds1.5b-Canary.yaml', 'kthena-router/ModelServer-ds1.5b-Canary.yaml'];
const CHAT = '/v1/chat/completions';

const route = (file: string): ModelRoute => exampleObjects(`kthena-router/${file}`)[0] as unknown as ModelRoute;
/** A route as the API server would have it: with a time of its own. */
const made = (from: ModelRoute, name: string, at: string, spec: object = {}): KubeObject =>
  ({
    ...from,
    metadata: { ...from.metadata, name, creationTimestamp: at },
    spec: { ...from.spec, ...spec },
  }) as unknown as KubeObject;
const to = (modelServerName: string) => ({ rules: [{ name: 'default', targetModels: [{ modelServerName }] }] });

describe("Kthena's end-to-end tests of routing, with its own manifests as input", () => {
  let at: ManifestRouter;
  afterEach(() => at.close());

  const start = async (objects: readonly KubeObject[], more: Partial<ManifestRouterOptions> = {}): Promise<void> => {
    at = await startManifestRouter({ objects, ...more });
  };

  /** What Kthena's tests ask of an answer: status 200, and a body that is no error. */
  async function check(model: string, headers: Record<string, string> = {}): Promise<string> {
    const answer = await at.chat(model, {}, headers);
    expect([answer.status, answer.body]).toEqual([200, expect.not.stringMatching(/error/i)]);
    expect(answer.body).not.toBe('');
    return answer.body;
  }

  it('ModelRouteSimple: a route to one ModelServer', async () => {
    await start([...exampleObjects(...SMALL), ...exampleObjects('kthena-router/ModelRouteSimple.yaml')]);
    expect(await check('deepseek-simple')).toContain('DeepSeek-R1-Distill-Qwen-1.5B');
    expect(at.log[0]).toMatch(
      /"POST \/v1\/chat\/completions HTTP\/1.1" 200 model_name=deepseek-simple .*selected_pod=deepseek-r1-1-5b-/,
    );
  });

  it('ModelRouteMultiModels: a header chooses the model, and anything else the default', async () => {
    await start(exampleObjects(...SMALL, ...LARGE, 'kthena-router/ModelRouteMultiModels.yaml'));
    expect(await check('deepseek-multi-models', { 'user-type': 'premium' })).toContain('DeepSeek-R1-Distill-Qwen-7B');
    for (const headers of [{}, { 'user-type': 'basic' }, { 'user-type': '' }]) {
      expect(await check('deepseek-multi-models', headers as Record<string, string>)).toContain('DeepSeek-R1-Distill-Qwen-1.5B');
    }
  });

  it('ModelRouteSubset: 500 requests are drawn by weights 70 and 30, and after an update by 50 and 30', async () => {
    await start(exampleObjects(...CANARY, 'kthena-router/ModelRouteSubset.yaml'));
    const share = async (first: number, second: number): Promise<void> => {
      const from = at.log.length;
      for (let i = 0; i < 50; i++) {
        const answers = await Promise.all(Array.from({ length: 10 }, () => at.chat('deepseek-subset', { max_tokens: 1 })));
        expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      }
      const pods = Object.entries(at.counts('selected_pod', from));
      const of = (version: string): number =>
        pods.filter(([pod]) => pod.startsWith(`deepseek-r1-1-5b-${version}-`)).reduce((sum, [, count]) => sum + count, 0);
      expect(of('v1') + of('v2')).toBe(500);
      expect(Math.abs(of('v1') / 500 - first)).toBeLessThan(0.05);
      expect(Math.abs(of('v2') / 500 - second)).toBeLessThan(0.05);
    };
    await share(0.7, 0.3);
    const before = route('ModelRouteSubset.yaml');
    const [rule] = before.spec.rules;
    const targetModels = rule!.targetModels.map((target, i) => ({ ...target, weight: i === 0 ? 50 : 30 }));
    await at.put({ ...before, spec: { ...before.spec, rules: [{ ...rule, targetModels }] } } as unknown as KubeObject);
    await share(0.625, 0.375);
  });

  it('ModelRouteLora: adapters that one pod of three has, loaded while it runs, and one that no route names', async () => {
    await start(exampleObjects(...LARGE));
    const one = at.pods.engine(at.pods.names()[0]!);
    // The engines were planned without a route, so that they have no adapters until a client loads them.
    for (const name of ['lora-A', 'lora-B']) {
      const loaded = JSON.stringify({ lora_name: name, lora_path: `/adapters/${name}` });
      const answer = await send(`http://127.0.0.1:${one.port}`, '/v1/load_lora_adapter', loaded);
      expect([name, answer.status, answer.body]).toEqual([name, 200, expect.any(String)]);
    }
    await at.put(...exampleObjects('kthena-router/ModelRouteLora.yaml'));
    for (const name of ['lora-A', 'lora-B', 'lora-A', 'lora-B']) expect(await check(name)).toContain(name);
    const none = await at.chat('lora-NonExistent');
    expect([none.status, none.body]).toEqual([404, expect.stringContaining('lora-NonExistent')]);
  });

  it('DuplicatePreferOldest: the older of two routes of one model counts, and the other one once it is deleted', async () => {
    const simple = route('ModelRouteSimple.yaml');
    const older = made(simple, 'z-older', '2026-01-01T00:00:00Z', { modelName: 'twice', ...to('deepseek-r1-1-5b') });
    const newer = made(simple, 'a-newer', '2026-01-01T00:00:02Z', { modelName: 'twice', ...to('deepseek-r1-7b') });
    await start([...exampleObjects(...SMALL, ...LARGE), newer, older]);
    expect(await check('twice')).toContain('1.5B');
    await at.remove(older);
    expect(await check('twice')).toContain('7B');
  });

  it('Metrics: counts grow by exactly what was sent, and an unknown model is told as such', async () => {
    await start(exampleObjects(...SMALL, 'kthena-router/ModelRouteSimple.yaml'));
    const labels = ['model="deepseek-simple"', `path="${CHAT}"`, 'status_code="200"'];
    for (const name of ['kthena_router_requests_total', 'kthena_router_request_duration_seconds_count']) {
      const before = await at.metric(name, ...labels);
      for (let i = 0; i < 3; i++) await check('deepseek-simple');
      expect([name, (await at.metric(name, ...labels)) - before]).toEqual([name, 3]);
    }
    expect((await at.chat('nobody-knows')).status).toBe(404);
    expect(
      await at.metric('kthena_router_requests_total', 'error_type="route_not_found"', 'model="unknown"', 'status_code="404"'),
    ).toBe(1);
  });

  it('SglangMetrics: load and latencies are read in the words of SGLang', async () => {
    const slow = { baseMs: 2, perPrefillTokenMs: 0, perSequenceMs: 0, perKvTokenMs: 0 };
    const objects = [
      ...exampleObjects(...SGLANG),
      made(route('ModelRouteSimple.yaml'), 'sg', '2026-01-01T00:00:00Z', { modelName: 'sg', ...to('sglang-mock') }),
    ];
    await start(objects, { pods: new InstantPods({ stepTime: () => slow }), clock: wallClock(4) });
    const pods = async () =>
      (await at.debug<{ pods: { engine: string; metrics: Record<string, number | undefined> }[] }>('config_dump/pods')).pods;
    // A latency is that between two scrapes with answers in between.
    const end = Date.now() + 10_000;
    while ((await pods()).some(({ metrics }) => !(metrics.ttft! > 0 && metrics.tpot! > 0))) {
      if (Date.now() > end) throw new Error(`never told: ${JSON.stringify(await pods())}`);
      const stream = { stream: true, messages: [{ role: 'user', content: 'hello' }] };
      await Promise.all([0, 1, 2, 3].map(() => at.chat('sg', stream)));
      await pause(100);
    }
    for (const { engine, metrics } of await pods()) {
      expect(engine).toBe('SGLang');
      expect(metrics.gpuCacheUsage).toBeGreaterThanOrEqual(0);
      expect(metrics.requestWaitingNum).toBeGreaterThanOrEqual(0);
      expect(metrics.requestRunningNum).toBeGreaterThanOrEqual(0);
    }
  });

  it('DebugServer: every list answers a JSON object, and the port is on loopback alone', async () => {
    await start(exampleObjects(...SMALL, 'kthena-router/ModelRouteSimple.yaml'));
    for (const kind of ['modelroutes', 'modelservers', 'pods', 'gateways', 'httproutes', 'inferencepools']) {
      const dump = await at.debug(`config_dump/${kind}`);
      expect(Object.keys(dump)).toEqual([kind]);
    }
    const one = await at.debug('config_dump/namespaces/default/modelroutes/deepseek-simple');
    expect(one).toMatchObject({ name: 'deepseek-simple', namespace: 'default', spec: { modelName: 'deepseek-simple' } });
    expect(at.router.debugAddress.host).toBe('127.0.0.1');
    await expect(send(`http://127.0.0.2:${at.router.debugAddress.port}`, '/debug/config_dump/pods')).rejects.toThrow(
      'ECONNREFUSED',
    );
  });
});
