import { join } from 'node:path';
import { type ManifestCluster, openManifestCluster } from '../../../../runtime/cluster/manifests';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { isPodReady } from '../../../../src/api/pod';
import { FIXTURES } from '../../../helpers/example-objects';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { EPOCH_MS } from '../../../helpers/manifest-folder';

let cluster: ManifestCluster;
let runner: FakePodRunner;

async function open(...files: readonly string[]): Promise<void> {
  runner = new FakePodRunner();
  const paths = files.map((file) => join(FIXTURES, 'kthena-examples', file));
  cluster = await openManifestCluster({ paths, clock: new VirtualClock(EPOCH_MS), runner });
  await cluster.settled();
}

afterEach(() => cluster.close());

describe("Kthena's examples, unchanged", () => {
  it('LLM-Mock.yaml: three engines of the model that its environment names', async () => {
    await open('kthena-router/LLM-Mock.yaml');
    expect(cluster.findings()).toEqual([]);
    expect(runner.starts).toHaveLength(3);
    for (const { plan } of runner.starts) {
      expect(plan).toMatchObject({ engine: 'vllm', port: 8000, model: 'meta-llama/Llama-3.1-8B-Instruct' });
      expect(plan?.servedModelNames).toContain('meta-llama/Llama-3.1-8B-Instruct');
    }
    expect(cluster.objects.list('Pod', { labels: { app: 'vllm-llama3-8b-instruct' } }).every(isPodReady)).toBe(true);
  });

  it('a LoRA route gives the mocks behind its ModelServer the adapters', async () => {
    await open('kthena-router/LLM-Mock-ds7b.yaml', 'kthena-router/ModelServer-ds7b.yaml', 'kthena-router/ModelRouteLora.yaml');
    expect(runner.starts).toHaveLength(3);
    for (const { plan } of runner.starts) expect(Object.keys(plan?.adapters ?? {})).toEqual(['lora-A', 'lora-B']);
  });

  it('a canary: one pod of each version, under one ModelServer each', async () => {
    await open('kthena-router/LLM-Mock-ds1.5b-Canary.yaml', 'kthena-router/ModelServer-ds1.5b-Canary.yaml');
    expect(runner.starts.map(({ plan }) => plan?.servedModelNames[0]).sort()).toEqual([
      expect.stringContaining('v1'),
      expect.stringContaining('v2'),
    ]);
  });

  it('the SGLang mock listens where its ModelServer says', async () => {
    await open('kthena-router/LLM-Mock-sglang.yaml', 'kthena-router/ModelServer-sglang.yaml');
    expect(runner.starts.map(({ plan }) => [plan?.engine, plan?.port])).toEqual([
      ['sglang', 30_000],
      ['sglang', 30_000],
    ]);
  });

  it('every example is read, every workload gets ready, and nothing is refused', async () => {
    await open('');
    const refused = cluster
      .findings()
      .filter(({ severity, code }) => severity === 'error' && !/^(references|routing|scaling)/.test(code));
    expect(refused).toEqual([]);
    expect(cluster.workloads().length).toBeGreaterThan(15);
    for (const { name, desired, ready } of cluster.workloads()) expect([name, ready]).toEqual([name, desired]);
  });
});
