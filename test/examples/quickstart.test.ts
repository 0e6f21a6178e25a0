import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeKind } from '../../src/api/decode-object';
import { expandWorkload, planEngine } from '../../src/expand';
import { readManifests } from '../../src/read-manifests';
import { filesUnder, temporaryFolders } from '../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();

/** Runs the example as its own program does, with output in a new folder. */
function synthesize(): Readonly<Record<string, string>> {
  const outdir = temporaryFolder();
  const saved = process.env.CDK8S_OUTDIR;
  process.env.CDK8S_OUTDIR = outdir;
  try {
    jest.isolateModules(() => {
      jest.requireActual('../../examples/quickstart/main');
    });
  } finally {
    if (saved === undefined) delete process.env.CDK8S_OUTDIR;
    else process.env.CDK8S_OUTDIR = saved;
  }
  return filesUnder(outdir);
}

describe('examples/quickstart', () => {
  const files = synthesize();
  const text = (path: string) => files[`quickstart/${path}`]!;

  it('synthesizes the same bytes twice', () => {
    expect(synthesize()).toEqual(files);
  });

  it('makes what it made before; a difference here restarts or replaces something in every cluster', () => {
    // The content of the definitions is tested with the kinds.
    const documents = Object.entries(files).map(([path, content]) =>
      path.includes('/CustomResourceDefinition.') ? path : `${path}\n${content}`,
    );
    expect(documents.join('\n')).toMatchSnapshot();
  });

  it('describes an engine that the preview can start, and a policy that scales it', () => {
    const [deployment] = readManifests(text('models/Deployment.qwen3-8b-l40s.yaml'), 'deployment').objects;
    const [first] = expandWorkload(deployment!.object)!.pods;
    expect(planEngine(first!.pod, { modelServers: [], modelRoutes: [] })).toMatchObject({
      engine: 'vllm',
      model: 'Qwen/Qwen3-8B',
      servedModelNames: ['qwen3-8b'],
      port: 8000,
    });
    const [policy] = readManifests(text('models/AutoscalingPolicy.qwen3-8b.yaml'), 'policy').objects;
    expect(decodeKind('AutoscalingPolicy', policy!.object)).toMatchObject({
      kind: 'valid',
      value: {
        spec: { homogeneousTarget: { minReplicas: 1, maxReplicas: 4, target: { targetRef: { name: 'qwen3-8b-l40s' } } } },
      },
    });
  });

  it('is about thirty lines', () => {
    const lines = readFileSync(join(__dirname, '../../examples/quickstart/main.ts'), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(40);
  });
});
