import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningPreview, startPreview } from '../../../../runtime/cli/preview/preview';
import { formatAddress } from '../../../../runtime/lib/http-listen';
import { silentLogger } from '../../../../runtime/lib/logger';
import { synthesizeExamples } from '../../../helpers/all-examples';
import { FIXTURES } from '../../../helpers/example-objects';
import { longPrompt } from '../../../helpers/pd-rig';
import { send } from '../../../helpers/router-harness';
import { ShiftingClock } from '../../../helpers/shifting-clock';
import { temporaryFolders } from '../../../helpers/temporary-folder';

const anyPort = { host: '127.0.0.1', port: 0 };

/** A ModelServing of prefill and decode pods as Kthena's end-to-end tests have it: simulators, and in some a worker that serves nothing. */
function modelServing(
  name: string,
  image: string,
  args: (role: 'prefill' | 'decode') => readonly string[],
  workers: number,
): string {
  const role = (key: 'prefill' | 'decode', label: string): string => `
      - name: ${key}
        replicas: 1
        entryTemplate:
          metadata: { labels: { modelserving.volcano.sh/rolename: ${label} } }
          spec:
            containers:
              - name: engine
                image: ${image}
                args: ${JSON.stringify(args(key))}
        workerReplicas: ${workers}
        workerTemplate:
          spec:
            containers: [{ name: worker, image: 'nginx:latest' }]`;
  return `
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: { name: ${name}, namespace: default }
spec:
  schedulerName: volcano
  replicas: 1
  template:
    roles:${role('prefill', 'P-instance')}${role('decode', 'D-instance')}
`;
}

function routing(spec: object): string {
  const server = {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelServer',
    metadata: { name: 'pd', namespace: 'default' },
    spec,
  };
  const route = {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelRoute',
    metadata: { name: 'pd', namespace: 'default' },
    spec: { modelName: 'deepseek-pd', rules: [{ name: 'default', targetModels: [{ modelServerName: 'pd' }] }] },
  };
  return [server, route].map((each) => JSON.stringify(each)).join('\n---\n');
}

const selector = (labels: Readonly<Record<'prefill' | 'decode', object>>, name: string): object => ({
  matchLabels: { 'modelserving.volcano.sh/name': name },
  pdGroup: {
    groupKey: 'modelserving.volcano.sh/group-name',
    prefillLabels: labels.prefill,
    decodeLabels: labels.decode,
  },
});
const MODEL = 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B';
const byRole = (more: object = {}) => ({
  prefill: { 'modelserving.volcano.sh/role': 'prefill', ...more },
  decode: { 'modelserving.volcano.sh/role': 'decode', ...more },
});
const simulator = (): readonly string[] => ['--model', MODEL, '--port', '8000'];

describe("Kthena's end-to-end tests of prefill and decode, with manifests as input", () => {
  const newFolder = temporaryFolders();
  let preview: RunningPreview;
  afterEach(() => preview.close());

  async function start(manifests: string, ...files: readonly string[]): Promise<void> {
    const folder = newFolder();
    if (manifests !== '') writeFileSync(join(folder, 'manifests.yaml'), manifests);
    const clock = new ShiftingClock(400);
    preview = await startPreview({
      paths: [folder, ...files],
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      clock,
      seed: 1,
      log: silentLogger(),
      onFinding: () => undefined,
      onScaled: () => undefined,
    });
    await preview.cluster.settled();
    await preview.router.whenReady();
    clock.shift(1);
  }

  async function check(model: string): Promise<void> {
    const body = { model, max_tokens: 6, messages: [{ role: 'user', content: longPrompt('kthena') }] };
    const answer = await send(`http://${formatAddress(preview.router.address)}`, '/v1/chat/completions', JSON.stringify(body));
    expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body }).toEqual({ status: 200, body: '' });
    const metrics = (await send(`http://${formatAddress(preview.router.metricsAddress)}`, '/metrics')).body;
    expect(metrics).toMatch(/^kvasir_router_hand_offs_total\{.*end="completed"\} 1$/m);
  }

  const requestsOf = (): readonly number[] => preview.pods.running().map(({ engine }) => engine.stats().submitted);

  it('PrefillDecodeDisaggregation: pods told apart by rolename, vLLM without a connector', async () => {
    const labels = {
      prefill: { 'modelserving.volcano.sh/rolename': 'P-instance' },
      decode: { 'modelserving.volcano.sh/rolename': 'D-instance' },
    };
    await start(
      [
        modelServing('pd', 'ghcr.io/llm-d/llm-d-inference-sim:v0.6.1', simulator, 0),
        routing({
          workloadSelector: selector(labels, 'pd'),
          workloadPort: { port: 8000 },
          model: MODEL,
          inferenceEngine: 'vLLM',
        }),
      ].join('\n---\n'),
    );
    await check('deepseek-pd');
    expect(requestsOf()).toEqual([1, 1]);
  });

  it('PrefillDecodeMultinode: workers that serve nothing are not selected', async () => {
    await start(
      [
        modelServing('pd', 'ghcr.io/llm-d/llm-d-inference-sim:v0.6.1', simulator, 1),
        routing({
          workloadSelector: selector(byRole({ 'modelserving.volcano.sh/entry': 'true' }), 'pd'),
          workloadPort: { port: 8000 },
          model: MODEL,
          inferenceEngine: 'vLLM',
        }),
      ].join('\n---\n'),
    );
    expect(preview.cluster.objects.list('Pod')).toHaveLength(4);
    expect(preview.router.endpoints.all()).toHaveLength(2);
    await check('deepseek-pd');
  });

  it('SglangPrefillDecode: simulators in disaggregation mode on port 30000', async () => {
    const args = (role: string): readonly string[] => [
      ...['--model-path', MODEL, '--served-model-name', MODEL, '--port', '30000', '--disaggregation-mode', role],
    ];
    await start(
      [
        modelServing('pd', 'lmsysorg/sglang:v0.5.23', args, 0),
        routing({
          workloadSelector: selector(byRole(), 'pd'),
          workloadPort: { port: 30_000 },
          model: MODEL,
          inferenceEngine: 'SGLang',
        }),
      ].join('\n---\n'),
    );
    await check('deepseek-pd');
    expect(requestsOf()).toEqual([1, 1]);
  });

  it('the example prefill-decode of this repository answers through both pods', async () => {
    const outdir = newFolder();
    await synthesizeExamples(outdir, { names: ['prefill-decode'] });
    await start('', join(outdir, 'prefill-decode'));
    await check('llama-70b');
  });

  it('the NIXL example of ModelServing answers through both pods', async () => {
    const file = join(FIXTURES, 'kthena-examples/model-serving/gpu-pd-disaggregation.yaml');
    await start(
      routing({
        workloadSelector: selector(byRole(), 'vllm-qwen-06b'),
        workloadPort: { port: 8000 },
        model: 'Qwen/Qwen3-0.6B',
        inferenceEngine: 'vLLM',
        kvConnector: { type: 'nixl' },
      }),
      file,
    );
    await check('deepseek-pd');
  });
});
