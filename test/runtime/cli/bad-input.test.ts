import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../../../runtime/cli/main';

const examples = join(__dirname, '../../fixtures/kthena-examples/kthena-router');

const server = `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelServer
metadata: { name: qwen }
spec:
  workloadSelector: { matchLabels: { app: qwen } }
  workloadPort: { port: 8000 }
  inferenceEngine: vLLM
`;
const pods = `apiVersion: apps/v1
kind: Deployment
metadata: { name: qwen }
spec:
  replicas: 1
  selector: { matchLabels: { app: qwen } }
  template:
    metadata: { labels: { app: qwen } }
    spec: { containers: [{ name: engine, image: example.com/mock }] }
`;
const route = `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: { name: qwen }
spec:
  modelName: qwen
  rules: [{ targetModels: [{ modelServerName: qwen }] }]
`;

describe('bad input', () => {
  let folder: string;
  let written: string[];
  let taken: Server;
  let takenAddress: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kvasir-'));
    written = [];
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      written.push(
        ...String(text)
          .split('\n')
          .filter((line) => line !== ''),
      );
      return true;
    });
    taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    takenAddress = `127.0.0.1:${(taken.address() as { port: number }).port}`;
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    rmSync(folder, { recursive: true, force: true });
    await new Promise((resolve) => taken.close(resolve));
  });

  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  };
  const preview = (...flags: string[]): Promise<number> =>
    main([
      'preview',
      folder,
      '--listen',
      '127.0.0.1:0',
      '--metrics-listen',
      '127.0.0.1:0',
      '--debug-listen',
      '127.0.0.1:0',
      '--autoscaler-debug-listen',
      '127.0.0.1:0',
      ...flags,
    ]);

  it('malformed YAML is one line with file, line, and what to do; nothing can run, so it ends with 1', async () => {
    write({ 'server.yaml': 'apiVersion: v1\nkind: [Pod\n' });
    expect(await preview()).toBe(1);
    expect(written).toEqual([
      expect.stringMatching(/^error: .*server\.yaml:\d+: malformed YAML: .+; correct the syntax \[manifest\/malformed\]$/),
    ]);
  });

  it('an unknown field is one line with file, object, field and the nearest known name', async () => {
    write({
      'server.yaml': server.replace('inferenceEngine: vLLM', 'inferenceEngine: vLLM\n  trafficPolcy: {}'),
      'pods.yaml': pods,
      'route.yaml': route,
    });
    expect(await preview()).toBe(1);
    expect(written.filter((line) => line.includes('trafficPolcy'))).toEqual([
      expect.stringMatching(
        /^error: .*server\.yaml:1: ModelServer default\/qwen: spec\.trafficPolcy: unknown field "trafficPolcy"; did you mean "trafficPolicy"\?/,
      ),
    ]);
  });

  it('a misspelt required field is told once, not also as missing', async () => {
    write({ 'server.yaml': server.replace('workloadPort', 'workloadPrt'), 'pods.yaml': pods });
    expect(await preview()).toBe(1);
    expect(written).toEqual([expect.stringContaining('did you mean "workloadPort"?')]);
  });

  it('a folder that is not there is one line', async () => {
    expect(await main(['preview', join(folder, 'nowhere')])).toBe(1);
    expect(written).toEqual([expect.stringMatching(/nowhere: there is no such file or folder; check the path/)]);
  });

  it('a folder without a ModelServer says what is missing', async () => {
    write({ 'pods.yaml': pods });
    expect(await preview()).toBe(1);
    expect(written).toEqual([expect.stringMatching(/there is no ModelServer in these manifests; give a folder that has one/)]);
  });

  it('a taken port is one line that names the flag and the address, for preview and for the router alone', async () => {
    write({ 'server.yaml': server, 'pods.yaml': pods, 'route.yaml': route });
    expect(await preview('--listen', takenAddress)).toBe(1);
    expect(written).toEqual([
      expect.stringContaining(`--listen: another process listens on ${takenAddress}; stop it, or give another host:port`),
    ]);
    written.length = 0;
    expect(
      await main([
        'router',
        '--cluster',
        folder,
        '--listen',
        takenAddress,
        '--metrics-listen',
        '127.0.0.1:0',
        '--debug-listen',
        '127.0.0.1:0',
      ]),
    ).toBe(1);
    expect(written).toEqual([expect.stringContaining(`another process listens on ${takenAddress}`)]);
  });

  it.each([
    ['--listen', 'here'],
    ['--speed', '0'],
    ['--speed', 'fast'],
    ['--seed', '-1'],
    ['--load', 'storm'],
  ])('%s %s is refused in one line that names the flag', async (flag, value) => {
    write({ 'server.yaml': server, 'pods.yaml': pods, 'route.yaml': route });
    expect(await preview(flag, value)).toBeGreaterThan(0);
    expect(written).toEqual([expect.stringContaining(flag)]);
  });

  it.each(['router', 'autoscaler'])(
    '%s --cluster kubernetes says in one line what is wrong with the kubeconfig',
    async (part) => {
      expect(await main([part, '--cluster', 'kubernetes', '--kubeconfig', '/none'])).toBe(1);
      expect(written).toHaveLength(1);
      expect(written[0]).toContain('/none: --kubeconfig: ');
    },
  );

  it('a route to a missing server is one line, and the rest runs', async () => {
    const files = ['LLM-Mock-ds1.5b.yaml', 'ModelServer-ds1.5b.yaml'].map((name) => join(examples, name));
    write({ 'route.yaml': route.replaceAll('qwen', 'nowhere') });
    const running = main([
      'preview',
      folder,
      ...files,
      '--listen',
      '127.0.0.1:0',
      '--metrics-listen',
      '127.0.0.1:0',
      '--debug-listen',
      '127.0.0.1:0',
      '--autoscaler-debug-listen',
      '127.0.0.1:0',
    ]);
    while (!written.some((line) => line.startsWith('Ctrl-C'))) await new Promise((resolve) => setTimeout(resolve, 20));
    process.emit('SIGINT', 'SIGINT');
    expect(await running).toBe(0);
    expect(written.filter((line) => line.startsWith('error:'))).toEqual([
      expect.stringMatching(
        /route\.yaml:1: ModelRoute default\/nowhere: spec\.rules\[0\]\.targetModels\[0\]\.modelServerName: there is no ModelServer "nowhere" in namespace default; add it, or correct the name/,
      ),
    ]);
  });
});
