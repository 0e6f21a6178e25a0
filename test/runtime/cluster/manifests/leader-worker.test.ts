import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ManifestCluster } from '../../../../runtime/cluster/manifests';
import type { KubeObject } from '../../../../src/api/meta';
import type { Pod } from '../../../../src/api/pod';
import { expandWorkload } from '../../../../src/expand';
import { readManifests } from '../../../../src/read-manifests';
import { FIXTURES } from '../../../helpers/example-objects';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { ManifestFolder, turns } from '../../../helpers/manifest-folder';

const LWS = { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet' };
const SCALER = { apiVersion: 'disaggregatedset.x-k8s.io/v1', kind: 'DisaggregatedSetRoleScaler' };

let folder: ManifestFolder;
let runner: FakePodRunner;
let cluster: ManifestCluster;

async function open(...objects: readonly KubeObject[]): Promise<void> {
  folder = new ManifestFolder(objects);
  cluster = await folder.open({ runner });
  await turns();
}

const template = (image = 'engine:1') => ({ spec: { containers: [{ name: 'main', image }] } });
const leaderWorker = (spec: object = {}, image?: string) =>
  ({
    ...LWS,
    metadata: { name: 'chat', namespace: 'default' },
    spec: { leaderWorkerTemplate: { size: 2, workerTemplate: template(image) }, ...spec },
  }) as KubeObject;
const role = (name: string, spec: object = {}, scaling?: object) => ({
  name,
  ...(scaling === undefined ? {} : { scaling }),
  spec: { leaderWorkerTemplate: { size: 1, workerTemplate: template() }, ...spec },
});
const disaggregated = (...roles: readonly object[]) =>
  ({
    apiVersion: 'disaggregatedset.x-k8s.io/v1',
    kind: 'DisaggregatedSet',
    metadata: { name: 'chat', namespace: 'default' },
    spec: { roles },
  }) as KubeObject;

const pods = (): readonly Pod[] => cluster.objects.list('Pod');
const names = (): string[] =>
  pods()
    .map(({ metadata }) => metadata.name)
    .sort();
const view = () => cluster.workloads().map(({ kind, desired, ready }) => [kind, desired, ready]);

async function scale(target: { apiVersion: string; kind: string; name: string }, replicas: number): Promise<void> {
  const ref = { ...target, namespace: 'default' };
  const read = await cluster.scaling.read(ref);
  if (read.kind !== 'found') throw new Error(read.kind);
  expect((await cluster.scaling.set(ref, replicas, read.value.version)).kind).toBe('applied');
  await turns();
}

beforeEach(() => {
  runner = new FakePodRunner();
});
afterEach(async () => {
  runner.release();
  await folder.close();
});

it.each(['lws', 'lws-volcano', 'disaggregatedset'])('%s: runs the pods that the real controllers made', async (name) => {
  const text = readFileSync(join(FIXTURES, 'goldens/lws', `${name}.yaml`), 'utf8');
  const workload = readManifests(text, name).objects[0]!.object;
  await open(workload);
  const planned = expandWorkload(workload)!.pods.map(({ pod }) => pod);
  expect(names()).toEqual(planned.map(({ metadata }) => metadata.name).sort());
  for (const { metadata, spec } of planned) {
    const made = pods().find((pod) => pod.metadata.name === metadata.name)!;
    expect(made.metadata.labels).toEqual(metadata.labels);
    expect(made.metadata.annotations).toMatchObject(metadata.annotations!);
    expect(made.spec).toEqual(spec);
  }
});

describe('a LeaderWorkerSet', () => {
  it('is scaled by its /scale, which counts groups and finds their leaders', async () => {
    await open(leaderWorker({ replicas: 2 }));
    expect(names()).toEqual(['chat-0', 'chat-0-1', 'chat-1', 'chat-1-1']);
    await scale({ ...LWS, name: 'chat' }, 3);
    expect(names()).toContain('chat-2-1');
    expect(view()).toEqual([['LeaderWorkerSet', 3, 3]]);
    const read = await cluster.scaling.read({ ...LWS, namespace: 'default', name: 'chat' });
    expect(read).toMatchObject({
      value: {
        desired: 3,
        actual: 3,
        selector: { 'leaderworkerset.sigs.k8s.io/name': 'chat', 'leaderworkerset.sigs.k8s.io/worker-index': '0' },
      },
    });
    await scale({ ...LWS, name: 'chat' }, 1);
    expect(names()).toEqual(['chat-0', 'chat-0-1']);
  });

  it('makes a group anew as a whole when one of its engines dies', async () => {
    await open(leaderWorker());
    const before = pods().map(({ metadata }) => metadata.uid);
    runner.starts.at(-1)!.exit('killed');
    await turns();
    expect(names()).toEqual(['chat-0', 'chat-0-1']);
    for (const { metadata } of pods()) expect(before).not.toContain(metadata.uid);
    expect(view()).toEqual([['LeaderWorkerSet', 1, 1]]);
  });

  it('is updated when its file changes, and ended with it', async () => {
    await open(leaderWorker({ replicas: 2 }));
    await folder.put(leaderWorker({ replicas: 2 }, 'engine:2'));
    expect(pods().map(({ spec }) => spec.containers[0]!.image)).toEqual(['engine:2', 'engine:2', 'engine:2', 'engine:2']);
    await folder.remove(leaderWorker());
    expect(names()).toEqual([]);
  });
});

describe('a DisaggregatedSet', () => {
  const target = { ...SCALER, name: 'chat-decode' };

  it('has a scaler for each role that is scaled from outside, which starts at one', async () => {
    await open(disaggregated(role('prefill', { replicas: 2 }), role('decode', {}, { mode: 'External' })));
    expect(names()).toHaveLength(3);
    await scale(target, 4);
    expect(names().filter((name) => name.includes('-decode-'))).toHaveLength(4);
    expect(names().filter((name) => name.includes('-prefill-'))).toHaveLength(2);
    expect(view()).toEqual([['DisaggregatedSet', 6, 6]]);
    const read = await cluster.scaling.read({ ...target, namespace: 'default' });
    expect(read).toMatchObject({
      value: {
        desired: 4,
        actual: 4,
        selector: {
          'disaggregatedset.x-k8s.io/name': 'chat',
          'disaggregatedset.x-k8s.io/role': 'decode',
          'leaderworkerset.sigs.k8s.io/worker-index': '0',
        },
      },
    });
  });

  it('keeps what was scaled when its file changes', async () => {
    const set = (image: string) =>
      disaggregated(
        role('prefill', { leaderWorkerTemplate: { size: 1, workerTemplate: template(image) } }),
        role('decode', {}, { mode: 'External' }),
      );
    await open(set('engine:1'));
    await scale(target, 3);
    await folder.put(set('engine:2'));
    await turns(60);
    expect(names().filter((name) => name.includes('-decode-'))).toHaveLength(3);
    expect(pods().filter(({ spec }) => spec.containers[0]!.image === 'engine:2')).toHaveLength(1);
  });

  it('has no scaler for a role whose replicas are written', async () => {
    await open(disaggregated(role('prefill'), role('decode')));
    expect(await cluster.scaling.read({ ...target, namespace: 'default' })).toEqual({ kind: 'gone' });
  });
});

describe('a manifest', () => {
  it.each([
    [
      'a LeaderWorkerSet without containers',
      { ...leaderWorker(), spec: { leaderWorkerTemplate: { workerTemplate: {} } } },
      'workload/containers',
    ],
    [
      'a leader without containers',
      leaderWorker({ leaderWorkerTemplate: { leaderTemplate: {}, workerTemplate: template() } }),
      'workload/containers',
    ],
    ['a size that is none', leaderWorker({ leaderWorkerTemplate: { size: 0, workerTemplate: template() } }), 'workload/replicas'],
    ['replicas below zero', leaderWorker({ replicas: -1 }), 'workload/replicas'],
    ['a LeaderWorkerSet without a spec', { ...leaderWorker(), spec: undefined }, 'workload/containers'],
    ['one role', disaggregated(role('a')), 'workload/roles'],
    ['two roles of one name', disaggregated(role('a'), role('a')), 'workload/roles'],
    ['a role without containers', disaggregated(role('a'), { name: 'b' }), 'workload/containers'],
    [
      'slices that are no count',
      { ...disaggregated(), spec: { slices: 'x', roles: [role('a'), role('b')] } },
      'workload/replicas',
    ],
  ])('is refused for %s', async (_, object, code) => {
    await open(object as KubeObject);
    expect(cluster.findings().map((finding) => finding.code)).toEqual([code]);
    expect(names()).toEqual([]);
  });
});
