import type { KubeObject } from '../../../src/api/meta';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { podChanges } from '../../../src/expand';
import { comesToRest, leaving, names, pending, podsOf, SmallCluster, template } from '../../helpers/small-cluster';

type Spec = Readonly<Record<string, unknown>>;

const lwsSpec = (image: string, size: number) => ({
  leaderWorkerTemplate: { size, workerTemplate: template(image) },
});

function leaderWorker(spec: Spec, image = 'v1', size = 2): KubeObject {
  const object = {
    apiVersion: 'leaderworkerset.x-k8s.io/v1',
    kind: 'LeaderWorkerSet',
    metadata: { name: 'lws', namespace: 'default' },
    spec: { ...lwsSpec(image, size), ...spec },
  };
  return object;
}

/** Prefill of one pod and decode of two pods per replica. */
function disaggregated(
  counts: readonly [prefill: number, decode: number],
  image = 'v1',
  spec: Spec = {},
  role: Spec = {},
): KubeObject {
  const object = {
    apiVersion: 'disaggregatedset.x-k8s.io/v1',
    kind: 'DisaggregatedSet',
    metadata: { name: 'ds', namespace: 'default' },
    spec: {
      roles: ['prefill', 'decode'].map((name, i) => ({ name, spec: { replicas: counts[i], ...lwsSpec(image, i + 1), ...role } })),
      ...spec,
    },
  };
  return object;
}

const workloads: readonly (readonly [string, (n: number, image: string) => KubeObject])[] = [
  ['a LeaderWorkerSet', (n, v) => leaderWorker({ replicas: n }, v)],
  [
    'a LeaderWorkerSet that surges and waits for its leaders',
    (n, v) =>
      leaderWorker(
        {
          replicas: n,
          startupPolicy: 'LeaderReady',
          rolloutStrategy: { rollingUpdateConfiguration: { maxSurge: 2, maxUnavailable: 0 } },
        },
        v,
      ),
  ],
  ['a DisaggregatedSet', (n, v) => disaggregated([n, 2], v)],
  ['a DisaggregatedSet of some slices', (n, v) => disaggregated([1, 2], v, { slices: (n % 3) + 1 })],
];

describe.each(workloads)('%s', (_, workload) => {
  comesToRest(workload);
});

describe('a LeaderWorkerSet', () => {
  const object = leaderWorker({ replicas: 3 });
  const restarted = (pod: Pod): Pod => ({
    ...pod,
    status: { ...pod.status, containerStatuses: [{ name: 'c', ready: true, restartCount: 1 }] },
  });

  it.each([
    [{ maxUnavailable: 1 }, 3, 8],
    [{ maxSurge: 1, maxUnavailable: 0 }, 4, 10],
    [{ maxUnavailable: '50%' }, 2, 8],
  ])(
    'of 4 groups updates by %j with at least %i groups ready and at most %i pods',
    (rollingUpdateConfiguration, fewest, most) => {
      const cluster = new SmallCluster();
      const rolloutStrategy = { rollingUpdateConfiguration };
      cluster.settle(leaderWorker({ replicas: 4, rolloutStrategy }));
      cluster.settle(leaderWorker({ replicas: 4, rolloutStrategy }, 'v2'));
      expect(cluster.fewestReady).toBeGreaterThanOrEqual(fewest * 2);
      expect(cluster.mostPods).toBeLessThanOrEqual(most);
    },
  );

  it('updates the highest ordinals first, down to its partition', () => {
    const updated = leaderWorker({ replicas: 3, rolloutStrategy: { rollingUpdateConfiguration: { partition: 1 } } }, 'v2');
    expect(names(podChanges(updated, podsOf(object)).remove)).toEqual(['lws-2', 'lws-2-1']);
    const cluster = new SmallCluster();
    cluster.pods = podsOf(object);
    cluster.settle(updated);
    expect(names(cluster.pods.filter((pod) => pod.spec.containers[0]!.image === 'v1'))).toEqual(['lws-0', 'lws-0-1']);
  });

  it.each([
    ['was restarted', restarted],
    ['is being deleted', leaving],
  ])('makes a whole group anew when a worker of it %s', (_, fail) => {
    const pods = podsOf(object).map((pod) => (pod.metadata.name === 'lws-1-1' ? fail(pod) : pod));
    const { create, remove } = podChanges(object, pods);
    expect(create).toEqual([]);
    expect(names(remove)).toEqual(fail === leaving ? ['lws-1'] : ['lws-1', 'lws-1-1']);
  });

  it('makes a single worker anew when told so, and a group whose leader goes all the same', () => {
    const alone = leaderWorker({
      replicas: 2,
      leaderWorkerTemplate: { ...lwsSpec('v1', 2).leaderWorkerTemplate, restartPolicy: 'None' },
    });
    const lacking = podsOf(alone).filter(({ metadata }) => metadata.name !== 'lws-1-1');
    expect(podChanges(alone, lacking)).toMatchObject({ create: [{ metadata: { name: 'lws-1-1' } }], remove: [] });
    const headless = podsOf(alone).map((pod) => (pod.metadata.name === 'lws-1' ? leaving(pod) : pod));
    expect(names(podChanges(alone, headless).remove)).toEqual(['lws-1-1']);
  });

  it('makes workers after their leader is ready, when told so', () => {
    const patient = leaderWorker({ replicas: 1, startupPolicy: 'LeaderReady' });
    const [leader] = podsOf(patient);
    expect(names(podChanges(patient, []).create)).toEqual(['lws-0']);
    expect(podChanges(patient, [pending(leader!)]).create).toEqual([]);
    expect(names(podChanges(patient, [leader!]).create)).toEqual(['lws-0-1']);
  });

  it('loses its highest groups when it is scaled down', () => {
    expect(names(podChanges(leaderWorker({ replicas: 1 }), podsOf(object)).remove)).toEqual([
      'lws-1',
      'lws-1-1',
      'lws-2',
      'lws-2-1',
    ]);
  });
});

describe('a DisaggregatedSet', () => {
  const countOf = (pods: readonly Pod[], role: string, image: string) =>
    pods.filter(
      ({ metadata, spec }) => metadata.labels!['disaggregatedset.x-k8s.io/role'] === role && spec.containers[0]!.image === image,
    ).length;

  it('updates its roles in step: neither runs ahead of the other by more than a step', () => {
    const cluster = new SmallCluster();
    cluster.settle(disaggregated([4, 4]));
    const updated = disaggregated([4, 4], 'v2');
    for (let i = 0; i < 60; i++) {
      cluster.step(updated);
      const readyNew = (role: string) => countOf(cluster.pods.filter(isPodReady), role, 'v2');
      expect(Math.abs(readyNew('prefill') - readyNew('decode') / 2)).toBeLessThanOrEqual(1);
      const serving = (role: string) => countOf(cluster.pods.filter(isPodReady), role, 'v1') + readyNew(role);
      expect(serving('prefill')).toBeGreaterThanOrEqual(3);
      expect(serving('decode')).toBeGreaterThanOrEqual(6);
    }
    expect([countOf(cluster.pods, 'prefill', 'v2'), countOf(cluster.pods, 'decode', 'v2')]).toEqual([4, 8]);
  });

  it('keeps the running revision when one role is scaled', () => {
    const before = disaggregated([1, 1]);
    const { create, remove } = podChanges(disaggregated([3, 1]), podsOf(before));
    expect(remove).toEqual([]);
    expect(create.map(({ metadata }) => metadata.labels!['disaggregatedset.x-k8s.io/role'])).toEqual(['prefill', 'prefill']);
  });

  it('removes the slices that are too many, and pods of a role that is no longer there', () => {
    const two = podsOf(disaggregated([1, 1], 'v1', { slices: 2 }));
    const { remove } = podChanges(disaggregated([1, 1]), two);
    expect(remove.map(({ metadata }) => metadata.labels!['disaggregatedset.x-k8s.io/slice'])).toEqual(['1', '1', '1']);
    const foreign = two.map((pod) => ({
      ...pod,
      metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, 'disaggregatedset.x-k8s.io/role': 'encode' } },
    }));
    expect(names(podChanges(disaggregated([1, 1], 'v1', { slices: 2 }), foreign).remove)).toEqual(names(foreign));
  });
});
