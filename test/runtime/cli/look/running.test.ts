import { request } from 'undici';
import { type RunningPreview, startPreview } from '../../../../runtime/cli/preview/preview';
import { formatAddress } from '../../../../runtime/lib/http-listen';
import { silentLogger } from '../../../../runtime/lib/logger';
import type { KubeObject } from '../../../../src/api/meta';
import { ManifestFolder } from '../../../helpers/manifest-folder';
import { startQueueRouter } from '../../../helpers/queue-harness';
import { modelRouteOf } from '../../../helpers/router-cluster';
import { startTestRouter, TestEngine, until } from '../../../helpers/router-harness';
import { runCli } from '../../../helpers/run-cli';
import { ShiftingClock } from '../../../helpers/shifting-clock';
import { deploymentOf, policyFor, serverFor } from '../../../helpers/workload-objects';

const anyPort = { host: '127.0.0.1', port: 0 };

function engineOf(name: string, replicas: number): KubeObject {
  const resources = { limits: { 'nvidia.com/gpu': '1' } };
  const containers = [
    {
      name: 'engine',
      image: 'vllm/vllm-openai:v0.32.0',
      args: ['--model', 'Qwen/Qwen3-8B', '--served-model-name', name],
      resources,
    },
  ];
  const metadata = {
    labels: { app: name },
    annotations: { 'kvasir.dev/accelerator': 'L40S-48GB', 'kvasir.dev/cost-per-replica-hour': '1.20' },
  };
  return deploymentOf(name, { replicas, template: { metadata, spec: { containers } } });
}

describe('kvasir get, status and explain of a preview', () => {
  const folder = new ManifestFolder([
    engineOf('chat', 1),
    serverFor('chat'),
    modelRouteOf('chat', { modelName: 'chat', to: 'chat' }),
    {
      ...policyFor('chat'),
      spec: {
        metrics: [{ name: 'running', targetValue: '8' }],
        homogeneousTarget: {
          target: {
            targetRef: { kind: 'Deployment', name: 'chat' },
            metricSources: { running: { pod: { name: 'vllm:num_requests_running', port: 8000 } } },
          },
          minReplicas: 1,
          maxReplicas: 4,
        },
      },
    } as KubeObject,
    engineOf('off', 0),
    serverFor('off'),
    serverFor('typo', { workloadSelector: { matchLabels: { app: 'caht' } } }),
    modelRouteOf('off', { modelName: 'off', to: 'off' }),
    modelRouteOf('typo', { modelName: 'typo', to: 'typo' }),
  ]);
  let preview: RunningPreview;
  let look: (...argv: readonly string[]) => ReturnType<typeof runCli>;

  beforeAll(async () => {
    const clock = new ShiftingClock(400);
    preview = await startPreview({
      paths: [folder.path],
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      autoscalerDebugListen: anyPort,
      clock,
      seed: 1,
      log: silentLogger(),
      onFinding: () => undefined,
      onScaled: () => undefined,
    });
    await preview.cluster.settled();
    await preview.router.whenReady();
    await until(
      () => preview.autoscaler.explain('default/chat').some(({ units }) => units[0]?.recommended !== undefined),
      'a round with a metric',
    );
    await until(() => preview.router.endpoints.all()[0]?.kvUsage !== undefined, 'a scrape');
    clock.shift(1);
    const body = JSON.stringify({ model: 'chat', max_tokens: 2, stream: true, messages: [{ role: 'user', content: 'hello' }] });
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body } as const;
    const answer = await request(`http://${formatAddress(preview.router.address)}/v1/chat/completions`, asked);
    await answer.body.text();
    const ports = [
      '--router',
      formatAddress(preview.router.debugAddress),
      '--autoscaler',
      formatAddress(preview.autoscaler.debugAddress!),
    ];
    look = (...argv) => runCli(...argv, ...ports);
  });

  afterAll(async () => {
    await preview.close();
    await folder.close();
  });

  it('lists models with their state, and pods with what the engines tell', async () => {
    expect((await look('get', 'models')).stdout.split('\n').map((line) => line.trimEnd().split(/ {3,}/).slice(1))).toEqual([
      ['NAME', 'STATE', 'PODS', 'REPLICAS', 'COST/H', 'PROBLEMS'],
      ['chat', 'Ready', '1/1', '1 (1–4)', '1.20', '–'],
      ['off', 'Off', '0/0', '0', '–', '1 error'],
      ['typo', 'Off', '0/0', '–', '–', '1 error'],
      [],
    ]);
    expect((await look('get', 'pods', '--wide')).stdout).toMatch(
      /^default +chat-\S+ +1\/1 +Running +[01] +0 +\d+ % +0 +\S+ +chat +1×L40S-48GB +127\.\S+ +0 +0$/m,
    );
    expect((await look('get', 'policies')).stdout).toMatch(/^default +chat +1 +4 +1 +[01] +True +\w+ +\S+$/m);
  });

  it('tells on half a page of each model what serves it, what is wrong and what to do', async () => {
    const paragraphs = (await look('status')).stdout.split('\n\n');
    expect(paragraphs[0]).toMatch(
      /^chat {2}Ready {2}1\/1 pods ready {2}1\.20 per hour\n {2}route {4}ModelRoute default\/chat → chat\n {2}pods {5}Deployment default\/chat {2}1\/1 ready {2}1×L40S-48GB {2}1\.20\/h\n {2}engines {2}[01] running, 0 waiting, KV cache \d+ %, 0 in flight through this router\n {2}scaling {2}AutoscalingPolicy default\/chat: 1 replica of 1–4, metrics ask for [01]/,
    );
    expect(paragraphs[1]).toContain(
      'Deployment default/off asks for no replicas, and no policy would bring one back; set replicas',
    );
    expect(paragraphs[2]).toContain(
      'selects nobody: no pod and no workload has app=caht; pods of Deployment chat have app=chat; correct one of the two [routing/no-pods]',
    );
    expect(paragraphs[3]).toMatch(/^3 models, 2 errors, 0 warnings; read from the router at 127\.0\.0\.1:\d+\n$/);
  });

  it('explains the last round of a policy: what was read, asked for, changed and decided, and its price', async () => {
    const { stdout } = await look('explain', 'autoscaling', 'chat');
    expect(stdout).toMatch(
      /^AutoscalingPolicy default\/chat, as the round of \d+s ago decided \(algorithm default\)\nnow {7}1 replica, 1–4 are allowed\n/,
    );
    expect(stdout).toMatch(/^reads {5}running: [01] from 1 replica; 8 are meant for each$/m);
    expect(stdout).toMatch(/^asks for {2}[01] by running$/m);
    expect(stdout).toMatch(/^result {4}1 replica, as now$/m);
    expect(stdout).toMatch(/^price {5}1\.20 per hour$/m);
    const document = JSON.parse((await look('explain', 'autoscaling', 'chat', '--json')).stdout);
    expect(document).toMatchObject({
      source: 'round',
      costPerHour: 1.2,
      units: [{ min: 1, max: 4, desired: 1, inputs: [{ name: 'running', sum: expect.any(Number) }] }],
    });
  });

  it('explains a decision, by its request, with the terms of its candidates and what came of it', async () => {
    const { decisions } = JSON.parse((await look('explain', 'schedule', '--json')).stdout);
    const { requestId } = decisions[0];
    expect((await look('explain', 'schedule')).stdout).toMatch(
      new RegExp(`^ +\\d+s +${requestId} +chat +default/chat-\\S+ +\\d+ +\\d+ +.*completed$`, 'm'),
    );
    const { stdout } = await look('explain', 'schedule', requestId);
    expect(stdout).toMatch(/^weighed {3}pod +cost +prefill-time +decode-time .*cached\n +default\/chat-\S+ \* +\d+\.\d{4}/m);
    expect(stdout).toMatch(/^came out {2}completed, first token after \S+ \S+/m);
    expect((await look('explain', 'schedule', 'nobody')).lines[0]).toMatch(/request: there is no "nobody"; there (is|are) /);
  });

  it('explains a pod: what made it, who selects it, what the router does with it', async () => {
    const { pods } = JSON.parse((await look('get', 'pods', '--json')).stdout);
    const { stdout } = await look('explain', 'pod', pods[0].name);
    expect(stdout).toMatch(/^Pod default\/chat-\S+: Running, 1\/1 containers ready, 0 restarts, /);
    expect(stdout).toMatch(
      /^made by {3}Deployment default\/chat\non {8}1×L40S-48GB\nserves {4}ModelServer default\/chat selects it\nrouter {4}sends it requests$/m,
    );
    expect(stdout).toMatch(/^requests {2}AGO +REQUEST/m);
  });

  it('breaks what does not fit into a narrow terminal between words, and leaves tables whole', async () => {
    const { isTTY, columns } = process.stdout;
    Object.assign(process.stdout, { isTTY: true, columns: 60 });
    try {
      const lines = (await look('status', 'typo')).stdout.split('\n');
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
      expect(lines.join(' ').replace(/ +/g, ' ')).toContain('pods of Deployment chat have app=chat; correct one of the two');
      expect((await look('get', 'pods')).stdout.split('\n')[0]).toMatch(/^NAMESPACE .* AGE$/);
    } finally {
      Object.assign(process.stdout, { isTTY, columns });
    }
  });

  it('says in one line that a port has no such page, or that a named autoscaler is not there', async () => {
    const metrics = formatAddress(preview.router.metricsAddress);
    expect((await runCli('get', 'models', '--router', metrics)).lines).toEqual([
      expect.stringMatching(/^error: --router 127\.0\.0\.1:\d+: it has no \/debug\/cluster \(404\); .*\[debug\/no-page\]$/),
    ]);
    const router = formatAddress(preview.router.debugAddress);
    expect((await runCli('status', '--router', router, '--autoscaler', '127.0.0.1:9')).lines).toEqual([
      expect.stringMatching(/^error: --autoscaler 127\.0\.0\.1:9: nobody answers there .*\[debug\/unreachable\]$/),
    ]);
    expect((await runCli('status', '--router', router)).code).toBe(0);
  });
});

describe('a router alone', () => {
  it('shows the models and pods that it sees, and says that it sees no policies', async () => {
    const engine = await new TestEngine(() => undefined).start();
    const { router } = await startTestRouter({ engines: [engine] });
    try {
      const port = ['--router', formatAddress(router.debugAddress)];
      expect((await runCli('get', 'models', ...port)).stdout).toMatch(/^default +m +Ready +1\/1/m);
      expect((await runCli('get', 'policies', ...port)).lines).toEqual([
        expect.stringMatching(
          /the router at \S+ does not see AutoscalingPolicy objects; give --cluster.*\[cli\/not-seen-from-here\]$/,
        ),
      ]);
    } finally {
      await router.close();
      await engine.kill();
    }
  });

  it('tells what waits in it, for which pods, how long and why', async () => {
    const held = await startQueueRouter();
    try {
      const port = ['--router', formatAddress(held.router.debugAddress)];
      expect((await runCli('explain', 'queue', ...port)).stdout).toBe('nobody waits: every request found a pod with room\n');
      const answers = [held.ask('first')];
      await held.untilServed('first');
      answers.push(held.ask('second'), held.ask('third'));
      await held.untilQueued(2);
      const { stdout } = await runCli('explain', 'queue', ...port);
      expect(stdout).toMatch(/^2 requests wait, 1 KiB\n2 for m, on ModelServer default\/server: every pod has as many sequences/);
      expect(stdout.match(/^ *\d+ ms {2}\S+ +m +\d+$/gm)).toHaveLength(2);
      const queue = JSON.parse((await runCli('explain', 'queue', '--json', ...port)).stdout);
      expect(queue).toMatchObject({
        requests: 2,
        lanes: [{ model: 'm', servers: ['default/server'], reason: 'full', requests: 2 }],
        waiting: [{ model: 'm', streams: false }, { model: 'm' }],
        leftOff: { requests: 0, lanes: 0 },
      });
      expect(JSON.stringify(queue)).not.toContain('second');
      for (const content of ['first', 'second', 'third']) {
        await held.untilServed(content);
        held.engine.release(content);
      }
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    } finally {
      await held.router.close();
      await held.engine.kill();
    }
  });
});
