import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packPackage } from './helpers/pack-package';
import { filesUnder, temporaryFolders } from './helpers/temporary-folder';

const VARIABLE = 'KVASIR_INSTALL_PACKAGE';
const MB = 1e6;
/** Asks the registry for several hundred packages, which CI can bear and a laptop on a train cannot. */
const isAsked = process.env.CI !== undefined || process.env[VARIABLE] !== undefined;
const temporaryFolder = temporaryFolders();

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** Runs a command as somebody does who sits before it: jest writes no new snapshots under CI. */
function run(folder: string, command: string, ...args: readonly string[]) {
  const { CI: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

function install(folder: string, ...packages: readonly string[]): void {
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder, stdio: 'pipe' });
}

/** Bytes of all files under `folder`. */
function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => lstatSync(join(folder, path)))
    .reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}

if (!isAsked) process.stderr.write(`skipped: set ${VARIABLE}=1 to install the package into a new project from the registry\n`);

/** The package from the first command that a user types. npm fetches what it and the project ask for. */
(isAsked ? describe : describe.skip)('a new project with the packed package', () => {
  let project: string;
  let addedBytes: number;

  beforeAll(async () => {
    const home = temporaryFolder();
    const { tarball } = await packPackage(temporaryFolder(), home);
    const { peerDependencies } = manifestOf(join(__dirname, '..'));
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'home', private: true }));
    install(home, ...Object.entries(peerDependencies).map(([name, range]) => `${name}@${range}`));
    const peersBytes = sizeOf(join(home, 'node_modules'));
    install(home, tarball);
    addedBytes = sizeOf(join(home, 'node_modules')) - peersBytes;

    project = join(home, 'platform');
    execFileSync('npx', ['kvasir', 'init', '--dir', project], { cwd: home, stdio: 'pipe' });
    const manifest = manifestOf(project);
    const dependencies = { ...manifest.dependencies, kvasir: `file:${tarball}` };
    writeFileSync(join(project, 'package.json'), JSON.stringify({ ...manifest, dependencies }));
    install(project);
    process.stderr.write(`the package adds ${(addedBytes / MB).toFixed(1)} MB to its peers\n`);
  }, 300_000);

  it('grows by less than 25 MB beyond the peers of the package', () => {
    expect(addedBytes).toBeGreaterThan(1 * MB);
    expect(addedBytes).toBeLessThan(25 * MB);
  });

  it('builds, with its own settings of the compiler and with those of the stock cdk8s template', () => {
    expect(run(project, 'npm', 'run', 'build')).toMatchObject({ status: 0 });
    const own = readFileSync(join(project, 'tsconfig.json'));
    cpSync(join(project, 'node_modules/cdk8s-cli/templates/typescript-app/tsconfig.json'), join(project, 'tsconfig.json'));
    expect(run(project, 'npx', 'tsc', '--noEmit')).toEqual({ status: 0, output: '' });
    writeFileSync(join(project, 'tsconfig.json'), own);
  }, 120_000);

  it('does not build with a wrong prop', () => {
    const main = readFileSync(join(project, 'main.ts'), 'utf8');
    writeFileSync(join(project, 'main.ts'), main.replace('gpusPerPod: 1', 'gpuPerPod: 1'));
    const { status, output } = run(project, 'npm', 'run', 'build');
    writeFileSync(join(project, 'main.ts'), main);
    expect(status).not.toBe(0);
    expect(output).toMatch(/^main\.ts\(\d+,\d+\): error TS2561: .* Did you mean to write 'gpusPerPod'\?$/m);
    // Each line that is marked as wrong must be; the compiler of the project is older than ours.
    cpSync(join(__dirname, 'types/stack.ts'), join(project, 'mistakes.ts'));
    const mistakes = run(project, 'npx', 'tsc', '--noEmit');
    rmSync(join(project, 'mistakes.ts'));
    expect(mistakes).toEqual({ status: 0, output: '' });
  }, 120_000);

  it('passes its own test, which writes a snapshot once and keeps to it', () => {
    expect(run(project, 'npm', 'test')).toMatchObject({ status: 0, output: expect.stringContaining('1 snapshot written') });
    expect(run(project, 'npm', 'test', '--', '--ci')).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^Snapshots: +1 passed, 1 total$/m),
    });
    const main = readFileSync(join(project, 'main.ts'), 'utf8');
    writeFileSync(join(project, 'main.ts'), main.replace('between(1, 2)', 'between(1, 3)'));
    const changed = run(project, 'npm', 'test', '--', '--ci');
    writeFileSync(join(project, 'main.ts'), main);
    expect(changed.status).not.toBe(0);
    expect(changed.output).toContain('1 snapshot failed');
  }, 120_000);

  it('is synthesized by `kvasir synth` and by `cdk8s synth` into the same valid files', () => {
    expect(run(project, 'npx', 'kvasir', 'synth')).toMatchObject({ status: 0 });
    const files = filesUnder(join(project, 'dist'));
    expect(Object.keys(files).filter((path) => path.startsWith('prod/models/')).length).toBeGreaterThanOrEqual(6);
    expect(run(project, 'npx', 'cdk8s', 'synth')).toMatchObject({ status: 0 });
    expect(filesUnder(join(project, 'dist'))).toEqual(files);
    expect(run(project, 'npx', 'kvasir', 'validate', '--strict', 'dist')).toMatchObject({ status: 0 });
  }, 120_000);
});
