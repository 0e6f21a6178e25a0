import { checkReferences } from '../../src/checks/references';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/canary', () => {
  const files = runExample('canary', temporaryFolder());
  const models = Object.entries(files).filter(([path]) => path.startsWith('canary/models/'));

  it('makes of its models what it made before', () => {
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it('sends testers and one of twenty requests to the new engine, copies to a candidate, by routes to servers that are there', () => {
    const objects = models.flatMap(([path, content]) => readManifests(content, path).objects);
    expect(checkReferences(objects)).toEqual([]);
    const route = objects.find(({ object }) => object.kind === 'ModelRoute')!.object;
    expect(route).toMatchObject({
      metadata: { name: 'qwen3-8b' },
      spec: {
        modelName: 'qwen3-8b',
        rules: [
          { modelMatch: { headers: { 'x-canary': { exact: 'always' } } }, targetModels: [{ modelServerName: 'qwen3-8b-next' }] },
          {
            targetModels: [
              { modelServerName: 'qwen3-8b', weight: 95 },
              { modelServerName: 'qwen3-8b-next', weight: 5 },
            ],
            shadow: { modelServerName: 'qwen3-8b-fp8-cache', percent: 10 },
          },
        ],
      },
    });
  });
});
