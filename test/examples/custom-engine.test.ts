import { decodeKind } from '../../src/api/decode-object';
import { type EnginePlan, expandWorkload, planEngine } from '../../src/expand';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/custom-engine', () => {
  const files = runExample('custom-engine', temporaryFolder());
  const object = (name: string) => readManifests(files[`custom-engine/models/${name}.yaml`]!, name).objects[0]!.object;
  const pod = (deployment: string) => expandWorkload(object(`Deployment.${deployment}`))!.pods[0]!.pod;
  const plan = (deployment: string): EnginePlan | undefined => planEngine(pod(deployment), { modelServers: [], modelRoutes: [] });

  it('synthesizes the same bytes twice', () => {
    expect(runExample('custom-engine', temporaryFolder())).toEqual(files);
  });

  it('makes what it made before; a difference here restarts or replaces something in every cluster', () => {
    // The platform is that of the quickstart.
    const models = Object.entries(files).filter(([path]) => path.startsWith('custom-engine/models/'));
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it('runs the command line as it was written, on nodes as the cloud labels them', () => {
    expect(pod('house-model-mi210').spec).toMatchObject({
      nodeSelector: { 'cloud.example.com/gpu-model': 'mi210' },
      containers: [
        {
          image: 'registry.example.com/ml/house-server:2.3.1',
          args: ['--weights=/models/house-model/v3', '--name=house-model', '--shards', '2', '--listen', '0.0.0.0:9000'],
          resources: { limits: { 'amd.com/gpu': '2' } },
          env: expect.arrayContaining([{ name: 'HSA_NO_SCRATCH_RECLAIM', value: '1' }]),
        },
      ],
    });
  });

  it('is started by the preview as the server that stands behind its name', () => {
    const server = decodeKind('ModelServer', object('ModelServer.house-model'));
    if (server.kind === 'invalid') throw new Error('invalid');
    const served = planEngine(pod('house-model-mi210'), { modelServers: [server.value], modelRoutes: [] });
    expect(served).toMatchObject({ engine: 'vllm', port: 9000, servedModelNames: ['house-model'], gpus: 2 });
    expect(plan('house-model-mi210')).toBeUndefined();
  });
});
