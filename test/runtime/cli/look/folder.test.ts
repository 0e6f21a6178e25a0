import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../../../src/api/meta';
import { modelRouteOf } from '../../../helpers/router-cluster';
import { runCli } from '../../../helpers/run-cli';
import { runExample } from '../../../helpers/run-example';
import { temporaryFolders } from '../../../helpers/temporary-folder';
import { deploymentOf, policyFor, serverFor } from '../../../helpers/workload-objects';

const temporaryFolder = temporaryFolders();

function folderOf(...objects: readonly KubeObject[]): string {
  const folder = temporaryFolder();
  for (const [index, object] of objects.entries()) writeFileSync(join(folder, `${index}.json`), JSON.stringify(object));
  return folder;
}

const inNamespace = <T extends KubeObject>(object: T, namespace: string): T => ({
  ...object,
  metadata: { ...object.metadata, namespace },
});

const chat = [deploymentOf('chat', { replicas: 2 }), serverFor('chat'), modelRouteOf('chat', { modelName: 'chat', to: 'chat' })];

describe('the session in docs/look.md', () => {
  const page = readFileSync(join(__dirname, '../../../../docs/look.md'), 'utf8');
  const session = [...page.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block]) =>
    block!
      .split(/^\$ /m)
      .slice(1)
      .map((text) => ({ command: text.slice(0, text.indexOf('\n')), answer: text.slice(text.indexOf('\n') + 1) })),
  );
  const folder = temporaryFolder();

  beforeAll(() => {
    runExample('external-overflow', folder);
  });

  it('has commands', () => expect(session.length).toBeGreaterThan(5));

  it.each(session)('answers $command as the page says', async ({ command, answer }) => {
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
    const { stdout } = await runCli(...words.slice(1).map((word) => (word === 'dist' ? folder : word)));
    expect(stdout.replaceAll(folder, 'dist')).toBe(answer);
  });
});

describe('kvasir get', () => {
  const examples = ['multi-node-deepseek', 'prefill-decode', 'lora-tenants'].map((name) => ({ name, folder: temporaryFolder() }));
  beforeAll(() => {
    for (const { name, folder } of examples) runExample(name, folder);
  });

  it.each(examples)('lists everything of $name', async ({ folder }) => {
    for (const what of ['models', 'routes', 'policies']) {
      const { code, stdout } = await runCli('get', what, '--wide', '--cluster', folder);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^NAMESPACE {3}.*\nllm +\S/)]);
    }
    for (const what of ['pods', 'providers']) {
      expect((await runCli('get', what, '--cluster', folder)).lines).toEqual([`no ${what} in ${folder}`]);
    }
  });

  it('shows one namespace without its column, every namespace with it, and one row by name', async () => {
    const folder = folderOf(...chat, ...chat.map((object) => inNamespace({ ...object }, 'other')));
    const all = (await runCli('get', 'routes', '-A', '--cluster', folder)).stdout.split('\n');
    expect(all.map((line) => line.split(/ {3,}/).slice(0, 2))).toEqual([
      ['NAMESPACE', 'NAME'],
      ['default', 'chat'],
      ['other', 'chat'],
      [''],
    ]);
    const one = (await runCli('get', 'routes', 'chat', '-n', 'other', '--cluster', folder)).stdout.split('\n');
    expect(one.map((line) => line.split(/ {3,}/)[0])).toEqual(['NAME', 'chat', '']);
  });

  it('prints every fact as one document with --json, and no table', async () => {
    const { stdout } = await runCli('get', 'models', '--json', '--cluster', folderOf(...chat, policyFor('chat')));
    expect(JSON.parse(stdout).models).toEqual([
      {
        name: 'chat',
        namespace: 'default',
        state: 'NotRunning',
        isRouted: true,
        adapters: [],
        routes: ['default/chat'],
        servers: ['default/chat'],
        providers: [],
        policies: ['AutoscalingPolicy default/chat'],
        pods: { ready: 0, wanted: 2 },
        replicas: { min: 1, max: 4 },
        costPerHour: null,
        problems: [],
      },
    ]);
  });

  it.each([
    ['a kind that is misspelt', ['get', 'modls'], 2, /Did you mean models\?$/],
    ['a kind that nobody knows', ['get', 'secrets'], 2, /There are models, pods, routes, policies, providers\.$/],
    ['a name that is misspelt', ['get', 'models', 'caht'], 1, /there is no "caht"; did you mean "chat"\? \[cli\/unknown-name\]$/],
    ['a name that nothing is like', ['get', 'route', 'zzzzzz'], 1, /there is no "zzzzzz"; there is chat \[cli\/unknown-name\]$/],
    ['one namespace and all', ['get', 'models', '-n', 'x', '-A'], 1, /--all-namespaces: contradicts --namespace x/],
    ['a kubeconfig for a folder', ['get', 'models', '--kubeconfig', 'x'], 1, /--kubeconfig: is for a Kubernetes API/],
    ['a name in several namespaces', ['explain', 'route', 'twice'], 1, /in several namespaces: a\/twice, b\/twice; give -n/],
    ['an explanation without a name', ['explain', 'route'], 1, /needs the name of a ModelRoute; kvasir get routes lists them/],
    ['an explanation of what is no subject', ['explain', 'scheduel'], 2, /Did you mean schedule\?$/],
    ['what only a router knows', ['explain', 'queue'], 1, /only a running router knows it; give --router/],
    ['a header without a colon', ['explain', 'request', '--model', 'm', '--header', 'x'], 1, /--header: "x" is no header/],
    ['a request without a model', ['explain', 'request'], 1, /--model: is missing/],
    ['two models', ['explain', 'request', '--model', 'm', '--body', '{}'], 1, /--model: contradicts --body/],
    ['a body that is not there', ['explain', 'request', '--body', '@/nowhere'], 1, /--body: \/nowhere cannot be read \(ENOENT\)/],
  ])('answers %s in one line', async (_, argv, status, line) => {
    const twice = modelRouteOf('twice', { modelName: 'twice', to: 'chat' });
    const folder = argv.includes('twice') ? folderOf(inNamespace(twice, 'a'), inNamespace(twice, 'b')) : folderOf(...chat);
    const { code, lines } = await runCli(...argv, '--cluster', folder);
    expect([code, lines]).toEqual([status, [expect.stringMatching(line)]]);
  });

  it('says where to look when nobody answers at the debug port', async () => {
    const { code, lines } = await runCli('get', 'models', '--router', '127.0.0.1:9');
    expect([code, lines]).toEqual([
      1,
      [
        expect.stringMatching(
          /^error: --router 127\.0\.0\.1:9: nobody answers there \(.*\); start kvasir preview .*\[debug\/unreachable\]$/,
        ),
      ],
    ]);
  });
});

describe('kvasir status of a folder', () => {
  it('tells what is wrong with each model below it, and in which file', async () => {
    const folder = folderOf(
      ...chat,
      modelRouteOf('lost', { modelName: 'lost', to: 'nobody' }),
      serverFor('alone', { workloadSelector: { matchLabels: { app: 'chta' } } }),
    );
    const { code, stdout } = await runCli('status', '--cluster', folder);
    expect(code).toBe(0);
    const paragraphs = new Map(stdout.split('\n\n').map((text) => [text.split('  ')[0], text]));
    expect(paragraphs.get('lost')).toMatch(/^lost {2}Unreachable\n {2}route {4}ModelRoute default\/lost → nobody \(missing\)\n/);
    expect(paragraphs.get('lost')).toMatch(
      /error: .*3\.json:1: ModelRoute default\/lost: .*no ModelServer "nobody".*\[routing\/missing-server\]/,
    );
    expect(paragraphs.get('alone')).toMatch(/warning: .*no workload here makes pods with app=chta.*\[routing\/no-pods\]/);
    expect(paragraphs.get('alone')).toMatch(
      /warning: ModelServer default\/alone: no ModelRoute leads to it.*\[status\/no-route\]/,
    );
    expect(paragraphs.get('chat')).not.toMatch(/error|warning/);
    expect(stdout).toMatch(/^3 models, 1 error, 2 warnings; read from .*$/m);
  });

  it('shows the model that an adapter or a ModelServer belongs to', async () => {
    const folder = folderOf(...chat, modelRouteOf('tuned', { loraAdapters: ['law', 'bank'], to: 'chat' }));
    expect((await runCli('status', 'law', '--cluster', folder)).stdout).toMatch(/^law, bank {2}NotRunning/);
    expect((await runCli('status', 'chat', '--json', '--cluster', folder)).stdout).toContain('"name": "law, bank"');
  });

  it('counts pods that a folder gives with an address as running', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'own', namespace: 'default', labels: { app: 'chat' } },
      spec: { containers: [{ name: 'engine', image: 'vllm/vllm-openai:v0.20.2' }] },
      status: { podIP: '10.0.0.1' },
    };
    const folder = folderOf(...chat.slice(1), pod as KubeObject);
    expect((await runCli('get', 'models', '--cluster', folder)).stdout).toMatch(/chat +Ready +1\/1/);
    mkdirSync(join(folder, 'empty'));
    expect((await runCli('get', 'models', '--cluster', join(folder, 'empty'))).lines).toEqual([
      expect.stringContaining('there is no manifest'),
    ]);
  });
});

describe('kvasir status --fail-if', () => {
  const broken = [...chat, modelRouteOf('lost', { modelName: 'lost', to: 'nowhere' })];

  it('ends with 1 and names each model that has what is asked for', async () => {
    const folder = folderOf(...broken);
    const { code, lines } = await runCli('status', '--cluster', folder, '--fail-if', 'error,notrunning');
    expect(code).toBe(1);
    expect(lines.filter((line) => line.startsWith('failed: '))).toEqual([
      'failed: default/chat is NotRunning',
      'failed: default/lost has 1 error',
    ]);
  });

  it('looks at the models that are named alone, and says it in the document', async () => {
    const folder = folderOf(...broken);
    const one = await runCli('status', 'chat', '--cluster', folder, '--fail-if', 'warning', '--json');
    expect([one.code, (JSON.parse(one.stdout) as { failed: unknown }).failed]).toEqual([0, []]);
    const other = await runCli('status', 'lost', '--cluster', folder, '--fail-if', 'warning', '--json');
    expect([other.code, (JSON.parse(other.stdout) as { failed: unknown }).failed]).toEqual([
      1,
      ['failed: default/lost has 1 error'],
    ]);
  });

  it('is refused with what can be asked for', async () => {
    const { code, lines } = await runCli('status', '--cluster', folderOf(...chat), '--fail-if', 'error,sad');
    expect([code, lines.at(-1)]).toEqual([2, expect.stringContaining('"sad" is none of error, warning, Degraded, Starting')]);
  });
});
