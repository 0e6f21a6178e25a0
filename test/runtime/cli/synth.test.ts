import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../../helpers/run-cli';
import { RUN_MAIN, stackProject } from '../../helpers/stack-project';
import { filesUnder, temporaryFolders } from '../../helpers/temporary-folder';

const temporaryFolder = temporaryFolders();
const start = process.cwd();
const variables = ['CDK8S_OUTDIR', 'KVASIR_OUTDIR', 'KVASIR_SYNTH_REPORT'];

/** Two apps with a ConfigMap each; `second` may add to the second one. */
const stack = (text: string, second = ''): string => `
import { ApiObject, Chart } from 'cdk8s';
import { GitOpsApp } from 'kvasir';
for (const folder of ['east', 'west']) {
  const app = new GitOpsApp({ folder });
  const chart = new Chart(app, 'web');
  new ApiObject(chart, 'c', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { text: '${text}' } });
  if (folder === 'west') { ${second} }
  app.synth();
}
`;
const BROKEN = `new ApiObject(chart, 's', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { key: 'x' } });`;
const MOVING = `new ApiObject(chart, 'p', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'tools' }] } });`;

/** A project in a new folder, which becomes the current one. */
function project(main: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = temporaryFolder();
  stackProject(folder, { 'main.ts': main, 'cdk8s.yaml': `language: typescript\napp: ${RUN_MAIN}\n`, ...files });
  process.chdir(folder);
  return folder;
}

function output(folder: string, name = 'dist'): Readonly<Record<string, string>> {
  return filesUnder(join(folder, name));
}

describe('kvasir synth', () => {
  const saved = variables.map((name) => [name, process.env[name]] as const);
  beforeEach(() => {
    for (const name of variables) delete process.env[name];
  });
  afterEach(() => {
    process.chdir(start);
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  it('runs what cdk8s.yaml says, tells what each app wrote, and leaves nothing else behind', async () => {
    const folder = project(stack('one'));
    const first = await runCli('synth');
    expect(first.lines).toEqual([
      'east: objects: 1 written, 0 removed, 0 unchanged',
      'west: objects: 1 written, 0 removed, 0 unchanged',
      'dist: files: 4 written, 0 removed',
    ]);
    expect(first.code).toBe(0);
    expect(Object.keys(output(folder))).toEqual([
      'east/.kvasir-index',
      'east/web/ConfigMap.c.yaml',
      'west/.kvasir-index',
      'west/web/ConfigMap.c.yaml',
    ]);
    const again = await runCli('synth', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      output: 'dist',
      succeeded: true,
      written: [],
      removed: [],
      apps: [{ folder: 'east', unchanged: 1 }, { folder: 'west' }],
    });
    expect(readdirSync(folder).sort()).toEqual(['cdk8s.yaml', 'dist', 'main.ts', 'node_modules']);
  });

  it('leaves the folder byte-identical when the last of several apps fails, and prints each finding as one line', async () => {
    const folder = project(stack('one'));
    await runCli('synth');
    writeFileSync(join(folder, 'dist/east/web/notes.txt'), 'foreign');
    const before = output(folder);
    writeFileSync(join(folder, 'main.ts'), stack('two', `console.log('a word of the stack'); ${MOVING} ${BROKEN}`));
    const { code, lines, stdout } = await runCli('synth', '--json');
    expect(code).toBe(1);
    expect(lines).toEqual([
      'a word of the stack',
      expect.stringMatching(/^warning: web\/p \(Pod default\/p\): .*\[images\/mutable-tag\]$/),
      expect.stringMatching(/^error: web\/s \(Secret default\/s\): stringData: .*\[secrets\/in-output\]$/),
      expect.stringMatching(
        /^error: .*main\.ts: one error; dist is as it was; mend what the lines above name \[cli\/synth-failed\]$/,
      ),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ succeeded: false, written: [], removed: [] });
    expect(output(folder)).toEqual(before);
    expect(readdirSync(folder).sort()).toEqual(['cdk8s.yaml', 'dist', 'main.ts', 'node_modules']);
  });

  it('removes what the stack makes no more, and never a file that is not its own or a .git', async () => {
    const folder = project(stack('one', MOVING.replace("'tools'", "'tools:1'")));
    mkdirSync(join(folder, 'out/.git'), { recursive: true });
    writeFileSync(join(folder, 'out/.git/HEAD'), 'ref');
    writeFileSync(join(folder, 'out/README.md'), 'by hand');
    await runCli('synth', '--output', 'out');
    expect(Object.keys(output(folder, 'out'))).toContain('west/web/Pod.p.yaml');
    writeFileSync(join(folder, 'main.ts'), stack('one'));
    expect((await runCli('synth', '--output', 'out')).lines.at(-1)).toBe('out: files: 1 written, 1 removed');
    expect(Object.keys(output(folder, 'out'))).toEqual([
      '.git/HEAD',
      'README.md',
      'east/.kvasir-index',
      'east/web/ConfigMap.c.yaml',
      'west/.kvasir-index',
      'west/web/ConfigMap.c.yaml',
    ]);
  });

  it('names the real folder when a foreign file is in the way', async () => {
    const folder = project(stack('one'), { 'dist/west/web/ConfigMap.c.yaml': 'by hand' });
    const before = output(folder);
    const { code, lines } = await runCli('synth');
    expect(code).toBe(1);
    expect(lines.join('\n')).toContain('a file that synth did not write is in the way: dist/west/web/ConfigMap.c.yaml;');
    expect(lines.join('\n')).not.toContain('.kvasir-synth-');
    expect(output(folder)).toEqual(before);
  });

  it('accepts an outdir that is the output folder, and refuses another in one line', async () => {
    const withOutdir = (outdir: string) => stack('one').replace('{ folder }', `{ folder, outdir: '${outdir}' }`);
    const folder = project(withOutdir('manifests'));
    expect((await runCli('synth', '--output', 'manifests')).code).toBe(0);
    expect(Object.keys(output(folder, 'manifests'))).toHaveLength(4);
    const { code, lines } = await runCli('synth');
    expect(code).toBe(1);
    expect(lines.join('\n')).toMatch(/says manifests, and CDK8S_OUTDIR says .*dist; leave outdir out/);
  });

  it.each([
    ['a stack that ends with a status', 'process.exit(3);', /: ended with 3; dist is as it was; .*\[cli\/synth-failed\]$/],
    ['a stack that writes nothing', '', /: wrote nothing to dist; call app\.synth\(\) at its end.*\[cli\/synth-failed\]$/],
  ])('tells %s in one line', async (_, main, line) => {
    project(main);
    const { code, lines } = await runCli('synth');
    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(line)]);
  });

  it('ends the stack and changes nothing when it is interrupted', async () => {
    const folder = project('', { 'dist/own.txt': 'x' });
    const started = join(folder, 'started');
    const running = runCli('synth', '--app', `touch ${started}; sleep 60 & wait`);
    while (!existsSync(started)) await new Promise((resolve) => setTimeout(resolve, 10));
    process.emit('SIGINT', 'SIGINT');
    const { code, lines } = await running;
    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(/: was interrupted; dist is as it was; run it again \[cli\/synth-failed\]$/)]);
    expect(output(folder)).toEqual({ 'own.txt': 'x' });
    expect(readdirSync(folder).sort()).toEqual(['cdk8s.yaml', 'dist', 'main.ts', 'node_modules', 'started']);
  });

  it.each([
    ['no cdk8s.yaml', undefined, /^error: cdk8s\.yaml: app: does not say how the stack is run; .*\[cli\/no-app\]$/],
    ['one without app', 'language: typescript\n', /\[cli\/no-app\]$/],
    ['one that is malformed', 'app: [\n', /^error: cdk8s\.yaml: .*\[cli\/settings\]$/],
    ['one whose app is a list', 'app: [a]\n', /app is no text.*\[cli\/settings\]$/],
  ])('needs to know what to run: %s', async (_, settings, line) => {
    const folder = temporaryFolder();
    if (settings !== undefined) writeFileSync(join(folder, 'cdk8s.yaml'), settings);
    process.chdir(folder);
    const { code, lines } = await runCli('synth');
    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(line)]);
  });
});
