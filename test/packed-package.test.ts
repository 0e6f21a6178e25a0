import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { linkDependencies } from './helpers/link-dependencies';
import { packPackage } from './helpers/pack-package';
import { filesUnder, temporaryFolders } from './helpers/temporary-folder';
import { typeCheck } from './helpers/type-check';

const root = join(__dirname, '..');
const temporaryFolder = temporaryFolders();
const MIB = 1 << 20;

interface Manifest {
  readonly main: string;
  readonly types: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly typesVersions: { readonly '*': Readonly<Record<string, readonly [string]>> };
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

const STACK = `
import { Chart } from 'cdk8s';
import { Accelerator, Cluster, Engine, GitOpsApp, ModelBooster, ModelSource, NodeLabels } from 'kvasir';
const app = new GitOpsApp({
  folder: 'stack',
  cluster: Cluster.of({ kubernetes: '1.31', nodeLabels: NodeLabels.nvidia() }),
  images: { registry: 'registry.example.com/kvasir', tag: '1' },
});
const models = new Chart(app, 'models', { namespace: 'llm' });
new ModelBooster(models, 'chat', {
  source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
  engine: Engine.vllm('0.32.0'),
  pools: { l40s: { accelerator: Accelerator.L40S_48GB, gpusPerPod: 1, replicas: 1 } },
});
`;

/** What a program of a user does with every part of the package. */
const PROGRAM = `${STACK}
import { decodeKind, expandWorkload, planEngine } from 'kvasir/api';
import { matchers, synth } from 'kvasir/testing';
import { startEngine, wallClock } from 'kvasir/simulator';

export async function ask() {
  const objects = synth(models);
  const [replica] = expandWorkload(objects.get('Deployment', 'chat-l40s')).pods;
  const plan = planEngine(replica.pod, { modelServers: [], modelRoutes: [] });
  const engine = await startEngine({ plan, host: '127.0.0.1', port: 0, clock: wallClock(100) });
  const body = JSON.stringify({ model: 'chat', max_tokens: 3, messages: [{ role: 'user', content: 'Hello' }] });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch('http://127.0.0.1:' + engine.port + '/v1/chat/completions', { method: 'POST', headers, body });
  const { usage } = await answer.json();
  await engine.stop(0);
  const route = decodeKind('ModelRoute', objects.get('ModelRoute', 'chat')).kind;
  const matched = matchers.toContainObject(objects, { kind: 'ModelServer', metadata: { name: 'chat' } }).pass;
  console.log(JSON.stringify({ status: answer.status, tokens: usage.completion_tokens, route, matched }));
}
ask();
`;

const TYPED = `
import * as api from 'kvasir/api';
import * as simulator from 'kvasir/simulator';
import { matchers, synth } from 'kvasir/testing';
${STACK}
export const parts = [api, simulator];
expect.extend(matchers);
test('a stack', () => {
  expect(synth(models)).toContainObject({ kind: 'ModelRoute', metadata: { name: 'chat' } });
  const route: api.ModelRoute = synth(models).get('ModelRoute', 'chat');
  expect(route.spec.modelName).toBe('chat');
});
`;

/** The package, packed and unpacked again into the project of a user who has what it depends on and nothing of what it is built with. */
describe('the installed package', () => {
  let project: string;
  let installed: string;
  let files: string[];
  let packedBytes: number;

  beforeAll(async () => {
    project = temporaryFolder();
    const packed = await packPackage(temporaryFolder(), project);
    packedBytes = packed.bytes;
    execFileSync('tar', ['-xzf', packed.tarball], { cwd: project });
    installed = join(project, 'node_modules/kvasir');
    mkdirSync(dirname(installed));
    cpSync(join(project, 'package'), installed, { recursive: true });
    files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
    linkDependencies(project);
  }, 120_000);

  it('has every file that its manifest and its Dockerfiles name', () => {
    const exported = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default],
    );
    const named = [manifest.main, manifest.types, ...Object.values(manifest.bin), ...exported].map((path) =>
      path.replace('./', ''),
    );
    const dockerfiles = files.filter((path) => path.endsWith('Dockerfile'));
    const copied = dockerfiles.flatMap((path) =>
      [...readFileSync(join(installed, path), 'utf8').matchAll(/^COPY (\S+)/gm)].map((match) => match[1]!),
    );
    expect(dockerfiles.length).toBeGreaterThanOrEqual(2);
    expect([...named, ...copied].filter((path) => !existsSync(join(installed, path)))).toEqual([]);
  });

  it('has neither tests nor sources, and the notices of the packages in each bundle', () => {
    const folders = files.map((path) =>
      path
        .split('/')
        .slice(0, path.startsWith('dist/') ? 2 : 1)
        .join('/'),
    );
    expect([...new Set(folders)].sort()).toEqual([
      'LICENSE',
      'README.md',
      'bin',
      'dist/cli',
      'dist/constructs',
      'dist/examples',
      'dist/images',
      'dist/runtime',
      'dist/simulator',
      'dist/src',
      'docs',
      'examples',
      'images',
      'package.json',
    ]);
    const sources = files.filter((path) => /\.ts$/.test(path) && !/\.d\.ts$|^examples\//.test(path));
    expect(sources).toEqual([]);
    const bundles = files.filter((path) => /^dist\/(cli|simulator|images\/[^/]+)\/[^/]+\.js$/.test(path));
    expect(bundles.filter((path) => !files.includes(`${dirname(path)}/THIRD-PARTY-NOTICES.txt`))).toEqual([]);
    expect(packedBytes).toBeLessThan(5 * MIB);
  });

  it('tells old module resolution the same files of types as new', () => {
    const { '.': main, './package.json': _manifest, ...parts } = manifest.exports;
    const typesOf = (entry: unknown): string => (entry as { readonly types: string }).types.replace('./', '');
    expect(manifest.types).toBe(typesOf(main));
    expect(manifest.typesVersions['*']).toEqual(
      Object.fromEntries(Object.entries(parts).map(([name, entry]) => [name.slice(2), [typesOf(entry)]])),
    );
  });

  it('has types that need nothing else, with the strictest check of libraries, for CommonJS and ES modules', () => {
    const folder = join(project, 'types');
    mkdirSync(folder);
    writeFileSync(join(folder, 'stack.ts'), TYPED);
    writeFileSync(join(folder, 'module.mts'), TYPED);
    const typeRoots = [join(root, 'node_modules/@types')];
    expect(
      typeCheck(folder, { target: 'ES2017', lib: ['es2016'], types: ['node', 'jest'], typeRoots, skipLibCheck: false }),
    ).toEqual([]);
  });

  it.each([
    [
      'require',
      'program.cjs',
      PROGRAM.replace(/^import (\{.*\}) from ('.*');$/gm, 'const $1 = require($2);').replace('export ', ''),
    ],
    ['import', 'program.mjs', PROGRAM],
  ])('gives every name to %s, synthesizes, and answers as an engine', (_how, name, code) => {
    writeFileSync(join(project, name), code);
    const { stdout, stderr } = spawnSync(process.execPath, [name], { cwd: project, encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ status: 200, tokens: 3, route: 'valid', matched: true });
  });

  it('has the command, which runs what the example synthesizes, without a compiler', async () => {
    const env = { ...process.env, CDK8S_OUTDIR: project };
    const example = spawnSync(process.execPath, [join(installed, 'dist/examples/quickstart/main.js')], { cwd: project, env });
    expect(example.status).toBe(0);
    expect(Object.keys(filesUnder(join(project, 'quickstart')))).toContain('models/Deployment.qwen3-8b-l40s.yaml');

    const addresses = ['--listen', '--metrics-listen', '--debug-listen', '--autoscaler-debug-listen'].flatMap((flag) => [
      flag,
      '127.0.0.1:0',
    ]);
    const child = spawn(process.execPath, [join(installed, 'bin/kvasir.js'), 'preview', 'quickstart', ...addresses], {
      cwd: project,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const [, router] = await lineOf(child, /router at (http:\S+);/);
    const models = (await (await fetch(`${router}/v1/models`)).json()) as { readonly data: readonly { readonly id: string }[] };
    child.kill('SIGINT');
    expect(models.data.map(({ id }) => id)).toEqual(['qwen3-8b']);
    expect(await exited).toBe(0);
  });
});

function lineOf(child: ChildProcess, wanted: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr!.on('data', (bytes: Buffer) => {
      text += bytes.toString();
      const match = wanted.exec(text);
      if (match !== null) resolve(match);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
}
