import type { ManifestCluster } from '../../../../runtime/cluster/manifests';
import type { KubeObject } from '../../../../src/api/meta';
import { findingLine } from '../../../../src/errors';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { ManifestFolder } from '../../../helpers/manifest-folder';

let folder: ManifestFolder;
let runner: FakePodRunner;
let cluster: ManifestCluster;

function booster(backend: object = {}): KubeObject {
  const object = {
    apiVersion: 'workload.serving.volcano.sh/v1alpha1',
    kind: 'ModelBooster',
    metadata: { name: 'qwen' },
    spec: {
      backend: {
        name: 'b',
        type: 'vLLM',
        modelURI: 'hf://Qwen/Qwen3-8B',
        cacheURI: 'pvc://weights',
        replicas: 1,
        workers: [{ type: 'server', image: 'vllm/vllm-openai:v0.32.0', replicas: 1, config: { 'served-model-name': 'q' } }],
        ...backend,
      },
    },
  };
  return object;
}

async function open(...objects: readonly KubeObject[]): Promise<void> {
  folder = new ManifestFolder(objects);
  runner = new FakePodRunner();
  cluster = await folder.open({ runner });
  await cluster.settled();
}

afterEach(() => folder.close());

const lines = () => cluster.findings().map(findingLine);

describe('a ModelBooster in a folder of manifests', () => {
  it('gets a ModelServing with running pods, and a ModelServer and a ModelRoute to them', async () => {
    await open(booster());
    expect(lines()).toEqual([]);
    expect(runner.running()).toEqual(['qwen-b-0-leader-0-0']);
    expect(runner.latest('qwen-b-0-leader-0-0').plan).toMatchObject({
      engine: 'vllm',
      version: '0.32.0',
      model: 'Qwen/Qwen3-8B',
      servedModelNames: ['q'],
      port: 8000,
    });
    expect(cluster.workloads()).toEqual([{ kind: 'ModelServing', namespace: 'default', name: 'qwen-b', desired: 1, ready: 1 }]);
    expect(cluster.objects.list('ModelServer').map(({ metadata }) => metadata.name)).toEqual(['qwen-b']);
    expect(cluster.objects.list('ModelRoute').map(({ spec }) => spec.modelName)).toEqual(['qwen']);
  });

  it('is scaled by its own replicas without a restart, and replaced with another flag', async () => {
    await open(booster());
    await folder.put(booster({ replicas: 2 }));
    await cluster.settled();
    expect(runner.running()).toEqual(['qwen-b-0-leader-0-0', 'qwen-b-1-leader-0-0']);
    expect(runner.starts).toHaveLength(2);
    const [server] = (booster() as { spec?: { backend: { workers: readonly { config: object }[] } } }).spec!.backend.workers;
    await folder.put(booster({ replicas: 2, workers: [{ ...server, config: { ...server!.config, 'max-model-len': 4096 } }] }));
    await cluster.settled();
    expect(runner.starts.length).toBeGreaterThan(2);
    expect(runner.latest('qwen-b-0-leader-0-0').plan).toMatchObject({ maxModelLen: 4096 });
  });

  it.each<[string, object, string]>([
    ['is invalid', { replicas: -1 }, 'spec.backend.replicas'],
    ['no pod can come of', { cacheURI: undefined }, '[model-booster/no-cache]'],
  ])('keeps the children of its last good version when the new one %s', async (_, change, line) => {
    await open(booster());
    await folder.put(booster(change));
    await cluster.settled();
    expect(lines()).toEqual([expect.stringContaining(line)]);
    expect(runner.running()).toEqual(['qwen-b-0-leader-0-0']);
    expect(cluster.objects.list('ModelRoute')).toHaveLength(1);
  });

  it('takes its children with it', async () => {
    await open(booster());
    await folder.remove(booster());
    await cluster.settled();
    expect(runner.running()).toEqual([]);
    expect([...cluster.objects.list('ModelServer'), ...cluster.objects.list('ModelRoute')]).toEqual([]);
  });

  it('is told of what Kthena says nothing about, once', async () => {
    await open(booster({ env: [{ name: 'POD_NAME', value: 'x' }] }));
    expect(lines()).toEqual([
      expect.stringMatching(/ModelBooster default\/qwen: spec\.backend\.env\[0\]\.name: .*\[model-booster\/env\]$/),
    ]);
    expect(cluster.workloads()).toEqual([]);
  });
});
