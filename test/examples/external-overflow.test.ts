import { checkReferences } from '../../src/checks/references';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/external-overflow', () => {
  const files = runExample('external-overflow', temporaryFolder());
  const models = Object.entries(files).filter(([path]) => path.startsWith('external-overflow/models/'));

  it('makes of its models what it made before', () => {
    expect(models.map(([path, content]) => `${path}\n${content}`).join('\n')).toMatchSnapshot();
  });

  it('sends only what is marked as public to the provider, and holds no credential', () => {
    const objects = models.flatMap(([path, content]) => readManifests(content, path).objects);
    expect(checkReferences(objects)).toEqual([]);
    const [route] = objects.filter(({ object }) => object.kind === 'ModelRoute');
    expect(route!.object).toMatchObject({
      spec: {
        rules: [
          {
            modelMatch: { headers: { 'x-data-class': { exact: 'public' } } },
            targetModels: [
              { modelServerName: 'qwen3-8b', weight: 80 },
              { externalModelProviderName: 'cloud', weight: 20 },
            ],
          },
          { name: 'stays', targetModels: [{ modelServerName: 'qwen3-8b', weight: 100 }] },
        ],
      },
    });
    expect(objects.some(({ object }) => object.kind === 'Secret')).toBe(false);
  });
});
