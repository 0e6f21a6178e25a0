import type { KubeObject } from '../../src/api/meta';
import { readManifests } from '../../src/read-manifests';
import { runExample } from '../helpers/run-example';
import { temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

describe('examples/production-platform', () => {
  const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const files = runExample('production-platform', temporaryFolder());
  const said = stderr.mock.calls.map(([text]) => String(text));
  stderr.mockRestore();
  const objects = Object.entries(files)
    .filter(([path]) => path.endsWith('.yaml'))
    .flatMap(([path, content]) => readManifests(content, path).objects.map(({ object }) => object));
  const of = (kind: string): readonly (KubeObject & { readonly spec?: unknown })[] =>
    objects.filter((object) => object.kind === kind);

  it('makes what it made before; a difference here restarts or replaces something in every cluster', () => {
    // The content of definitions, admission rules, alerts and dashboards is tested with them.
    const documents = Object.entries(files).map(([path, content]) =>
      /\/(?:CustomResourceDefinition|ValidatingAdmissionPolicy|PrometheusRule|ConfigMap\.(?:argocd-cm|kvasir-dashboard))\./.test(
        path,
      )
        ? path
        : `${path}\n${content}`,
    );
    expect(documents.join('\n')).toMatchSnapshot();
  });

  it('has nothing to say at synth', () => {
    expect(said).toEqual([]);
  });

  it('takes every image from the house registry', () => {
    const images = [...JSON.stringify(objects).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image!);
    expect(images.length).toBeGreaterThan(3);
    expect(images.filter((image) => !image.startsWith('registry.example.com/'))).toEqual([]);
  });

  it('leaves the replicas of scaled models, and nothing else of them, to the autoscaler', () => {
    const spec = of('Application')[0]!.spec as { ignoreDifferences: readonly unknown[] };
    expect(spec.ignoreDifferences).toEqual(
      ['assistant-l40s', 'chat-h100'].map((name) => ({
        group: 'apps',
        kind: 'Deployment',
        namespace: 'llm',
        name,
        jsonPointers: ['/spec/replicas'],
      })),
    );
    const scaled = of('Deployment').filter(({ metadata }) => metadata.namespace === 'llm');
    expect(scaled.map(({ spec }) => 'replicas' in (spec as object))).toEqual([false, false]);
  });

  it('closes both namespaces, and has no Secret in it', () => {
    expect(of('NetworkPolicy').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(
      expect.arrayContaining(['kvasir-system/kvasir-default-deny', 'llm/kvasir-default-deny']),
    );
    expect(of('Secret')).toEqual([]);
  });
});
