import { decodeKind } from '../../src/api/decode-object';
import { type EnginePlan, expandWorkload, planEngine } from '../../src/expand';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/lora-tenants', () => {
  const files = runExample('lora-tenants', temporaryFolder());
  const object = (name: string) => readManifests(files[`lora-tenants/models/${name}.yaml`]!, name).objects[0]!.object;
  const pod = (deployment: string) => expandWorkload(object(`Deployment.${deployment}`))!.pods[0]!.pod;
  const plan = (deployment: string): EnginePlan | undefined => planEngine(pod(deployment), { modelServers: [], modelRoutes: [] });

  it('synthesizes the same bytes twice', () => {
    expect(runExample('lora-tenants', temporaryFolder())).toEqual(files);
  });

  it('makes what it made before; a difference here restarts or replaces something in every cluster', () => {
    // The platform is that of the quickstart.
    const models = Object.entries(files).filter(([path]) => path.startsWith('lora-tenants/models/'));
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it('describes engines that the preview can start with all adapters', () => {
    expect(Object.keys(plan('assistant-l40s')!.adapters)).toEqual([
      'assistant-bank',
      'assistant-clinic',
      'assistant-court',
      'assistant-school',
    ]);
    expect(plan('assistant-l40s')).toMatchObject({ servedModelNames: ['assistant'], maxLoras: 4, maxLoraRank: 32 });
  });

  it('routes the names of all tenants to them', () => {
    expect(decodeKind('ModelRoute', object('ModelRoute.assistant'))).toMatchObject({
      kind: 'valid',
      value: { spec: { modelName: 'assistant', loraAdapters: Object.keys(plan('assistant-l40s')!.adapters) } },
    });
  });
});
