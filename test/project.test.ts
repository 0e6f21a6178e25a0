import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

describe('the lock file', () => {
  const packages = Object.keys((JSON.parse(read('package-lock.json')) as { packages: Record<string, unknown> }).packages);

  it.each([
    ['esbuild', (platform: string, cpu: string) => `node_modules/@esbuild/${platform}-${cpu}`],
    ['swc', (platform: string, cpu: string) => `node_modules/@swc/core-${platform}-${cpu}${platform === 'linux' ? '-gnu' : ''}`],
    ['Biome', (platform: string, cpu: string) => `node_modules/@biomejs/cli-${platform}-${cpu}`],
    ['TypeScript', (platform: string, cpu: string) => `node_modules/@typescript/typescript-${platform}-${cpu}`],
  ])('carries the platform packages of %s for Linux and macOS on both architectures', (_name, packageOf) => {
    const wanted = ['linux', 'darwin'].flatMap((platform) => ['x64', 'arm64'].map((cpu) => packageOf(platform, cpu)));
    expect(wanted.filter((name) => !packages.includes(name))).toEqual([]);
  });

  it('does not say where packages were downloaded from', () => {
    expect(read('package-lock.json')).not.toContain('"resolved"');
    expect(read('.npmrc')).toContain('omit-lockfile-registry-resolved=true');
  });
});

describe('the package', () => {
  const manifest = JSON.parse(read('package.json')) as {
    exports: Record<string, unknown>;
    typesVersions: Record<string, Record<string, unknown>>;
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };

  it('offers the constructs, the contract, the test kit and the simulator, also to old module resolution', () => {
    expect(Object.keys(manifest.exports).sort()).toEqual(['.', './api', './package.json', './simulator', './testing']);
    expect(Object.keys(manifest.typesVersions['*']!).sort()).toEqual(['api', 'simulator', 'testing']);
  });

  it('pins every dependency exactly', () => {
    const all = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});

describe('the command on a Node version that it does not support', () => {
  it.each(['18.20.8', '20.18.0', '25.0.0'])(
    'says so for %s in one line that names what to install, and ends with 1',
    (version) => {
      const fake = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require('./bin/kvasir.js');`;
      const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', fake], { cwd: root, encoding: 'utf8' });
      expect({ status, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ status: 1, stdout: '', lines: 1 });
      expect(stderr).toContain(version);
      expect(stderr).toContain('20.19 to 24');
    },
  );
});
