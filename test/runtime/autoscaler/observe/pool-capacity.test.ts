import { poolCapacity } from '../../../../runtime/autoscaler/observe/pool-capacity';
import type { ManifestCluster } from '../../../../runtime/cluster/manifests';
import type { TargetRef } from '../../../../runtime/cluster/scaling';
import type { KubeObject } from '../../../../src/api/meta';
import { Annotations } from '../../../../src/labels';
import { ManifestFolder } from '../../../helpers/manifest-folder';
import { deploymentOf } from '../../../helpers/workload-objects';

const target = (name: string): TargetRef => ({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name });

function pool(name: string, replicas: number, accelerator?: string, gpus = 1): KubeObject {
  const annotations = {
    [Annotations.modelShape]: 'Qwen/Qwen3-8B',
    ...(accelerator && { [Annotations.accelerator]: accelerator }),
  };
  const args = ['--model', 'Qwen/Qwen3-8B', '--tensor-parallel-size', String(gpus)];
  const resources = { limits: { 'nvidia.com/gpu': gpus } };
  const containers = [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2', args, resources }];
  return deploymentOf(name, { replicas, template: { metadata: { labels: { app: name }, annotations }, spec: { containers } } });
}

describe('what a replica of a pool carries', () => {
  let folder: ManifestFolder;
  let cluster: ManifestCluster;
  afterEach(() => folder.close());

  it('is compared by the accelerators of its pods, also of a pool that has none now', async () => {
    folder = new ManifestFolder([
      pool('h100', 0, 'H100-SXM-80GB'),
      pool('l40s', 2, 'L40S-48GB'),
      pool('two', 1, 'H100-SXM-80GB', 2),
    ]);
    cluster = await folder.open();
    const [h100, l40s, two] = ['h100', 'l40s', 'two'].map((name) => poolCapacity(target(name), cluster)!);
    // Memory bandwidth, which decoding is bound by, differs by a factor of 3.9; what does not depend on it makes it less.
    expect(h100! / l40s!).toBeGreaterThan(2.5);
    expect(h100! / l40s!).toBeLessThan(3.9);
    expect(two! / h100!).toBeGreaterThan(1.2);
    expect(two! / h100!).toBeLessThan(2);
  });

  it('is not known where the pods name no accelerator, run no engine, or there is no such workload', async () => {
    folder = new ManifestFolder([pool('unnamed', 1), deploymentOf('proxy', { replicas: 1 }, 'nginx:1')]);
    cluster = await folder.open();
    for (const name of ['unnamed', 'proxy', 'none']) expect(poolCapacity(target(name), cluster)).toBeUndefined();
  });
});
