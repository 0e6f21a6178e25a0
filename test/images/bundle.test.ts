import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleAll } from '../../images/bundle';

const root = join(__dirname, '../..');
const manifests = join(root, 'test/fixtures/kthena-examples/kthena-router/LLM-Mock.yaml');

describe('the bundles, away from node_modules', () => {
  let out: string;
  beforeAll(async () => {
    out = mkdtempSync(join(tmpdir(), 'kvasir-bundles-'));
    await bundleAll(root, out);
  }, 60_000);
  afterAll(() => rmSync(out, { recursive: true, force: true }));

  it.each(['images/router', 'images/autoscaler', 'images/downloader', 'cli', 'simulator'])(
    '%s has the notices of the packages in it',
    (folder) => {
      const notices = readFileSync(join(out, folder, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
      expect(notices).toMatch(/^\S+ \d+\.\d+\.\d+\S* \((MIT|Apache-2\.0|ISC|BSD-\d-Clause|0BSD)\)/m);
      expect(notices).not.toContain('(undefined)');
    },
  );

  it.each(['images/router', 'images/autoscaler', 'images/downloader', 'cli', 'simulator'])(
    '%s is ASCII, since one character beyond Latin-1 doubles the memory of the whole text',
    (folder) => {
      const file = folder === 'simulator' ? 'index.js' : 'main.js';
      expect(/\P{ASCII}.{0,40}/u.exec(readFileSync(join(out, folder, file), 'utf8'))?.[0]).toBeUndefined();
    },
  );

  it.each(['router', 'autoscaler'])(
    'the %s image starts, says in one line that no cluster is there, and ends with 1',
    (image) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(out, 'images', image, 'main.js'), '--cluster', 'kubernetes'],
        {
          encoding: 'utf8',
          cwd: out,
          env: { PATH: process.env.PATH, HOME: out },
        },
      );
      expect({ status, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({ status: 1, stdout: '', lines: 1 });
      expect(stderr).toMatch(/kubeconfig/i);
    },
  );

  it.each([
    ['router', ['--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0', '--debug-listen', '127.0.0.1:0']],
    ['autoscaler', ['--metrics-listen', '127.0.0.1:0', '--debug-listen', '127.0.0.1:0']],
  ])('the %s image runs on a folder and ends with 0 on SIGTERM', async (image, flags) => {
    const child = spawn(process.execPath, [join(out, 'images', image, 'main.js'), '--cluster', manifests, ...flags], {
      cwd: out,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await lineOf(child, /"msg":"serving/);
    child.kill('SIGTERM');
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
  });

  it('the downloader image says in one line what is wrong, and ends with 1', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(out, 'images/downloader/main.js'), '--source', 'pvc://no/such'],
      {
        encoding: 'utf8',
        cwd: out,
        env: { HOME: out },
      },
    );
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^--source: \/no\/such is no folder; .*\n$/),
    });
  });

  it('the simulator is a library', () => {
    const script = "console.log(typeof require('./simulator/index.js').startEngine)";
    expect(spawnSync(process.execPath, ['-e', script], { cwd: out, encoding: 'utf8' }).stdout.trim()).toBe('function');
  });
});

function lineOf(child: ChildProcess, wanted: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr!.on('data', (bytes: Buffer) => {
      text += bytes.toString();
      if (wanted.test(text)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
}
