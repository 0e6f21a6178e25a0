import { wallClock } from '../../../../runtime/lib/wall-clock';
import type { KubeObject } from '../../../../src/api/meta';
import { parseRouterConfig } from '../../../../src/config/router-config';
import { InstantPods } from '../../../helpers/instant-pods';
import { type ManifestRouter, startManifestRouter } from '../../../helpers/manifest-router';
import { send } from '../../../helpers/router-harness';

const MODEL = 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B';
const PROBES = 100;
/** Of the router's clock alone, so that it scrapes more often. */
const SPEED = 4;

/** A Deployment of simulators as Kthena's plugin tests have them: two sequences at a time, a step of a few milliseconds. */
const deployment = (name: string, replicas: number, args: readonly string[] = []): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'sim', pool: name } },
      template: {
        metadata: { labels: { app: 'sim', pool: name } },
        spec: {
          containers: [
            {
              name: 'engine',
              image: 'ghcr.io/llm-d/llm-d-inference-sim:v0.6.1',
              args: ['--model', MODEL, '--port', '8000', '--max-num-seqs', '2', '--block-size', '8', ...args],
            },
          ],
        },
      },
    },
  }) as unknown as KubeObject;

const networking = (kind: string, spec: object): KubeObject =>
  ({
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind,
    metadata: { name: 'sim', namespace: 'default' },
    spec,
  }) as unknown as KubeObject;

const ROUTING = [
  networking('ModelServer', {
    model: MODEL,
    inferenceEngine: 'vLLM',
    workloadSelector: { matchLabels: { app: 'sim' } },
    workloadPort: { port: 8000 },
    trafficPolicy: { timeout: '10s' },
  }),
  networking('ModelRoute', {
    modelName: 'sim',
    loraAdapters: ['lora-A'],
    rules: [{ name: 'default', targetModels: [{ modelServerName: 'sim' }] }],
  }),
];

/** Kthena's configuration file, as its tests write it into the ConfigMap. */
const configFile = (score: string, filters = '[]', args = ''): string => `
scheduler:
  pluginConfig:
  - name: least-request
    args: {maxWaitingRequests: 1}
  - name: least-latency
    args: {TTFTTPOTWeightFactor: 0.5}
  - name: prefix-cache
    args: {blockSizeToHash: 64, maxBlocksToMatch: 128, maxHashCacheSize: 50000}
${args}
  plugins:
    Filter: {enabled: ${filters}, disabled: [lora-affinity-of-old]}
    Score: {enabled: [{name: ${score}, weight: 1}]}
auth: {issuer: "", audiences: [], jwksUri: ""}
`;

interface DumpedPod {
  readonly name: string;
  readonly models: readonly string[];
  readonly metrics: Readonly<Record<string, number | undefined>>;
}

describe("Kthena's end-to-end tests of scheduling plugins, by its own configuration file", () => {
  let at: ManifestRouter;
  const streams: Promise<unknown>[] = [];
  afterEach(async () => {
    await at.close();
    await Promise.allSettled(streams.splice(0));
  });

  async function start(config: string, objects: readonly KubeObject[] = [deployment('fast', 3)]): Promise<void> {
    const pods = new InstantPods({
      numBlocks: 512,
      stepTime: ({ metadata }) => ({
        baseMs: metadata.labels?.pool === 'slow' ? 40 : 3,
        perPrefillTokenMs: 0,
        perSequenceMs: 0,
        perKvTokenMs: 0,
      }),
    });
    at = await startManifestRouter({ objects: [...objects, ...ROUTING], config, pods, clock: wallClock(SPEED) });
  }

  /** Probes one after the other. @returns the share of each pod, by the access log. */
  async function shares(extra: object = {}, model = 'sim', count = PROBES): Promise<Readonly<Record<string, number>>> {
    const from = at.log.length;
    for (let i = 0; i < count; i++) {
      const { status, body } = await at.chat(model, { max_tokens: 1, ...extra });
      expect([status, status === 200 ? '' : body]).toEqual([200, '']);
    }
    const counts = Object.entries(at.counts('selected_pod', from));
    return Object.fromEntries(counts.map(([pod, served]) => [pod, served / count]));
  }

  /** Requests that go past the router. */
  function direct(pod: string, count: number, content: string, maxTokens: number): void {
    const body = JSON.stringify({
      model: MODEL,
      stream: true,
      max_tokens: maxTokens,
      min_tokens: maxTokens,
      ignore_eos: true,
      messages: [{ role: 'user', content }],
    });
    for (let i = 0; i < count; i++) {
      streams.push(send(`http://127.0.0.1:${at.pods.engine(pod).port}`, '/v1/chat/completions', body).catch(() => undefined));
    }
  }

  async function untilPods(holds: (pods: ReadonlyMap<string, DumpedPod>) => boolean, meanwhile?: () => Promise<unknown>) {
    for (let i = 0; i < 300; i++) {
      const { pods } = await at.debug<{ pods: DumpedPod[] }>('config_dump/pods');
      if (holds(new Map(pods.map((pod) => [pod.name, pod])))) return;
      await (meanwhile?.() ?? new Promise((resolve) => setTimeout(resolve, 25)));
    }
    throw new Error(`never seen: ${JSON.stringify(await at.debug('config_dump/pods'))}`);
  }

  it('PrefixCache: identical prompts go to one pod', async () => {
    await start(configFile('prefix-cache'));
    const prompt = { messages: [{ role: 'user', content: 'the same words over and over again. '.repeat(20) }] };
    await shares(prompt, 'sim', 30);
    expect(Math.max(...Object.values(await shares(prompt)))).toBeGreaterThanOrEqual(0.9);
  });

  it('LeastRequest: pods where requests wait get none, the idle one all', async () => {
    await start(configFile('least-request', '[least-request]'));
    const [first, second, idle] = at.pods.names() as [string, string, string];
    for (const pod of [first, second]) direct(pod, 10, 'busy', 300);
    await untilPods(
      (pods) =>
        [first, second].every((pod) => pods.get(pod)!.metrics.requestWaitingNum! >= 1) &&
        pods.get(idle)!.metrics.requestWaitingNum! < 1,
    );
    expect((await shares({}, 'sim'))[idle]).toBeGreaterThanOrEqual(0.9);
  });

  it('GPUCacheUsage: the pod whose cache is empty gets the requests', async () => {
    await start(configFile('gpu-usage'));
    const [first, second, idle] = at.pods.names() as [string, string, string];
    for (const pod of [first, second]) direct(pod, 2, 'words that fill a cache '.repeat(60), 1_000);
    await untilPods(
      (pods) =>
        [first, second].every((pod) => pods.get(pod)!.metrics.gpuCacheUsage! >= 0.1) &&
        pods.get(idle)!.metrics.gpuCacheUsage! < 0.05,
    );
    expect((await shares({}, 'sim'))[idle]).toBeGreaterThanOrEqual(0.9);
  });

  it('LeastLatency: a slow pod gets hardly any', async () => {
    await start(configFile('least-latency'), [deployment('fast', 2), deployment('slow', 1)]);
    const names = at.pods.names();
    await untilPods(
      (pods) => names.every((name) => pods.get(name)!.metrics.ttft! > 0 && pods.get(name)!.metrics.tpot! > 0),
      async () => {
        for (const name of names) direct(name, 1, 'prime', 4);
        await Promise.allSettled(streams.splice(0));
      },
    );
    const slow = Object.entries(await shares()).filter(([name]) => name.startsWith('slow'));
    expect(slow.reduce((sum, [, share]) => sum + share, 0)).toBeLessThanOrEqual(0.1);
  });

  it('LoraAffinity: requests for an adapter go to the one pod that has it, under a random score', async () => {
    await start(configFile('random', '[lora-affinity]'), [deployment('fast', 3, ['--enable-lora', '--max-loras', '2'])]);
    const [loaded, ...others] = at.pods.names() as [string, ...string[]];
    const load = JSON.stringify({ lora_name: 'lora-A', lora_path: '/adapters/lora-A' });
    await send(`http://127.0.0.1:${at.pods.engine(loaded).port}`, '/v1/load_lora_adapter', load);
    await untilPods(
      (pods) => pods.get(loaded)!.models.includes('lora-A') && others.every((name) => pods.get(name)!.models.length === 1),
    );
    expect(await shares({}, 'lora-A')).toEqual({ [loaded]: 1 });
  });

  it('Random: every pod gets about a third', async () => {
    await start(configFile('random'));
    const each = await shares({}, 'sim', 300);
    expect(Object.keys(each)).toHaveLength(3);
    for (const share of Object.values(each)) expect(Math.abs(share - 1 / 3)).toBeLessThan(0.1);
  });

  it('RouterConfigUpdate: another configuration file is obeyed, without a restart, and nothing of the old one is left', async () => {
    await start(configFile('prefix-cache'));
    const prompt = { messages: [{ role: 'user', content: 'words that one pod knows by now '.repeat(20) }] };
    await shares(prompt, 'sim', 70);
    await at.router.reconfigure(parseRouterConfig(configFile('least-request', '[least-request]')));
    const before = await at.metric('kthena_router_scheduler_plugin_duration_seconds_count', 'plugin="prefix-cache"');
    expect(before).toBeGreaterThan(0);
    // One decision in 61 is timed.
    expect(Object.keys(await shares(prompt, 'sim', 70)).length).toBe(3);
    const of = (plugin: string, type: string) =>
      at.metric('kthena_router_scheduler_plugin_duration_seconds_count', `plugin="${plugin}"`, `type="${type}"`);
    expect(await of('least-request', 'score')).toBeGreaterThan(0);
    expect(await of('least-request', 'filter')).toBeGreaterThan(0);
    expect(await of('prefix-cache', 'score')).toBe(before);
    for (const plugin of ['gpu-usage', 'least-latency']) expect([plugin, await of(plugin, 'score')]).toEqual([plugin, 0]);
  });
});
