import type { ManifestCluster } from '../../../../runtime/cluster/manifests';
import { restartBackOffMs } from '../../../../runtime/cluster/manifests/pod-life';
import { isPodReady, type Pod } from '../../../../src/api/pod';
import { podAddress } from '../../../../src/expand/pod-address';
import { FakePodRunner } from '../../../helpers/fake-pod-runner';
import { EPOCH_MS, ManifestFolder, turns } from '../../../helpers/manifest-folder';
import { deploymentOf, serverFor, servingOf } from '../../../helpers/workload-objects';

let folder: ManifestFolder;
let runner: FakePodRunner;
let cluster: ManifestCluster;

async function open(...objects: ConstructorParameters<typeof ManifestFolder>[0] & object): Promise<void> {
  folder = new ManifestFolder(objects);
  cluster = await folder.open({ runner });
  await turns();
}

function pods(): readonly Pod[] {
  return cluster.objects.list('Pod');
}

function onlyPod(): Pod {
  expect(pods()).toHaveLength(1);
  return pods()[0]!;
}

function waiting(pod: Pod): unknown {
  return pod.status?.containerStatuses?.[0]?.state?.waiting;
}

beforeEach(() => {
  runner = new FakePodRunner();
});
afterEach(async () => {
  runner.release();
  await folder.close();
});

describe('a pod that starts', () => {
  it('is pending without an address until the runner has one, running after that, ready when it says so', async () => {
    runner.isReadyAtOnce = false;
    let start: () => void = () => undefined;
    runner.mayStart = new Promise((resolve) => {
      start = resolve;
    });
    await open(deploymentOf('chat'));
    expect(onlyPod().status?.podIP).toBeUndefined();
    start();
    await turns();
    expect(onlyPod().status).toMatchObject({ phase: 'Running', podIP: runner.starts[0]!.podIP });
    expect(isPodReady(onlyPod())).toBe(false);
    runner.starts[0]!.becomeReady();
    await turns();
    expect(isPodReady(onlyPod())).toBe(true);
    expect(onlyPod().status?.startTime).toBe('2026-11-30T12:00:00Z');
    expect(cluster.workloads()).toEqual([{ kind: 'Deployment', namespace: 'default', name: 'chat', desired: 1, ready: 1 }]);
  });

  it('tells by its port map where ports that differ really are', async () => {
    runner.ports = { 8000: 41_234, 9090: 41_235 };
    await open(deploymentOf('chat'));
    expect(podAddress(onlyPod(), 8000)).toEqual({ host: '127.0.1.1', port: 41_234 });
    expect(podAddress(onlyPod(), 9090)).toEqual({ host: '127.0.1.1', port: 41_235 });
  });

  it('waits and is tried again when it cannot be created, and its event says why', async () => {
    runner.refusal = 'no address is free';
    await open(deploymentOf('chat'));
    expect(runner.starts).toHaveLength(1);
    expect(isPodReady(onlyPod())).toBe(true);
    expect(onlyPod().status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(cluster.notedEvents()).toMatchObject([
      { kind: 'Pod', type: 'Warning', reason: 'BackOff', message: 'no address is free; restarts at once' },
    ]);
  });
});

describe('a pod whose process ends by itself', () => {
  it.each([
    [1, 0],
    [2, 10_000],
    [3, 20_000],
    [4, 40_000],
    [5, 80_000],
    [6, 160_000],
    [7, 300_000],
    [8, 300_000],
    [50, 300_000],
  ])('after crash %i in a row waits %i ms', (crashes, waitMs) => {
    expect(restartBackOffMs(crashes)).toBe(waitMs);
  });

  it('is restarted in place: same pod, one more restart, at once the first time and after 10 s the second', async () => {
    await open(deploymentOf('chat'));
    const { uid } = onlyPod().metadata;
    runner.starts[0]!.exit('out of memory');
    await turns();
    expect(runner.starts).toHaveLength(2);
    expect(onlyPod().metadata.uid).toBe(uid);
    expect(onlyPod().status).toMatchObject({ podIP: '127.0.1.2', containerStatuses: [{ restartCount: 1, ready: true }] });

    runner.starts[1]!.exit('out of memory');
    await turns();
    expect(isPodReady(onlyPod())).toBe(false);
    expect(waiting(onlyPod())).toEqual({ reason: 'CrashLoopBackOff', message: 'out of memory' });
    folder.clock.advance(9999);
    await turns();
    expect(runner.starts).toHaveLength(2);
    folder.clock.advance(1);
    await turns();
    expect(runner.starts).toHaveLength(3);
    expect(isPodReady(onlyPod())).toBe(true);
  });

  it('is forgiven its crashes after ten minutes of running', async () => {
    await open(deploymentOf('chat'));
    for (let crash = 0; crash < 3; crash++) {
      folder.clock.advance(600_001);
      await turns();
      runner.starts[crash]!.exit('crash');
      await turns();
      expect(runner.starts).toHaveLength(crash + 2);
    }
  });

  it('that cannot get ready is ended, and counts as settled once it has failed', async () => {
    runner.isReadyAtOnce = false;
    await open(deploymentOf('chat'));
    let isSettled = false;
    const settled = cluster.settled().then(() => {
      isSettled = true;
    });
    await turns();
    expect(isSettled).toBe(false);
    runner.starts[0]!.failToStart('the model does not fit');
    await settled;
    expect(runner.starts[0]!.stoppedWithMs).toBe(0);
    runner.starts[1]!.failToStart('the model does not fit');
    await turns();
    expect(waiting(onlyPod())).toEqual({ reason: 'CrashLoopBackOff', message: 'the model does not fit' });
    expect(cluster.workloads()[0]).toMatchObject({ desired: 1, ready: 0 });
  });

  it('is not disturbed by what a run that is over still says', async () => {
    runner.isReadyAtOnce = false;
    await open(deploymentOf('chat'));
    runner.starts[0]!.exit('crash');
    await turns();
    runner.starts[1]!.becomeReady();
    await turns();
    runner.starts[0]!.failToStart('too late');
    await turns();
    expect(runner.starts).toHaveLength(2);
    expect(runner.starts[1]!.stoppedWithMs).toBeUndefined();
    expect(isPodReady(onlyPod())).toBe(true);
  });

  it('keeps the times of conditions that did not change', async () => {
    await open(deploymentOf('chat'));
    folder.clock.advance(60_000);
    runner.isReadyAtOnce = false;
    runner.starts[0]!.exit('crash');
    await turns();
    expect(onlyPod().status?.conditions).toMatchObject([
      { type: 'PodScheduled', lastTransitionTime: '2026-11-30T12:00:00Z' },
      { type: 'Initialized', lastTransitionTime: '2026-11-30T12:00:00Z' },
      { type: 'ContainersReady', status: 'False', lastTransitionTime: '2026-11-30T12:01:00Z' },
      { type: 'Ready', status: 'False', lastTransitionTime: '2026-11-30T12:01:00Z' },
    ]);
  });
});

describe('a pod that is removed', () => {
  it('is terminating, not ready and still there until its process ended, within its grace period', async () => {
    runner.isStoppedAtOnce = false;
    const template = {
      metadata: { labels: { app: 'chat' } },
      spec: { containers: [{ name: 'main' }], terminationGracePeriodSeconds: 90 },
    };
    await open(deploymentOf('chat', { template }));
    await folder.remove(deploymentOf('chat'));
    expect(runner.starts[0]!.stoppedWithMs).toBe(90_000);
    expect(onlyPod().metadata.deletionTimestamp).toBe('2026-11-30T12:01:30Z');
    expect(isPodReady(onlyPod())).toBe(false);
    runner.starts[0]!.finishStop();
    await turns();
    expect(pods()).toEqual([]);
  });

  it('goes at once while it waits to be restarted', async () => {
    await open(deploymentOf('chat'));
    runner.starts[0]!.exit('crash');
    await turns();
    runner.starts[1]!.exit('crash');
    await turns();
    await folder.remove(deploymentOf('chat'));
    expect(pods()).toEqual([]);
    expect(folder.clock.step()).toBe(false);
    expect(runner.starts).toHaveLength(2);
  });

  it('is ended when the cluster closes, and nothing starts after that', async () => {
    await open(deploymentOf('chat', { replicas: 3 }));
    await cluster.close();
    expect(runner.running()).toEqual([]);
    folder.clock.runToEnd();
    await turns();
    expect(runner.starts).toHaveLength(3);
    expect(folder.clock.step()).toBe(false);
  });

  it('is ended even when the cluster closes while it is being started', async () => {
    let start: () => void = () => undefined;
    runner.mayStart = new Promise((resolve) => {
      start = resolve;
    });
    await open(deploymentOf('chat'));
    const closed = cluster.close();
    start();
    await closed;
    expect(runner.starts).toHaveLength(1);
    expect(runner.running()).toEqual([]);
  });
});

describe('the engine of a pod', () => {
  it('is what the ModelServer says that selects it, and the pod restarts in place when that changes', async () => {
    await open(deploymentOf('chat', {}, 'mock:1'));
    expect(runner.starts[0]!.plan).toBeUndefined();
    await folder.put(serverFor('chat', { model: 'Qwen/Qwen3-8B', workloadPort: { port: 8123 } }));
    expect(runner.starts).toHaveLength(2);
    expect(runner.starts[0]!.stoppedWithMs).toBeDefined();
    expect(runner.starts[1]!.plan).toMatchObject({ engine: 'vllm', port: 8123, servedModelNames: ['Qwen/Qwen3-8B'] });
    expect(onlyPod().status).toMatchObject({ podIP: '127.0.1.2', containerStatuses: [{ restartCount: 0 }] });
    await folder.put(serverFor('unrelated'));
    expect(runner.starts).toHaveLength(2);
  });
});

describe('a ModelServing whose pod crashed', () => {
  const uids = () => new Map(pods().map(({ metadata }) => [metadata.name, metadata.uid]));

  /** Two groups of two role instances of two pods each, of which one pod crashes. */
  async function crash(recoveryPolicy: string): Promise<{ before: Map<string, string | undefined> }> {
    const serving = servingOf('chat', { replicas: 2, recoveryPolicy });
    const roles = serving.spec.template.roles.map((role) => ({ ...role, replicas: 2 }));
    await open({ ...serving, spec: { ...serving.spec, template: { roles } } } as typeof serving);
    const before = uids();
    expect(before.size).toBe(8);
    runner.isReadyAtOnce = false;
    runner.latest('chat-0-serve-0-0').exit('crash');
    await turns();
    return { before };
  }

  it.each([
    ['RoleRecreate', ['chat-0-serve-0-0', 'chat-0-serve-0-1']],
    ['ServingGroupRecreate', ['chat-0-serve-0-0', 'chat-0-serve-0-1', 'chat-0-serve-1-0', 'chat-0-serve-1-1']],
  ])('under %s makes the pods of its unit anew, and no others', async (recoveryPolicy, anew) => {
    const { before } = await crash(recoveryPolicy);
    expect([...uids().keys()].sort()).toEqual([...before.keys()].sort());
    const changed = [...uids()].filter(([name, uid]) => before.get(name) !== uid).map(([name]) => name);
    expect(changed.sort()).toEqual(anew);
  });

  it('under None leaves the pod to restart in place', async () => {
    const { before } = await crash('None');
    expect(uids()).toEqual(before);
    expect(runner.starts).toHaveLength(9);
  });

  it('waits restartGracePeriodSeconds for it to get ready again', async () => {
    const serving = servingOf('chat');
    await open({
      ...serving,
      spec: { ...serving.spec, template: { ...serving.spec.template, restartGracePeriodSeconds: 20 } },
    } as typeof serving);
    const before = uids();
    folder.clock.advance(1000);
    runner.isReadyAtOnce = false;
    runner.latest('chat-0-serve-0-0').exit('crash');
    await turns();
    folder.clock.advance(19_000);
    await turns();
    expect(uids()).toEqual(before);
    folder.clock.advance(1000);
    await turns();
    expect([...uids().values()].some((uid) => [...before.values()].includes(uid))).toBe(false);
    expect(folder.clock.now()).toBe(EPOCH_MS + 21_000);
  });
});
