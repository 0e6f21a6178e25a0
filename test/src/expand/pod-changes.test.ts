import fc from 'fast-check';
import type { KubeObject } from '../../../src/api/meta';
import { isPodReady, type Pod } from '../../../src/api/pod';
import { expandWorkload, podChanges } from '../../../src/expand';

type Spec = Readonly<Record<string, unknown>>;

const template = (image: string) => ({ metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image }] } });

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

const ready = (pod: Pod): Pod => ({ ...pod, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } });
const pending = (pod: Pod): Pod => ({ ...pod, status: { phase: 'Pending' } });
const leaving = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
const names = (pods: readonly Pod[]) => pods.map((pod) => pod.metadata.name);
const podsOf = (object: KubeObject) => expandWorkload(object)!.pods.map(({ pod }) => ready(pod));

/** A cluster in small: pods that were asked for become ready a step later, deleted ones are gone a step later. */
class Cluster {
  pods: readonly Pod[] = [];
  fewestReady = Number.POSITIVE_INFINITY;
  mostPods = 0;

  step(object: KubeObject): boolean {
    const { create, remove } = podChanges(object, this.pods);
    const removed = new Set(names(remove));
    const settled = this.pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => (removed.has(pod.metadata.name) ? leaving(pod) : ready(pod)));
    const isDone = create.length === 0 && remove.length === 0 && this.pods.every((pod) => isPodReady(pod));
    this.pods = [...settled, ...create.map(pending)];
    this.fewestReady = Math.min(this.fewestReady, this.pods.filter(isPodReady).length);
    this.mostPods = Math.max(this.mostPods, this.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length);
    return isDone;
  }

  settle(object: KubeObject): void {
    this.fewestReady = Number.POSITIVE_INFINITY;
    this.mostPods = 0;
    for (let i = 0; i < 200; i++) if (this.step(object)) return;
    throw new Error(`not at rest: ${names(this.pods).join(' ')}`);
  }
}

const replicas = fc.integer({ min: 0, max: 6 });
const image = fc.constantFrom('v1', 'v2', 'v3');
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
  it('comes to rest with the pods of its plan, after any history of scales and updates', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(replicas, image, fc.integer({ min: 0, max: 12 })), { minLength: 1, maxLength: 4 }),
        (history) => {
          const cluster = new Cluster();
          for (const [n, v, steps] of history) for (let i = 0; i < steps; i++) cluster.step(workload(n, v));
          const [n, v] = history.at(-1)!;
          const last = workload(n, v);
          cluster.settle(last);
          expect(cluster.pods).toHaveLength(expandWorkload(last)!.pods.length);
          expect(new Set(names(cluster.pods)).size).toBe(cluster.pods.length);
          for (const pod of cluster.pods) expect(['w', v]).toContain(pod.spec.containers[0]!.image);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('creates exactly its plan in an empty cluster', () => {
    const cluster = new Cluster();
    const object = workload(3, 'v1');
    cluster.settle(object);
    expect(names(cluster.pods).toSorted()).toEqual(names(podsOf(object)).toSorted());
  });
});

describe('a rolling update', () => {
  it.each([
    [{}, 3, 5],
    [{ maxSurge: 0, maxUnavailable: 1 }, 3, 4],
    [{ maxSurge: 1, maxUnavailable: 0 }, 4, 5],
    [{ maxSurge: '100%', maxUnavailable: 0 }, 4, 8],
    [{ maxSurge: 0, maxUnavailable: 0 }, 3, 4],
  ])('of a Deployment of 4 with %j never has fewer than %i ready pods or more than %i', (rollingUpdate, fewest, most) => {
    const cluster = new Cluster();
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
    const cluster = new Cluster();
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
    const cluster = new Cluster();
    cluster.pods = old;
    cluster.settle(updated);
    expect(cluster.fewestReady).toBeGreaterThanOrEqual(2);
    expect(cluster.pods.filter((pod) => pod.spec.containers[0]!.image === 'v1').map((pod) => pod.metadata.name)).toEqual([
      'ms-0-r-0-0',
    ]);
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
