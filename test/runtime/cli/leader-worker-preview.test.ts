import { Chart } from 'cdk8s';
import { request } from 'undici';
import { Accelerator, Cluster, Engine, GitOpsApp, ModelBooster, ModelSource } from '../../../constructs';
import { type RunningPreview, startPreview } from '../../../runtime/cli/preview/preview';
import { formatAddress } from '../../../runtime/lib/http-listen';
import { silentLogger } from '../../../runtime/lib/logger';
import { ShiftingClock } from '../../helpers/shifting-clock';
import { temporaryFolders } from '../../helpers/temporary-folder';

const anyPort = { host: '127.0.0.1', port: 0 };
const target = { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', namespace: 'llm', name: 'big-h200' };

describe('a model on several nodes in a preview', () => {
  const newFolder = temporaryFolders();
  let preview: RunningPreview | undefined;
  afterEach(() => preview?.close());

  it('is answered for by its leaders, and scales by whole groups', async () => {
    const outdir = newFolder();
    const app = new GitOpsApp({ outdir, cluster: Cluster.of({ leaderWorkerSet: true }), report: () => undefined });
    new ModelBooster(new Chart(app, 'models', { namespace: 'llm' }), 'big', {
      source: ModelSource.huggingFace('Qwen/Qwen3-32B'),
      engine: Engine.vllm('0.32.0'),
      pools: { h200: { accelerator: Accelerator.H200_141GB, gpusPerPod: 2, podsPerReplica: 2 } },
    });
    app.synth();
    const clock = new ShiftingClock(400);
    preview = await startPreview({
      paths: [outdir],
      listen: anyPort,
      metricsListen: anyPort,
      debugListen: anyPort,
      clock,
      seed: 1,
      log: silentLogger(),
      onFinding: ({ message }) => {
        throw new Error(message);
      },
      onScaled: () => undefined,
    });
    await preview.cluster.settled();
    await preview.router.whenReady();
    const read = await preview.cluster.scaling.read(target);
    if (read.kind !== 'found') throw new Error(read.kind);
    await preview.cluster.scaling.set(target, 2, read.value.version);
    await preview.cluster.settled();
    clock.shift(1);
    expect(preview.cluster.workloads()).toEqual([
      { kind: 'LeaderWorkerSet', namespace: 'llm', name: 'big-h200', desired: 2, ready: 2 },
    ]);
    expect(
      preview.cluster.objects
        .list('Pod')
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual(['big-h200-0', 'big-h200-0-1', 'big-h200-1', 'big-h200-1-1']);
    const response = await request(`http://${formatAddress(preview.router.address)}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'big', max_tokens: 4, messages: [{ role: 'user', content: 'hello' }] }),
    });
    expect([response.statusCode, ((await response.body.json()) as { model: string }).model]).toEqual([200, 'big']);
  });
});
