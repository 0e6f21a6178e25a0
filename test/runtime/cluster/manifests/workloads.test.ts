import type { ManifestCluster } from '../../../../runtime/cluster/manifests';
import type { TargetRef } from '../../../../runtime/cluster/scaling';
import type { KubeObject } from '../../../../src/api/meta';
import { isPodReady, type Pod } from '../../../../src/api/pod';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { ManifestFolder, turns } from '../../../helpers/manifest-folder';
import { deploymentOf, servingOf, statefulSetOf } from '../../../helpers/workload-objects';

let folder: ManifestFolder;
let runner: FakePodRunner;
let cluster: ManifestCluster;

async function open(...objects: readonly KubeObject[]): Promise<void> {
  folder = new ManifestFolder(objects);
  cluster = await folder.open({ runner });
  await turns();
}

const pods = (): readonly Pod[] => cluster.objects.list('Pod');
const names = (): string[] =>
  pods()
    .map(({ metadata }) => metadata.name)
    .sort();
const images = (): string[] =>
  pods()
    .map(({ spec }) => spec.containers[0]!.image!)
    .sort();
const target = (kind: string, apiVersion = 'apps/v1'): TargetRef => ({ apiVersion, kind, namespace: 'default', name: 'chat' });

async function scale(kind: string, replicas: number, apiVersion?: string): Promise<void> {
  const ref = target(kind, apiVersion);
  const read = await cluster.scaling.read(ref);
  if (read.kind !== 'found') throw new Error(read.kind);
  expect((await cluster.scaling.set(ref, replicas, read.value.version)).kind).toBe('applied');
  await turns();
}

function statusOf(kind: 'Deployment' | 'ModelServing'): Record<string, unknown> {
  return (cluster.objects.get(kind, 'default', 'chat') as unknown as { status: Record<string, unknown> }).status;
}

beforeEach(() => {
  runner = new FakePodRunner();
});
afterEach(async () => {
  runner.release();
  await folder.close();
});

describe('a Deployment', () => {
  it('keeps the names of its pods while it grows, and gives each new pod a uid of its own', async () => {
    await open(deploymentOf('chat', { replicas: 2 }));
    const before = names();
    await scale('Deployment', 4);
    expect(names()).toEqual(expect.arrayContaining(before));
    expect(new Set(pods().map(({ metadata }) => metadata.uid)).size).toBe(4);
  });

  it('removes the pod of the lowest deletion cost first, and never reuses the name of one that still ends', async () => {
    await open(deploymentOf('chat', { replicas: 3 }));
    const [cheap, ...others] = pods();
    await cluster.pods.mark('default', cheap!.metadata.name, cheap!.metadata.uid!, {
      'controller.kubernetes.io/pod-deletion-cost': '-5',
    });
    runner.isStoppedAtOnce = false;
    await scale('Deployment', 2);
    const ending = pods().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(ending.map(({ metadata }) => metadata.name)).toEqual([cheap!.metadata.name]);
    await scale('Deployment', 3);
    expect(pods()).toHaveLength(4);
    expect(runner.running()).toHaveLength(3);
    expect(runner.running()).toEqual(expect.arrayContaining(others.map(({ metadata }) => metadata.name)));
    expect(runner.running()).not.toContain(cheap!.metadata.name);
  });

  it('replaces pods of an old template within maxSurge and maxUnavailable', async () => {
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await open(deploymentOf('chat', { replicas: 3, strategy }));
    const seen: { total: number; ready: number }[] = [];
    cluster.objects.changed('Pod', () => {
      const present = pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      seen.push({ total: present.length, ready: pods().filter(isPodReady).length });
    });
    runner.isReadyAtOnce = false;
    await folder.put(deploymentOf('chat', { replicas: 3, strategy }, 'engine:2'));
    expect(images()).toEqual(['engine:1', 'engine:1', 'engine:1', 'engine:2']);
    for (let replaced = 0; replaced < 3; replaced++) {
      runner.starts.at(-1)!.becomeReady();
      await turns();
    }
    expect(images()).toEqual(['engine:2', 'engine:2', 'engine:2']);
    expect(Math.max(...seen.map(({ total }) => total))).toBe(4);
    expect(Math.min(...seen.map(({ ready }) => ready))).toBe(3);
    expect(statusOf('Deployment')).toMatchObject({
      observedGeneration: 2,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      conditions: [
        { type: 'Available', status: 'True' },
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
      ],
    });
  });

  it('says while its pods start that it is not available', async () => {
    runner.isReadyAtOnce = false;
    await open(deploymentOf('chat', { replicas: 2 }));
    expect(statusOf('Deployment')).toMatchObject({
      replicas: 2,
      readyReplicas: 0,
      unavailableReplicas: 2,
      conditions: [{ type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable' }, { type: 'Progressing' }],
    });
  });

  it('of strategy Recreate makes no new pod before the last old one is gone', async () => {
    const strategy = { type: 'Recreate' as const };
    await open(deploymentOf('chat', { replicas: 2, strategy }));
    runner.isStoppedAtOnce = false;
    await folder.put(deploymentOf('chat', { replicas: 2, strategy }, 'engine:2'));
    expect(images()).toEqual(['engine:1', 'engine:1']);
    runner.starts[0]!.finishStop();
    await turns();
    expect(images()).toEqual(['engine:1']);
    runner.starts[1]!.finishStop();
    await turns();
    expect(images()).toEqual(['engine:2', 'engine:2']);
  });

  it('has no pods any more once it is deleted, and one of the same name gets new ones', async () => {
    await open(deploymentOf('chat', { replicas: 2 }));
    const before = pods().map(({ metadata }) => metadata.uid);
    await folder.remove(deploymentOf('chat'));
    expect(pods()).toEqual([]);
    await folder.put(deploymentOf('chat', { replicas: 2 }));
    expect(pods()).toHaveLength(2);
    expect(pods().some(({ metadata }) => before.includes(metadata.uid))).toBe(false);
  });

  it('is settled only when the pods that it loses are gone', async () => {
    await open(deploymentOf('chat', { replicas: 2 }));
    runner.isStoppedAtOnce = false;
    await scale('Deployment', 1);
    let isSettled = false;
    const settled = cluster.settled().then(() => {
      isSettled = true;
    });
    await turns();
    expect(isSettled).toBe(false);
    runner.release();
    await settled;
    expect(pods()).toHaveLength(1);
  });

  it('keeps the time since when it is available while its replicas change', async () => {
    await open(deploymentOf('chat', { replicas: 2 }));
    folder.clock.advance(60_000);
    await scale('Deployment', 1);
    expect(statusOf('Deployment').conditions).toMatchObject([
      { type: 'Available', status: 'True', message: '1 of 1 replicas are ready.', lastTransitionTime: '2026-11-30T12:00:00Z' },
      { type: 'Progressing' },
    ]);
  });

  it('is not changed by changes of other objects', async () => {
    await open(deploymentOf('chat'));
    const { resourceVersion } = cluster.objects.get('Deployment', 'default', 'chat')!.metadata;
    await folder.put(deploymentOf('other', { replicas: 2 }));
    expect(cluster.objects.get('Deployment', 'default', 'chat')!.metadata.resourceVersion).toBe(resourceVersion);
  });
});

describe('a StatefulSet', () => {
  it('starts its pods in order, each when the one before is ready, and ends them from the last', async () => {
    runner.isReadyAtOnce = false;
    await open(statefulSetOf('chat', { replicas: 3 }));
    expect(names()).toEqual(['chat-0']);
    runner.latest('chat-0').becomeReady();
    await turns();
    expect(names()).toEqual(['chat-0', 'chat-1']);
    runner.latest('chat-1').becomeReady();
    await turns();
    runner.latest('chat-2').becomeReady();
    await cluster.settled();
    expect(cluster.workloads()).toMatchObject([{ kind: 'StatefulSet', desired: 3, ready: 3 }]);
    await scale('StatefulSet', 1);
    expect(names()).toEqual(['chat-0']);
    expect(runner.starts.filter(({ stoppedWithMs }) => stoppedWithMs !== undefined).map(({ pod }) => pod.metadata.name)).toEqual([
      'chat-1',
      'chat-2',
    ]);
  });

  it('replaces outdated pods one at a time from the highest ordinal, each under its own name with a new uid', async () => {
    await open(statefulSetOf('chat', { replicas: 2 }));
    const before = new Map(pods().map(({ metadata }) => [metadata.name, metadata.uid]));
    runner.isReadyAtOnce = false;
    await folder.put(statefulSetOf('chat', { replicas: 2 }, 'engine:2'));
    expect(runner.latest('chat-1').pod.spec.containers[0]!.image).toBe('engine:2');
    expect(runner.latest('chat-0').pod.spec.containers[0]!.image).toBe('engine:1');
    runner.latest('chat-1').becomeReady();
    await turns();
    expect(runner.latest('chat-0').pod.spec.containers[0]!.image).toBe('engine:2');
    expect(names()).toEqual(['chat-0', 'chat-1']);
    for (const { metadata } of pods()) expect(metadata.uid).not.toBe(before.get(metadata.name));
  });
});

describe('a ModelServing', () => {
  const API = 'workload.serving.volcano.sh/v1alpha1';

  it('is a number of serving groups; they are what is scaled, counted and removed, the highest first', async () => {
    await open(servingOf('chat', { replicas: 2 }));
    expect(names()).toEqual(['chat-0-serve-0-0', 'chat-0-serve-0-1', 'chat-1-serve-0-0', 'chat-1-serve-0-1']);
    await scale('ModelServing', 3, API);
    expect(statusOf('ModelServing')).toMatchObject({
      replicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      currentReplicas: 3,
      labelSelector:
        'modelserving.volcano.sh/entry=true,modelserving.volcano.sh/name=chat,modelserving.volcano.sh/role-id=serve-0,modelserving.volcano.sh/role=serve',
      conditions: [
        { type: 'Available', status: 'True', reason: 'AllGroupsReady' },
        { type: 'Progressing', status: 'False' },
        { type: 'UpdateInProgress', status: 'False' },
      ],
    });
    await scale('ModelServing', 1, API);
    expect(names()).toEqual(['chat-0-serve-0-0', 'chat-0-serve-0-1']);
  });

  it('replaces one outdated group after the other', async () => {
    await open(servingOf('chat', { replicas: 2 }));
    runner.isReadyAtOnce = false;
    await folder.put(servingOf('chat', { replicas: 2 }, 'engine:2'));
    expect(images()).toEqual(['engine:1', 'engine:1', 'engine:2', 'engine:2']);
    expect(statusOf('ModelServing')).toMatchObject({ updatedReplicas: 1, currentReplicas: 1, availableReplicas: 1 });
    runner.latest('chat-1-serve-0-0').becomeReady();
    runner.latest('chat-1-serve-0-1').becomeReady();
    await turns();
    expect(images()).toEqual(['engine:2', 'engine:2', 'engine:2', 'engine:2']);
  });
});

describe('workloads that somebody else runs', () => {
  const given = (name: string, labels: Record<string, string>, status: Pod['status'] = { podIP: '10.0.0.1' }): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels, uid: `uid-${name}` },
    spec: { containers: [{ name: 'main', image: 'engine:1' }] },
    status,
  });

  it('get no pods when theirs are given with addresses; their status counts those', async () => {
    await open(
      deploymentOf('chat', { replicas: 3 }),
      given('a', { app: 'chat' }),
      given('b', { app: 'chat' }),
      deploymentOf('other'),
    );
    expect(names()).toEqual(['a', 'b', expect.stringMatching(/^other-/)]);
    expect(cluster.workloads()).toMatchObject([
      { name: 'chat', desired: 3, ready: 2 },
      { name: 'other', desired: 1, ready: 1 },
    ]);
    await scale('Deployment', 1);
    expect(names()).toHaveLength(3);
  });

  it('are ready unless their own status says otherwise, and keep their uid', async () => {
    const unready = { podIP: '10.0.0.2', phase: 'Running' as const, conditions: [{ type: 'Ready', status: 'False' as const }] };
    await open(given('a', {}), given('b', {}, unready), given('c', {}, { podIP: '10.0.0.3', phase: 'Failed' }));
    expect(pods().map((pod) => [pod.metadata.uid, isPodReady(pod)])).toEqual([
      ['uid-a', true],
      ['uid-b', false],
      ['uid-c', false],
    ]);
    expect(runner.starts).toEqual([]);
  });

  it('change as their file does, and go with it', async () => {
    await open(given('a', {}));
    await folder.put(given('a', { app: 'x' }, { podIP: '10.0.0.9' }));
    expect(pods()[0]).toMatchObject({ metadata: { uid: 'uid-a', labels: { app: 'x' } }, status: { podIP: '10.0.0.9' } });
    await folder.remove(given('a', {}));
    expect(pods()).toEqual([]);
  });

  it('without a runner no workload gets pods, and one is settled as it is', async () => {
    folder = new ManifestFolder([deploymentOf('chat', { replicas: 2 })]);
    cluster = await folder.open();
    await cluster.settled();
    expect(pods()).toEqual([]);
    expect(cluster.workloads()).toMatchObject([{ desired: 2, ready: 0 }]);
  });
});

describe('a name that another pod bears', () => {
  it('is waited for, with an event that says so', async () => {
    const holder: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'chat-0', namespace: 'default' },
      spec: { containers: [{ name: 'main', image: 'other:1' }] },
    };
    await open(holder, statefulSetOf('chat'));
    await cluster.settled();
    expect(images()).toEqual(['other:1']);
    expect(cluster.notedEvents()).toMatchObject([
      { kind: 'StatefulSet', reason: 'FailedCreate', message: 'the name of Pod default/chat-0 is taken by another pod' },
    ]);
    await folder.remove(holder);
    await cluster.settled();
    expect(images()).toEqual(['engine:1']);
  });
});

describe('a pod that stands in a file itself', () => {
  const bare = (image: string, labels: Record<string, string> = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'solo', namespace: 'default', labels },
    spec: { containers: [{ name: 'main', image }] },
  });

  it('is run, relabelled in place, replaced when its spec changes, and ended with its file', async () => {
    await open(bare('engine:1'));
    expect(isPodReady(pods()[0]!)).toBe(true);
    const { uid } = pods()[0]!.metadata;
    await cluster.pods.mark('default', 'solo', uid!, { 'kvasir.dev/drain': 'true' });
    await folder.put(bare('engine:1', { a: 'b' }));
    expect(pods()[0]!.metadata).toMatchObject({ uid, labels: { a: 'b' }, annotations: { 'kvasir.dev/drain': 'true' } });
    expect(isPodReady(pods()[0]!)).toBe(true);
    expect(runner.starts).toHaveLength(1);
    await folder.put(bare('engine:2'));
    await cluster.settled();
    expect(runner.running()).toEqual(['solo']);
    expect(runner.starts).toHaveLength(2);
    expect(pods()[0]!.metadata.uid).not.toBe(uid);
    await folder.remove(bare('engine:2'));
    expect(pods()).toEqual([]);
    expect(runner.running()).toEqual([]);
  });
});
