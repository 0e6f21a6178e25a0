import { expandWorkload, planEngine } from '../../src/expand';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/prefill-decode', () => {
  const files = runExample('prefill-decode', temporaryFolder());
  const models = Object.entries(files).filter(([path]) => path.startsWith('prefill-decode/models/'));

  it('synthesizes the same bytes twice', () => {
    expect(runExample('prefill-decode', temporaryFolder())).toEqual(files);
  });

  it('makes what it made before; a difference here restarts or replaces something in every cluster', () => {
    // The platform is that of the quickstart.
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it.each(['prefill', 'decode'])('describes engines of the role %s that the preview can start', (role) => {
    const file = `prefill-decode/models/Deployment.llama-70b-0-${role}.yaml`;
    const [deployment] = readManifests(files[file]!, file).objects;
    const [first] = expandWorkload(deployment!.object)!.pods;
    expect(planEngine(first!.pod, { modelServers: [], modelRoutes: [] })).toMatchObject({
      engine: 'vllm',
      model: 'meta-llama/Llama-3.3-70B-Instruct',
      servedModelNames: ['llama-70b'],
      tensorParallelSize: 4,
      gpus: 4,
    });
  });
});
