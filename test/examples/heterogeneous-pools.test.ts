import { decodeKind } from '../../src/api/decode-object';
import { type EnginePlan, expandWorkload, planEngine } from '../../src/expand';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/heterogeneous-pools', () => {
  const files = runExample('heterogeneous-pools', temporaryFolder());
  const object = (name: string) => readManifests(files[`heterogeneous-pools/models/${name}.yaml`]!, name).objects[0]!.object;
  const pod = (deployment: string) => expandWorkload(object(`Deployment.${deployment}`))!.pods[0]!.pod;
  const plan = (deployment: string): EnginePlan | undefined => planEngine(pod(deployment), { modelServers: [], modelRoutes: [] });

  it('synthesizes the same bytes twice', () => {
    expect(runExample('heterogeneous-pools', temporaryFolder())).toEqual(files);
  });

  it('makes what it made before; a difference here restarts or replaces something in every cluster', () => {
    // The platform is that of the quickstart.
    const models = Object.entries(files).filter(([path]) => path.startsWith('heterogeneous-pools/models/'));
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it.each(['h100', 'l40s'])('describes engines of the pool %s that the preview can start', (pool) => {
    expect(plan(`qwen3-8b-${pool}`)).toMatchObject({
      engine: 'vllm',
      model: 'Qwen/Qwen3-8B',
      servedModelNames: ['qwen3-8b'],
      maxModelLen: 32_768,
    });
  });

  it('scales both pools by one policy that knows their prices', () => {
    const outcome = decodeKind('AutoscalingPolicy', object('AutoscalingPolicy.qwen3-8b'));
    if (outcome.kind === 'invalid') throw new Error('invalid');
    const { params } = outcome.value.spec.heterogeneousTarget!;
    expect(
      params!.map(({ target, cost, minReplicas, maxReplicas }) => [target!.targetRef.name, cost, minReplicas, maxReplicas]),
    ).toEqual([
      ['qwen3-8b-h100', 410, 0, 4],
      ['qwen3-8b-l40s', 120, 1, 8],
    ]);
  });
});
