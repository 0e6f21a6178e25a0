import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ManifestCluster, openManifestCluster } from '../../../../runtime/cluster/manifests';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import { type Finding, findingLine } from '../../../../src/errors';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { temporaryFolders } from '../../../helpers/temporary-folder';
import { deploymentOf, serverFor, servingOf } from '../../../helpers/workload-objects';

const newFolder = temporaryFolders();
let cluster: ManifestCluster | undefined;
let reported: Finding[];

async function open(paths: readonly string[], watch = false): Promise<ManifestCluster> {
  cluster = await openManifestCluster({
    paths,
    clock: wallClock(),
    runner: new FakePodRunner(),
    watch,
    onFinding: (finding) => reported.push(finding),
  });
  return cluster;
}

const servers = (): string[] =>
  cluster!.objects
    .list('ModelServer')
    .map(({ metadata, spec }) => `${metadata.namespace}/${metadata.name}=${spec.model ?? ''}`)
    .sort();
const lines = (folder: string): string[] =>
  cluster!.findings().map((finding) => findingLine(finding).replaceAll(`${folder}/`, ''));

/** A ModelServer as YAML. */
function yaml(name: string, model: string): string {
  return `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelServer
metadata: {name: ${name}}
spec:
  inferenceEngine: vLLM
  model: ${model}
  workloadSelector: {matchLabels: {app: ${name}}}
  workloadPort: {port: 8000}
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${name}}}
spec: {containers: [{name: main}]}
status: {podIP: 10.0.0.1}
`;
}

beforeEach(() => {
  reported = [];
});
afterEach(async () => {
  await cluster?.close();
  cluster = undefined;
});

describe('the files that are read', () => {
  it('are those of folders by ending, at any depth, and those named, once each', async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'deep/er'), { recursive: true });
    mkdirSync(join(folder, '.git'));
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'a.yaml'), yaml('a', 'x'));
    writeFileSync(join(folder, 'deep/b.yml'), yaml('b', 'x'));
    writeFileSync(join(folder, 'deep/er/c.json'), JSON.stringify(serverFor('c', { model: 'x' })));
    writeFileSync(join(folder, 'd.txt'), yaml('d', 'x'));
    writeFileSync(join(folder, '.git/e.yaml'), yaml('e', 'x'));
    writeFileSync(join(folder, 'node_modules/f.yaml'), yaml('f', 'x'));
    const elsewhere = newFolder();
    writeFileSync(join(elsewhere, 'g.yaml'), yaml('g', 'x'));
    symlinkSync(elsewhere, join(folder, 'link'));
    await open([folder, join(folder, 'a.yaml'), join(folder, 'd.txt')]);
    expect(servers()).toEqual(['default/a=x', 'default/b=x', 'default/c=x', 'default/d=x', 'default/g=x']);
  });

  it('may give a namespace, else the cluster does', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a.yaml'), yaml('a, namespace: prod', 'x').replaceAll('{app: a, namespace: prod}', '{app: a}'));
    writeFileSync(join(folder, 'b.yaml'), yaml('b', 'x'));
    cluster = await openManifestCluster({ paths: [folder], clock: wallClock(), namespace: 'team' });
    expect(servers()).toEqual(['prod/a=x', 'team/b=x']);
  });

  it('that are not there are a finding', async () => {
    await open(['/nowhere/a.yaml']);
    expect(reported.map(findingLine)).toEqual([
      '/nowhere/a.yaml: there is no such file or folder; check the path [manifest/unreadable]',
    ]);
  });

  it('keep the age of objects that a running cluster told', async () => {
    const folder = newFolder();
    const old = serverFor('old');
    const metadata = { ...old.metadata, creationTimestamp: '2020-01-01T00:00:00Z', uid: 'not-ours', resourceVersion: '77' };
    writeFileSync(join(folder, 'a.json'), JSON.stringify({ ...old, metadata }));
    await open([folder]);
    const stored = cluster!.objects.get('ModelServer', 'default', 'old')!.metadata;
    expect(stored.creationTimestamp).toBe('2020-01-01T00:00:00Z');
    expect(stored.uid).not.toBe('not-ours');
    expect(stored.resourceVersion).not.toBe('77');
  });
});

describe('a finding', () => {
  it('names file, line, object, field, value and remedy of what is refused, and of what is missing', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a.yaml'), yaml('a', 'x').replace('port: 8000', 'port: 80000'));
    writeFileSync(join(folder, 'b.yaml'), yaml('b', 'x').replace('  model: x', '  modle: x'));
    writeFileSync(join(folder, 'c.yaml'), 'a: [1\n');
    writeFileSync(
      join(folder, 'd.yaml'),
      `apiVersion: networking.serving.volcano.sh/v1alpha1
kind: ModelRoute
metadata: {name: d}
spec: {modelName: m, rules: [{targetModels: [{modelServerName: nowhere}]}]}
`,
    );
    writeFileSync(join(folder, 'e.json'), JSON.stringify(deploymentOf('e', { selector: { matchLabels: { app: 'other' } } })));
    await open([folder]);
    expect(lines(folder)).toEqual([
      expect.stringMatching(/^c\.yaml:2: malformed YAML: .*\[manifest\/malformed\]$/),
      expect.stringMatching(/^a\.yaml:1: ModelServer default\/a: spec\.workloadPort\.port: .*80000.*; .*\[.*\]$/),
      expect.stringMatching(/^b\.yaml:1: ModelServer default\/b: spec\.modle: .*model/),
      "e.json:1: Deployment default/e: spec.selector: does not match the labels of the object's own pod template; give both the same labels [workload/selector]",
      expect.stringMatching(/^d\.yaml:1: ModelRoute default\/d: spec\.rules\[0\].*nowhere/),
    ]);
    expect(cluster!.objects.list('ModelServer')).toEqual([]);
    expect(cluster!.objects.list('Deployment')).toEqual([]);
    expect(cluster!.objects.list('ModelRoute')).toHaveLength(1);
  });

  it.each([
    [
      'a label of a template that is no string',
      deploymentOf('e', {
        template: { metadata: { labels: { app: 1 as unknown as string } }, spec: { containers: [{ name: 'main' }] } },
      }),
      'workload/label',
    ],
    ['a workload without containers', deploymentOf('e', { template: {} }), 'workload/containers'],
    ['a number of replicas that is none', deploymentOf('e', { replicas: -1 }), 'workload/replicas'],
    ['a kind that gets no pods here', { ...deploymentOf('e'), kind: 'DaemonSet' }, 'workload/not-run'],
  ])('is made of %s', async (_, object, code) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a.json'), JSON.stringify(object));
    await open([folder]);
    expect(cluster!.findings()).toMatchObject([{ code, object: `${object.kind} default/e`, file: `${folder}/a.json:1` }]);
  });

  it('refuses a changed selector, which cannot change', async () => {
    const folder = newFolder();
    const file = join(folder, 'a.json');
    const selecting = (labels: Record<string, string>) => ({
      selector: { matchLabels: labels },
      template: { metadata: { labels: { app: 'e', tier: 'x' } }, spec: { containers: [{ name: 'main' }] } },
    });
    writeFileSync(file, JSON.stringify(deploymentOf('e', selecting({ app: 'e' }))));
    await open([folder]);
    writeFileSync(file, JSON.stringify(deploymentOf('e', selecting({ tier: 'x' }))));
    await cluster!.refresh();
    expect(cluster!.findings()).toMatchObject([{ code: 'workload/selector', field: 'spec.selector' }]);
    expect(cluster!.objects.list('Pod')).toHaveLength(1);
  });

  it('is told once, and again when it comes back', async () => {
    const folder = newFolder();
    const file = join(folder, 'a.yaml');
    writeFileSync(file, 'a: [1\n');
    await open([folder]);
    await cluster!.refresh();
    expect(reported).toHaveLength(1);
    writeFileSync(file, yaml('a', 'x'));
    await cluster!.refresh();
    expect(cluster!.findings()).toEqual([]);
    rmSync(file);
    writeFileSync(file, 'a: [1\n');
    await cluster!.refresh();
    expect(reported).toHaveLength(2);
  });

  it('is made of an object that two files give; the last one counts', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a.json'), JSON.stringify(serverFor('s', { model: 'first' })));
    writeFileSync(join(folder, 'b.json'), JSON.stringify(serverFor('s', { model: 'second' })));
    await open([folder]);
    expect(servers()).toEqual(['default/s=second']);
    expect(lines(folder).filter((line) => line.includes('duplicate'))).toEqual([
      'b.json:1: ModelServer default/s: metadata.name: the same object is also in ' +
        `${folder}/a.json:1; rename or remove one of them [references/duplicate]`.replace(`${folder}/`, ''),
    ]);
  });
});

describe('replicas that were set', () => {
  const chat = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'chat' };
  const group = { ...chat, apiVersion: 'workload.serving.volcano.sh/v1alpha1', kind: 'ModelServing' };

  async function versionOf(target: typeof chat): Promise<string> {
    const read = await cluster!.scaling.read(target);
    return read.kind === 'found' ? read.value.version : read.kind;
  }
  const desired = (): (number | string)[] => cluster!.workloads().map((workload) => workload.desired);

  it('stay while other objects change, and are those of the manifest again when it changes and names some', async () => {
    const folder = newFolder();
    const file = join(folder, 'a.json');
    writeFileSync(file, JSON.stringify(deploymentOf('chat', { replicas: 2 })));
    await open([folder]);
    await cluster!.scaling.set(chat, 5, await versionOf(chat));
    writeFileSync(join(folder, 'b.yaml'), yaml('b', 'x'));
    await cluster!.refresh();
    expect(desired()).toEqual([5]);
    writeFileSync(file, JSON.stringify(deploymentOf('chat', { replicas: 2 }, 'engine:2')));
    await cluster!.refresh();
    expect(desired()).toEqual([2]);
  });

  it('of roles stay when the manifest changes and names none', async () => {
    const folder = newFolder();
    const file = join(folder, 'a.json');
    const serving = (image: string) => {
      const { spec, ...rest } = servingOf('chat', {}, image);
      const roles = spec.template.roles.map(({ replicas: _none, ...role }) => role);
      return JSON.stringify({ ...rest, spec: { template: { roles } } });
    };
    writeFileSync(file, serving('engine:1'));
    await open([folder]);
    await cluster!.scaling.setRoles(group, { serve: 3 }, await versionOf(group));
    writeFileSync(file, serving('engine:2'));
    await cluster!.refresh();
    expect(cluster!.objects.get('ModelServing', 'default', 'chat')!.spec.template.roles).toMatchObject([
      { replicas: 3, entryTemplate: { spec: { containers: [{ image: 'engine:2' }] } } },
    ]);
  });
});

describe('a file that changes', () => {
  it('keeps its last good version while it is malformed, refused, or empty', async () => {
    const folder = newFolder();
    const file = join(folder, 'a.yaml');
    writeFileSync(file, yaml('a', 'good'));
    await open([folder]);
    for (const [text, code] of [
      [yaml('a', 'new').slice(0, 150), 'manifest/malformed'],
      [`${yaml('a', 'new')}---\nnonsense\n`, 'manifest/not-an-object'],
      [yaml('a', 'new').replace('port: 8000', 'port: 0'), 'schema/minimum'],
      ['', 'manifest/emptied'],
    ] as const) {
      writeFileSync(file, text);
      await cluster!.refresh();
      expect([code, servers()]).toEqual([code, ['default/a=good']]);
      expect(cluster!.findings().length).toBeGreaterThan(0);
    }
    writeFileSync(file, yaml('a', 'new'));
    await cluster!.refresh();
    expect(servers()).toEqual(['default/a=new']);
    expect(cluster!.findings()).toEqual([]);
  });

  it('keeps objects of a whole path that is missing, and of a folder that is swapped for a new one', async () => {
    const folder = newFolder();
    const dist = join(folder, 'dist');
    mkdirSync(join(dist, 'app'), { recursive: true });
    writeFileSync(join(dist, 'app/a.yaml'), yaml('a', 'x'));
    await open([dist]);
    const { uid } = cluster!.objects.get('ModelServer', 'default', 'a')!.metadata;
    renameSync(dist, join(folder, 'old'));
    await cluster!.refresh();
    expect(servers()).toEqual(['default/a=x']);
    expect(cluster!.findings().map(({ code }) => code)).toEqual(['manifest/unreadable']);
    mkdirSync(dist);
    const refreshed = cluster!.refresh();
    await delay(30);
    mkdirSync(join(dist, 'app'));
    writeFileSync(join(dist, 'app/a.yaml'), yaml('a', 'second'));
    await refreshed;
    expect(servers()).toEqual(['default/a=second']);
    expect(cluster!.objects.get('ModelServer', 'default', 'a')!.metadata.uid).toBe(uid);
  });

  it('that is watched is applied soon, also in a new folder, and when it goes', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a.yaml'), yaml('a', 'x'));
    await open([folder], true);
    const until = async (expected: readonly string[]): Promise<void> => {
      const deadline = Date.now() + 6000;
      while (JSON.stringify(servers()) !== JSON.stringify(expected) && Date.now() < deadline) await delay(10);
      expect(servers()).toEqual(expected);
    };
    writeFileSync(join(folder, 'a.yaml'), yaml('a', 'second'));
    await until(['default/a=second']);
    mkdirSync(join(folder, 'more'));
    writeFileSync(join(folder, 'more/b.yaml'), yaml('b', 'z'));
    await until(['default/a=second', 'default/b=z']);
    rmSync(join(folder, 'a.yaml'));
    await until(['default/b=z']);
  });

  it('is found under a path that was not there when the watch began', async () => {
    const later = join(newFolder(), 'later');
    await open([later], true);
    expect(reported.map(({ code }) => code)).toEqual(['manifest/unreadable']);
    mkdirSync(later);
    writeFileSync(join(later, 'a.yaml'), yaml('a', 'x'));
    while (servers().length === 0) await delay(10);
    writeFileSync(join(later, 'a.yaml'), yaml('a', 'second'));
    while (!servers().includes('default/a=second')) await delay(10);
    expect(cluster!.findings()).toEqual([]);
  });

  it('that is watched alone is followed when an editor replaces it by renaming', async () => {
    const folder = newFolder();
    const file = join(folder, 'a.yaml');
    writeFileSync(file, yaml('a', 'x'));
    await open([file], true);
    writeFileSync(join(folder, 'tmp'), yaml('a', 'second'));
    const changed = new Promise<void>((resolve) => {
      cluster!.objects.changed('ModelServer', () => resolve());
    });
    renameSync(join(folder, 'tmp'), file);
    await changed;
    expect(servers()).toEqual(['default/a=second']);
  });
});
