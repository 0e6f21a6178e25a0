import { chooseVictims } from '../../../runtime/autoscaler/apply/choose-victims';
import { POD_DELETION_COST } from '../../../src/expand/victims';
import { Annotations } from '../../../src/labels';
import { AutoscalerRig, runningPage } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';
import { serverFor } from '../../helpers/workload-objects';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open({ drainTimeoutMs: 120_000 });
});

afterEach(() => rig.close());

const atOnce = { behavior: { scaleDown: { stabilizationWindow: '0s', period: '0s' } } };

/** A Deployment whose pods a router serves; `running[i]` requests on pod i. */
function chat(running: readonly number[], more: object = {}): void {
  rig.cluster.target('Deployment', 'chat', running.length);
  rig.cluster.templates.set('chat', [{ metadata: { name: 'chat', labels: { app: 'chat' } }, spec: { containers: [] } }]);
  load(running);
  rig.cluster.put(serverFor('chat', { workloadPort: { port: rig.pages.port } }), rig.policy('p', 'chat', { ...atOnce, ...more }));
}

/** Sets requests of pods and keeps the marks on them. */
function load(running: readonly number[]): void {
  running.forEach((count, i) => {
    const host = `127.0.1.${i + 1}`;
    if (rig.cluster.objects.get('Pod', 'default', `chat-${i}`) === undefined) {
      rig.cluster.put(readyPod(`chat-${i}`, { app: 'chat' }, host));
    }
    rig.pages.byHost.set(host, runningPage(count));
  });
}

const drained = (): string[] =>
  rig.cluster.objects
    .list('Pod')
    .filter(({ metadata }) => metadata.annotations?.[Annotations.drain] === 'true')
    .map(({ metadata }) => metadata.name)
    .sort();

describe('replicas of a target that routers serve', () => {
  it('go when the pods with the fewest requests are out of routing and have none any more', async () => {
    chat([8, 2, 9, 1]);
    await rig.round();
    expect(drained()).toEqual(['chat-1', 'chat-3']);
    const pod = rig.cluster.objects.get('Pod', 'default', 'chat-3')!;
    expect(pod.metadata.annotations?.[POD_DELETION_COST]).toBe('-1000');
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'True' });

    load([9, 0, 10, 1]);
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    load([9, 0, 10, 0]);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 2 }]);
  });

  it('go at the deadline, whatever streams are left', async () => {
    chat([8, 2, 9, 1]);
    await rig.round();
    load([8, 1, 9, 1]);
    for (let i = 0; i < 7; i++) await rig.round();
    expect(rig.cluster.written).toEqual([]);
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 2 }]);
  });

  it('stay and are back in routing when load rises meanwhile', async () => {
    chat([8, 2, 9, 1]);
    await rig.round();
    expect(drained()).toHaveLength(2);
    load([18, 2, 19, 1]);
    await rig.round();
    expect(drained()).toEqual([]);
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.objects.get('Pod', 'default', 'chat-3')!.metadata.annotations).toEqual({});
  });

  it('that a person drains are the first to go, and the mark stays theirs', async () => {
    chat([4, 4, 0, 3]);
    const pod = rig.cluster.objects.get('Pod', 'default', 'chat-0')!;
    rig.cluster.put({ ...pod, metadata: { ...pod.metadata, annotations: { [Annotations.drain]: 'true' } } });
    await rig.round();
    expect(drained()).toEqual(['chat-0', 'chat-2']);
    expect(rig.cluster.objects.get('Pod', 'default', 'chat-0')!.metadata.annotations).toEqual({ [Annotations.drain]: 'true' });
  });

  it('do not go during a rollout, except to the maximum', async () => {
    chat([1, 1, 1, 1]);
    const revision = (i: number, hash: string): void => {
      const pod = rig.cluster.objects.get('Pod', 'default', `chat-${i}`)!;
      rig.cluster.put({ ...pod, metadata: { ...pod.metadata, labels: { app: 'chat', 'pod-template-hash': hash } } });
    };
    for (const i of [0, 1, 2]) revision(i, 'old');
    revision(3, 'new');
    await rig.round();
    expect(drained()).toEqual([]);
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({ status: 'True', reason: 'RollingOut' });
    for (const i of [0, 1, 2]) revision(i, 'new');
    await rig.round();
    expect(drained()).toHaveLength(3);
  });
});

describe('which pod goes', () => {
  const pods = [0, 1, 2].map((i) => readyPod(`chat-${i}`, { 'leaderworkerset.sigs.k8s.io/group-index': String(i) }, '127.0.0.1'));
  const names = async (kind: string, list = pods): Promise<readonly string[] | undefined> =>
    (await chooseVictims({ kind }, list, list.length - 1, async ({ metadata }) => Number(metadata.name.at(-1))))?.map(
      ({ metadata }) => metadata.name,
    );

  it.each<[string, readonly string[] | undefined]>([
    ['Deployment', ['chat-0']],
    ['ModelServing', ['chat-0']],
    ['StatefulSet', ['chat-2']],
    ['LeaderWorkerSet', ['chat-2']],
    ['Unknown', undefined],
  ])('of a %s is %j', async (kind, expected) => {
    expect(await names(kind)).toEqual(expected);
  });

  it('is one that is not ready before any that is', async () => {
    const pending = { ...pods[2]!, status: { phase: 'Pending' as const } };
    expect(await names('Deployment', [pods[0]!, pods[1]!, pending])).toEqual(['chat-2']);
  });
});
