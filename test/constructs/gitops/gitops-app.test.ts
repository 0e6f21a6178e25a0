import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ApiObject, Chart, Yaml } from 'cdk8s';
import { ArgoApplication, GitOpsApp, type GitOpsAppProps } from '../../../constructs';
import { FindingsError } from '../../../constructs/findings';
import { sampleStack } from '../../helpers/sample-stack';
import { filesUnder, temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();
const quiet = (): void => {};

function configMaps(props: GitOpsAppProps, names: readonly string[]): GitOpsApp {
  const app = new GitOpsApp({ report: quiet, ...props });
  const chart = new Chart(app, 'web', { namespace: 'site' });
  for (const name of names)
    new ApiObject(chart, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text: name } });
  return app;
}

/** An object that no check lets pass. */
function addBroken(app: GitOpsApp): void {
  const chart = new Chart(app, 'broken');
  new ApiObject(chart, 'route', {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelRoute',
    metadata: { name: 'route' },
    spec: { modelName: 'm', rules: [], rulez: [] },
  });
}

describe('GitOpsApp.synth', () => {
  it('writes a folder per chart, a file per object, and the index of its files', () => {
    const outdir = temporaryFolder();
    configMaps({ outdir, folder: 'prod' }, ['a', 'b']).synth();
    expect(Object.keys(filesUnder(outdir))).toEqual([
      'prod/.kvasir-index',
      'prod/web/ConfigMap.a.yaml',
      'prod/web/ConfigMap.b.yaml',
    ]);
    expect(filesUnder(outdir)['prod/.kvasir-index']).toMatch(/^#.*\nweb\/ConfigMap\.a\.yaml\nweb\/ConfigMap\.b\.yaml\n$/);
  });

  it('writes the same bytes for the same stack, and touches no file the second time', () => {
    const outdir = temporaryFolder();
    const first = sampleStack({ outdir, report: quiet }).app.synth();
    const files = filesUnder(outdir);
    const times = Object.keys(files).map((path) => statSync(join(outdir, path)).ino);
    const second = sampleStack({ outdir, report: quiet }).app.synth();
    expect(filesUnder(outdir)).toEqual(files);
    expect(Object.keys(files).map((path) => statSync(join(outdir, path)).ino)).toEqual(times);
    expect(first.written.length).toBe(Object.keys(files).length - 1);
    expect(second).toEqual({ written: [], removed: [], unchanged: first.written.length });
  });

  it('names every file in its way that it did not write, and overwrites those that may go', () => {
    const outdir = temporaryFolder();
    mkdirSync(join(outdir, 'web'));
    for (const name of ['a', 'b']) writeFileSync(join(outdir, `web/ConfigMap.${name}.yaml`), 'by hand');
    const app = configMaps({ outdir }, ['a', 'b', 'c']);
    const codes = (stack: GitOpsApp): readonly string[] => {
      try {
        stack.synth();
        return [];
      } catch (error) {
        return (error as FindingsError).findings.map(({ code, object }) => `${code} ${object}`);
      }
    };
    const inTheWay = ['a', 'b'].map((name) => `gitops/foreign-file web/${name} (ConfigMap site/${name})`);
    expect(codes(app)).toEqual(inTheWay);
    const [a, b] = app.node.findChild('web').node.children;
    app.findings.acknowledge('gitops/foreign-file', a!, 'the old tool wrote it');
    expect(codes(app)).toEqual(inTheWay.slice(1));
    expect(Object.values(filesUnder(outdir))).toEqual(['by hand', 'by hand']);
    app.findings.acknowledge('gitops/foreign-file', b!, 'the old tool wrote it');
    expect(app.synth().written).toHaveLength(3);
    // It is about the folder, so that the object does not carry it.
    expect(Object.values(filesUnder(outdir)).join('')).not.toMatch(/by hand|acknowledged/);
    expect(app.check().open.map(({ code }) => code)).toEqual(Array(2).fill('findings/unused-acknowledgement'));
  });

  it("writes files that differ in letters' case only where that is acknowledged", () => {
    const outdir = temporaryFolder();
    const app = configMaps({ outdir }, ['a', 'A']);
    expect(() => app.synth()).toThrow(/gitops\/file-case/);
    app.findings.acknowledge('gitops/file-case', app, 'nobody checks it out on such a system');
    expect(new Set(app.synth().written)).toEqual(new Set(['web/ConfigMap.A.yaml', 'web/ConfigMap.a.yaml']));
  });

  it('writes the same bytes when the stack makes its charts and objects in another order', () => {
    const [forward, backward] = [temporaryFolder(), temporaryFolder()];
    const make = (outdir: string, names: readonly string[]) => {
      const app = new GitOpsApp({ outdir, report: quiet });
      for (const name of names) {
        const chart = new Chart(app, name, { namespace: name });
        for (const part of names)
          new ApiObject(chart, part, {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: part },
            data: { b: part, a: '1' },
          });
      }
      new ArgoApplication(new Chart(app, 'argocd'), 'all', { source: { repoUrl: 'https://git.example.com/r.git', path: '.' } });
      for (const name of names)
        new ApiObject(app.node.findChild(name), 'hpa', {
          apiVersion: 'autoscaling/v2',
          kind: 'HorizontalPodAutoscaler',
          metadata: { name: 'hpa' },
          spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } },
        });
      app.synth();
    };
    make(forward, ['x', 'y', 'z']);
    make(backward, ['z', 'y', 'x']);
    expect(filesUnder(backward)).toEqual(filesUnder(forward));
  });

  it('removes files that it wrote and no longer makes, with folders that become empty', () => {
    const outdir = temporaryFolder();
    configMaps({ outdir }, ['a', 'b']).synth();
    expect(configMaps({ outdir }, ['b']).synth().removed).toEqual(['web/ConfigMap.a.yaml']);
    expect(Object.keys(filesUnder(outdir))).toEqual(['.kvasir-index', 'web/ConfigMap.b.yaml']);
    new GitOpsApp({ outdir }).synth();
    expect(readdirSync(outdir)).toEqual(['.kvasir-index']);
  });

  it('leaves foreign files and .git alone', () => {
    const outdir = temporaryFolder();
    for (const folder of ['.git', 'web']) mkdirSync(join(outdir, folder));
    for (const path of ['.git/HEAD', 'README.md', 'web/own.yaml', 'web/kustomization.yml'])
      writeFileSync(join(outdir, path), path);
    configMaps({ outdir }, ['a']).synth();
    new GitOpsApp({ outdir }).synth();
    expect(Object.keys(filesUnder(outdir))).toEqual([
      '.git/HEAD',
      '.kvasir-index',
      'README.md',
      'web/kustomization.yml',
      'web/own.yaml',
    ]);
  });

  it('leaves the folder as it was when a check fails, and names every error with its construct path', () => {
    const outdir = temporaryFolder();
    configMaps({ outdir }, ['a']).synth();
    const before = filesUnder(outdir);
    const app = configMaps({ outdir }, ['changed']);
    addBroken(app);
    app.node.addValidation({ validate: () => ['the whole app is odd'] });
    expect(() => app.synth()).toThrow(FindingsError);
    expect(() => app.synth()).toThrow(/broken\/route \(ModelRoute default\/route\): spec\.rulez: .*rules/);
    expect(() => app.synth()).toThrow(/the whole app is odd/);
    expect(filesUnder(outdir)).toEqual(before);
    expect(readdirSync(join(outdir, '..')).filter((name) => name.includes('.kvasir-'))).toEqual([]);
  });

  it('throws an error that prints its lines once and no stack of its own', () => {
    const app = configMaps({ outdir: temporaryFolder() }, []);
    addBroken(app);
    let printed = '';
    try {
      app.synth();
    } catch (error) {
      printed = inspect(error);
      expect((error as FindingsError).findings.map(({ code }) => code)).toContain('schema/unknown-field');
    }
    expect(printed).toContain('spec.rulez');
    expect(printed).not.toMatch(/ {4}at |findings: \[/);
  });

  it('creates nothing at all when the first synth fails', () => {
    const outdir = join(temporaryFolder(), 'new');
    const app = configMaps({ outdir }, ['a']);
    addBroken(app);
    expect(() => app.synth()).toThrow(FindingsError);
    expect(existsSync(outdir)).toBe(false);
  });

  it('lets an error through that was acknowledged with a reason, and reports warnings as lines', () => {
    const outdir = temporaryFolder();
    const lines: string[] = [];
    const app = new GitOpsApp({ outdir, report: (line) => lines.push(line) });
    const chart = new Chart(app, 'jobs');
    const pod = { containers: [{ name: 'a', image: 'tools:latest' }] };
    const first = new ApiObject(chart, 'first', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'first' }, spec: pod });
    new ApiObject(chart, 'second', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'second' }, spec: pod });
    app.findings.acknowledge('images/mutable-tag', first, 'pulled once, by hand');
    app.synth();
    expect(lines).toEqual([
      'warning: jobs/second (Pod default/second): spec.containers[0].image: tools:latest has the moving tag latest; write a release tag or a digest [images/mutable-tag]',
    ]);
    expect(app.check().acknowledged).toEqual([
      { reason: 'pulled once, by hand', finding: expect.objectContaining({ object: 'jobs/first (Pod default/first)' }) },
    ]);
  });

  it('makes warnings errors when strict', () => {
    const outdir = temporaryFolder();
    const app = new GitOpsApp({ outdir, strict: true });
    new ApiObject(new Chart(app, 'jobs'), 'p', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ image: 'tools' }] },
    });
    expect(() => app.synth()).toThrow(/images\/mutable-tag/);
  });

  it('writes objects of nested charts into nested folders, and takes numbers and texts as kubectl reads them', () => {
    const outdir = temporaryFolder();
    const app = new GitOpsApp({ outdir, report: quiet });
    const inner = new Chart(new Chart(app, 'outer'), 'inner');
    new ApiObject(inner, 'c', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c' },
      data: { octal: '0777', yes: 'yes', n: 'n' },
    });
    app.synth();
    const files = filesUnder(outdir);
    expect(Object.keys(files)).toEqual(['.kvasir-index', 'outer/inner/ConfigMap.c.yaml']);
    expect(files['outer/inner/ConfigMap.c.yaml']).toContain('"n": "n"');
    expect(Yaml.load(join(outdir, 'outer/inner/ConfigMap.c.yaml'))).toMatchObject([
      { data: { n: 'n', octal: '0777', yes: 'yes' } },
    ]);
  });
});

describe('the output folder', () => {
  const saved = process.env.CDK8S_OUTDIR;
  afterEach(() => {
    if (saved === undefined) delete process.env.CDK8S_OUTDIR;
    else process.env.CDK8S_OUTDIR = saved;
  });

  it.each([
    ['dist when nothing is said', undefined, {}, 'dist'],
    ['the folder under dist', undefined, { folder: 'prod' }, 'dist/prod'],
    ['the folder under CDK8S_OUTDIR', '/tmp/x', { folder: 'prod' }, '/tmp/x/prod'],
    ['outdir', undefined, { outdir: 'manifests', folder: 'a/b' }, 'manifests/a/b'],
    ['outdir that says the same as CDK8S_OUTDIR', '/tmp/x', { outdir: '/tmp/x/' }, '/tmp/x'],
  ])('is %s', (_, environment, props, expected) => {
    if (environment === undefined) delete process.env.CDK8S_OUTDIR;
    else process.env.CDK8S_OUTDIR = environment;
    expect(new GitOpsApp(props).outdir.replace(/\/$/, '')).toBe(expected);
  });

  it.each([
    [
      'an outdir that contradicts CDK8S_OUTDIR',
      { outdir: '/tmp/y' },
      /CDK8S_OUTDIR says \/tmp\/x.*\[gitops\/two-output-folders\]/,
    ],
    ['a folder above it', { folder: '../prod' }, /gitops\/folder-outside/],
    ['a folder that only looks to be inside', { folder: 'a/../../prod' }, /gitops\/folder-outside/],
    ['an absolute folder', { folder: '/prod' }, /gitops\/folder-outside/],
  ])('cannot be %s', (_, props, message) => {
    process.env.CDK8S_OUTDIR = '/tmp/x';
    expect(() => new GitOpsApp(props)).toThrow(message);
  });
});
