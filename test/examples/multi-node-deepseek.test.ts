import type { KubeObject } from '../../src/api/meta';
import { expandWorkload, planEngine } from '../../src/expand';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/multi-node-deepseek', () => {
  const files = runExample('multi-node-deepseek', temporaryFolder());
  const models = Object.entries(files).filter(([path]) => path.startsWith('multi-node-deepseek/models/'));
  const objects = models.flatMap(([path, content]) => readManifests(content, path).objects.map(({ object }) => object));
  const only = (kind: string): KubeObject => objects.find((object) => object.kind === kind)!;
  const pods = () => expandWorkload(only('LeaderWorkerSet'))!.pods.map(({ pod }) => pod);

  it('makes of its models what it made before; a difference here restarts 16 GPUs in every cluster', () => {
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it('is one engine over the GPUs of two nodes, whose leader answers', () => {
    expect(pods().map(({ metadata }) => metadata.name)).toEqual(['deepseek-v3-h100-0', 'deepseek-v3-h100-0-1']);
    const context = { modelServers: [], modelRoutes: [] };
    expect(pods().map((pod) => planEngine(pod, context))).toEqual([
      expect.objectContaining({
        engine: 'sglang',
        model: 'deepseek-ai/DeepSeek-V3',
        servedModelNames: ['deepseek-v3'],
        tensorParallelSize: 16,
      }),
      undefined,
    ]);
  });

  it('leaves the gang to the controller, which makes one for each replica', () => {
    expect(only('LeaderWorkerSet').metadata.annotations).toMatchObject({ 'scheduling.volcano.sh/queue-name': 'llm' });
    expect(objects.filter(({ kind }) => kind === 'PodGroup')).toEqual([]);
    expect(pods().map(({ spec }) => (spec as { schedulerName?: string }).schedulerName)).toEqual(['volcano', 'volcano']);
  });
});
