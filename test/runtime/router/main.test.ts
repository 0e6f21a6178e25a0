import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { routerMain } from '../../../runtime/router/main';
import { chatBody, send, TestEngine } from '../../helpers/router-harness';

const ROOT = join(__dirname, '../../..');

async function complaint(argv: readonly string[]): Promise<{ status: number; text: string }> {
  let text = '';
  const spy = jest.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  try {
    return { status: await routerMain(argv), text };
  } finally {
    spy.mockRestore();
  }
}

describe('the router’s command line', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kvasir-router-main-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it.each([
    [
      ['--cluster', 'kubernetes', '--kubeconfig', '/none'],
      1,
      /^\/none: --kubeconfig: the kubeconfig cannot be used: ENOENT.*\n$/,
    ],
    [['--cluster', '.', '--context', 'x'], 1, /^--context: is for a Kubernetes API, .* \[cluster\/flags\]\n$/],
    [['--cluster', '.', '--listen', 'nowhere'], 1, /^--listen: "nowhere" is no address to listen on; write host:port, .*\n$/],
    [['--cluster', '.', '--config', '/none.yaml'], 1, /^\/none\.yaml: --config: cannot be read \(ENOENT\); .*\n$/],
    [[], 2, /--cluster/],
    [['--cluster', '.', '--nonsense'], 2, /unknown option/],
  ])('%j ends with %i and one line', async (argv, status, expected) => {
    const said = await complaint(argv);
    expect(said.status).toBe(status);
    expect(said.text).toMatch(expected);
  });

  it('names file, field and remedy of a wrong configuration', async () => {
    const file = join(folder, 'config.yaml');
    writeFileSync(file, 'limits: {bodyByte: 1}');
    expect(await complaint(['--cluster', folder, '--config', file])).toEqual({
      status: 1,
      text: `${file}: limits.bodyByte: is no field of the router configuration; use one of bodyBytes, bodyBudgetBytes, jsonDepth, requestsInFlight, shadowRequestsInFlight [config/unknown-field]\n`,
    });
  });

  it('does not start open where the configuration asks for tokens and not for whose', async () => {
    const file = join(folder, 'config.yaml');
    writeFileSync(file, 'auth: {jwksUri: "http://127.0.0.1/keys"}');
    const any = ['--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0', '--debug-listen', '127.0.0.1:0'];
    const said = await complaint(['--cluster', folder, '--config', file, ...any]);
    expect([said.status, said.text]).toEqual([1, expect.stringContaining('[config/auth-incomplete]')]);
  });

  it('serves a folder of manifests, logs each request, and ends cleanly at SIGTERM', async () => {
    const engine = await new TestEngine((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{}');
    }).start();
    writeFileSync(
      join(folder, 'objects.yaml'),
      `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelServer
metadata: {name: engine}
spec: {inferenceEngine: vLLM, workloadSelector: {matchLabels: {app: engine}}, workloadPort: {port: ${engine.port}}}
---
apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: {name: m}
spec: {modelName: m, rules: [{targetModels: [{modelServerName: engine}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: engine-0, labels: {app: engine}}
spec: {containers: [{name: engine, image: engine}]}
status: {podIP: 127.0.0.1}
`,
    );
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ drain: { announceMs: 50 } }));
    const flags = ['--listen', '--metrics-listen', '--debug-listen'].flatMap((flag) => [flag, '127.0.0.1:0']);
    const child = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        'runtime/router/main.ts',
        '--cluster',
        join(folder, 'objects.yaml'),
        '--config',
        join(folder, 'config.json'),
        ...flags,
      ],
      { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.on('exit', () => reject(new Error(err)));
      child.stderr.on('data', (chunk) => {
        err += String(chunk);
        const match = /"listen":"127\.0\.0\.1:(\d+)"/.exec(err);
        if (match !== null) resolve(Number(match[1]));
      });
    });
    const url = `http://127.0.0.1:${port}`;
    for (let tries = 0; (await send(url, '/readyz')).status !== 200 && tries < 100; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await send(url, '/v1/chat/completions', chatBody())).status).toBe(200);
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(out).toMatch(/^\[.*\] "POST \/v1\/chat\/completions HTTP\/1\.1" 200 model_name=m .*selected_pod=engine-0 .*\n$/);
    await engine.kill();
  });
});
