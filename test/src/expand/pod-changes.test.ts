import type { KubeObject } from '../../../src/api/meta';
import { podChanges } from '../../../src/expand';
import { comesToRest, leaving, names, pending, podsOf, SmallCluster, template } from '../../helpers/small-cluster';

type Spec = Readonly<Record<string, unknown>>;

function apps(kind: 'Deployment' | 'StatefulSet', spec: Spec): KubeObject {
  const object = {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'w', namespace: 'default' },
    spec: { template: template('v1'), ...spec },
  };
  return object;
}

function serving(spec: Spec, roles: readonly Spec[]): KubeObject {
  const whole = {
    ...spec,
    template: { roles: roles.map((role) => ({ workerReplicas: 0, entryTemplate: template('v1'), ...role })) },
  };
  const object = {
    apiVersion: 'workload.serving.volcano.sh/v1alpha1',
    kind: 'ModelServing',
    metadata: { name: 'ms', namespace: 'default' },
    spec: whole,
  };
  return object;
}

const workloads: readonly (readonly [string, (n: number, image: string) => KubeObject])[] = [
  ['a Deployment', (n, v) => apps('Deployment', { replicas: n, template: template(v) })],
  [
    'a Deployment that recreates',
    (n, v) => apps('Deployment', { replicas: n, template: template(v), strategy: { type: 'Recreate' } }),
  ],
  ['a StatefulSet', (n, v) => apps('StatefulSet', { replicas: n, template: template(v) })],
  [
    'a parallel StatefulSet',
    (n, v) => apps('StatefulSet', { replicas: n, template: template(v), podManagementPolicy: 'Parallel' }),
  ],
  [
    'a ModelServing',
    (n, v) =>
      serving({ replicas: n }, [
        { name: 'p', replicas: 2, entryTemplate: template(v) },
        { name: 'd', entryTemplate: template('w'), workerReplicas: 1, workerTemplate: template('w') },
      ]),
  ],
  [
    'a ModelServing that updates roles',
    (n, v) =>
      serving({ replicas: n, rolloutStrategy: { type: 'RoleRollingUpdate' } }, [
        { name: 'p', replicas: 2, entryTemplate: template(v) },
        { name: 'd', entryTemplate: template('w') },
      ]),
  ],
];

describe.each(workloads)('%s', (_, workload) => {
  comesToRest(workload);
});

describe('a rolling update', () => {
  it.each([
    [{}, 3, 5],
    [{ maxSurge: 0, maxUnavailable: 1 }, 3, 4],
    [{ maxSurge: 1, maxUnavailable: 0 }, 4, 5],
    [{ maxSurge: '100%', maxUnavailable: 0 }, 4, 8],
    [{ maxSurge: 0, maxUnavailable: 0 }, 3, 4],
  ])('of a Deployment of 4 with %j never has fewer than %i ready pods or more than %i', (rollingUpdate, fewest, most) => {
    const cluster = new SmallCluster();
    const strategy = { type: 'RollingUpdate', rollingUpdate };
    cluster.settle(apps('Deployment', { replicas: 4, strategy }));
    cluster.settle(apps('Deployment', { replicas: 4, strategy, template: template('v2') }));
    expect(cluster.fewestReady).toBeGreaterThanOrEqual(fewest);
    expect(cluster.mostPods).toBeLessThanOrEqual(most);
  });

  it('of a StatefulSet replaces one pod at a time, the highest ordinal first, down to its partition', () => {
    const updated = apps('StatefulSet', {
      replicas: 3,
      template: template('v2'),
      updateStrategy: { rollingUpdate: { partition: 1 } },
    });
    const old = podsOf(apps('StatefulSet', { replicas: 3 }));
    expect(names(podChanges(updated, old).remove)).toEqual(['w-2']);
    const cluster = new SmallCluster();
    cluster.pods = old;
    cluster.settle(updated);
    expect(
      cluster.pods.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map((pod) => pod.spec.containers[0]!.image),
    ).toEqual(['v1', 'v2', 'v2']);
    expect(cluster.fewestReady).toBe(2);
  });

  it('of a ModelServing takes at most maxUnavailable groups away, the highest first, and none below its partition', () => {
    const roles = [{ name: 'r', entryTemplate: template('v2') }];
    const rolloutStrategy = {
      type: 'ServingGroupRollingUpdate',
      rollingUpdateConfiguration: { maxUnavailable: 2, partition: 1 },
    };
    const updated = serving({ replicas: 4, rolloutStrategy }, roles);
    const old = podsOf(serving({ replicas: 4 }, [{ name: 'r' }]));
    expect(names(podChanges(updated, old).remove)).toEqual(['ms-3-r-0-0', 'ms-2-r-0-0']);
    const cluster = new SmallCluster();
    cluster.pods = old;
    cluster.settle(updated);
    expect(cluster.fewestReady).toBeGreaterThanOrEqual(2);
    expect(cluster.pods.filter((pod) => pod.spec.containers[0]!.image === 'v1').map((pod) => pod.metadata.name)).toEqual([
      'ms-0-r-0-0',
    ]);
  });
});

describe("the rolling budget of Kthena's vectors", () => {
  const roles = (image: string) => [{ name: 'r', entryTemplate: template(image) }];
  const rollout = (rollingUpdateConfiguration: Spec) => ({
    rolloutStrategy: { type: 'ServingGroupRollingUpdate', rollingUpdateConfiguration },
  });

  it('of 4 groups and 2 unavailable goes 3 and 2, none while both start, and 1 when one of them is ready', () => {
    const updated = serving({ replicas: 4, ...rollout({ maxUnavailable: 2 }) }, roles('v2'));
    const old = podsOf(serving({ replicas: 4 }, roles('v1')));
    const started = podsOf(updated);
    expect(names(podChanges(updated, old).remove)).toEqual(['ms-3-r-0-0', 'ms-2-r-0-0']);
    expect(podChanges(updated, [old[0]!, old[1]!, pending(started[2]!), pending(started[3]!)]).remove).toEqual([]);
    expect(names(podChanges(updated, [old[0]!, old[1]!, started[2]!, pending(started[3]!)]).remove)).toEqual(['ms-1-r-0-0']);
  });

  it('of 5 groups and a partition of 3 only 4 and 3 change', () => {
    const cluster = new SmallCluster();
    cluster.pods = podsOf(serving({ replicas: 5 }, roles('v1')));
    cluster.settle(serving({ replicas: 5, ...rollout({ partition: 3 }) }, roles('v2')));
    const images = cluster.pods.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]!.image}`);
    expect(images.toSorted()).toEqual(['v1', 'v1', 'v1', 'v2', 'v2'].map((image, i) => `ms-${i}-r-0-0 ${image}`));
  });
});

describe('a ModelServing', () => {
  const object = serving({ replicas: 3 }, [{ name: 'p' }, { name: 'd' }]);

  it('fills the lowest free ordinals, and keeps an ordinal until its last pod is gone', () => {
    const pods = podsOf(object).filter(({ metadata }) => !metadata.name.startsWith('ms-1-'));
    expect(names(podChanges(object, pods).create)).toEqual(['ms-1-p-0-0', 'ms-1-d-0-0']);
    const stillThere = podsOf(object).map((pod) => (pod.metadata.name.startsWith('ms-1-') ? leaving(pod) : pod));
    expect(podChanges(object, stillThere)).toEqual({ create: [], remove: [] });
  });

  it('makes a missing pod of a group anew', () => {
    const pods = podsOf(object).filter(({ metadata }) => metadata.name !== 'ms-1-p-0-0');
    expect(podChanges(object, pods)).toMatchObject({ create: [{ metadata: { name: 'ms-1-p-0-0' } }], remove: [] });
  });

  it('scales one role in every group', () => {
    const more = serving({ replicas: 3 }, [{ name: 'p', replicas: 2 }, { name: 'd' }]);
    expect(names(podChanges(more, podsOf(object)).create)).toEqual(['ms-0-p-1-0', 'ms-1-p-1-0', 'ms-2-p-1-0']);
    expect(names(podChanges(object, podsOf(more)).remove)).toEqual(['ms-0-p-1-0', 'ms-1-p-1-0', 'ms-2-p-1-0']);
  });

  it('removes pods of a role that is no longer there', () => {
    const fewer = serving({ replicas: 3 }, [{ name: 'p' }]);
    const { remove } = podChanges(fewer, podsOf(object));
    expect(names(remove)).toEqual(expect.arrayContaining(['ms-0-d-0-0', 'ms-1-d-0-0', 'ms-2-d-0-0']));
  });
});

describe('a Deployment', () => {
  it('replaces a pod that is being deleted at once, under another name', () => {
    const object = apps('Deployment', { replicas: 2 });
    const [first, second] = podsOf(object);
    const { create, remove } = podChanges(object, [leaving(first!), second!]);
    expect(remove).toEqual([]);
    expect(create).toHaveLength(1);
    expect(names([first!, second!])).not.toContain(create[0]!.metadata.name);
  });
});
