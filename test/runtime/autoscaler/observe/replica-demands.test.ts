import type { EngineWindow } from '../../../../runtime/autoscaler/decide/capacity/engine-window';
import { replicaDemands } from '../../../../runtime/autoscaler/observe/replica-demands';
import { targetPods } from '../../../../runtime/autoscaler/observe/target-pods';
import type { Pod } from '../../../../src/api/pod';
import { FakeAutoscalerCluster, readyPod } from '../../../helpers/fake-autoscaler-cluster';

const window = (finished: number): EngineWindow => ({
  spanMs: 60_000,
  ranks: 1,
  decodeTokens: 0,
  decodeMs: 0,
  prefillTokens: 0,
  promptTokens: 0,
  outputTokens: 0,
  finished,
  running: [0, 0],
  waiting: [0, 0],
});

const serving = (group: number, id: number): Pod =>
  readyPod(
    `pd-${group}-serve-${id}-0`,
    {
      'modelserving.volcano.sh/name': 'pd',
      'modelserving.volcano.sh/group-name': `pd-${group}`,
      'modelserving.volcano.sh/role': 'serve',
      'modelserving.volcano.sh/role-id': `serve-${id}`,
    },
    '127.0.0.1',
  );

const demands = (pods: readonly Pod[], known: readonly (readonly [Pod, number])[], role?: string): readonly number[] =>
  replicaDemands(
    pods,
    known.map(([pod, finished]) => ({ pod, window: window(finished) })),
    role,
    ({ finished }) => finished,
  );

describe('what is asked of a replica', () => {
  const [a, b, c, d] = [serving(0, 0), serving(0, 1), serving(1, 0), serving(1, 1)];
  const all = [a!, b!, c!, d!];

  it('is the sum over the engines of its group, and not known as long as one of them is silent', () => {
    expect(
      demands(all, [
        [a!, 1],
        [b!, 2],
        [c!, 3],
        [d!, 4],
      ]),
    ).toEqual([3, 7]);
    expect(
      demands(all, [
        [a!, 1],
        [b!, 2],
        [c!, 3],
      ]),
    ).toEqual([3]);
  });

  it('of a role is the mean over groups, of those that tell', () => {
    expect(
      demands(
        all,
        [
          [a!, 1],
          [b!, 2],
          [c!, 3],
          [d!, 4],
        ],
        'serve',
      ),
    ).toEqual([2, 3]);
    expect(
      demands(
        all,
        [
          [a!, 1],
          [c!, 3],
        ],
        'serve',
      ),
    ).toEqual([2]);
  });

  it('does not wait for an engine that ends', () => {
    const ending = { ...b!, metadata: { ...b!.metadata, deletionTimestamp: '2026-11-30T12:00:00Z' } };
    expect(demands([a!, ending], [[a!, 1]])).toEqual([1]);
  });

  it('of a LeaderWorkerSet is what its leader tells, and each leader is a replica', () => {
    const cluster = new FakeAutoscalerCluster();
    const target = { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', namespace: 'default', name: 'big' };
    for (const [group, worker] of [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ] as const) {
      const labels = {
        'leaderworkerset.sigs.k8s.io/name': 'big',
        'leaderworkerset.sigs.k8s.io/group-index': String(group),
        'leaderworkerset.sigs.k8s.io/worker-index': String(worker),
      };
      cluster.put(readyPod(`big-${group}-${worker}`, labels, '127.0.0.1'));
    }
    const pods = targetPods(cluster.objects, { target }, { 'leaderworkerset.sigs.k8s.io/name': 'big' });
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['big-0-0', 'big-1-0']);
    expect(
      demands(pods, [
        [pods[0]!, 5],
        [pods[1]!, 6],
      ]),
    ).toEqual([5, 6]);
  });
});
