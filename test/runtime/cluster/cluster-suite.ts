import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Cluster } from '../../../runtime/cluster/cluster';
import { withFaults } from '../../../runtime/cluster/faults';
import type { Scale, TargetRef } from '../../../runtime/cluster/scaling';
import type { VirtualClock } from '../../../runtime/lib/virtual-clock';
import type { KubeObject } from '../../../src/api/meta';
import { deploymentOf, policyFor, serverFor, servingOf } from '../../helpers/workload-objects';

/** A cluster that was opened for one row. */
export interface OpenedSource {
  readonly cluster: Cluster;
  readonly clock: VirtualClock;
  /** Resolves when workloads have the pods that they ask for, and the cluster's view shows all that is so. */
  settled(): Promise<void>;
  /** Somebody else applies objects. Resolves when the cluster's view shows it. */
  put(...objects: readonly KubeObject[]): Promise<void>;
  /** Somebody else deletes objects. Resolves when the cluster's view shows it. */
  remove(...objects: readonly KubeObject[]): Promise<void>;
  close(): Promise<void>;
}

/** Where clusters of one kind come from. */
export interface ClusterSource {
  readonly name: string;
  /** Opens a cluster that holds `objects`, with the pods of their workloads running. */
  open(objects: readonly KubeObject[]): Promise<OpenedSource>;
  /** Rows that it cannot run, each with the reason. */
  readonly cannot: Readonly<Record<string, string>>;
}

type Row = (open: (...objects: readonly KubeObject[]) => Promise<OpenedSource>) => Promise<void>;

const chat: TargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'chat' };
const serving: TargetRef = { ...chat, apiVersion: 'workload.serving.volcano.sh/v1alpha1', kind: 'ModelServing' };

async function scaleOf({ cluster }: Pick<OpenedSource, 'cluster'>, target = chat): Promise<Scale> {
  const outcome = await cluster.scaling.read(target);
  if (outcome.kind !== 'found') throw new Error(`scale of ${target.name}: ${outcome.kind}`);
  return outcome.value;
}

async function turns(): Promise<void> {
  for (let i = 0; i < 10; i++) await nextTurn();
}

/** What every source of a cluster has to do, by name. */
const rows: Readonly<Record<string, Row>> = {
  'lists objects of one kind, by namespace and by labels': async (open) => {
    const other = serverFor('other');
    const { cluster } = await open(
      { ...serverFor('a'), metadata: { name: 'a', namespace: 'default', labels: { team: 'x' } } },
      serverFor('b'),
      { ...other, metadata: { ...other.metadata, namespace: 'elsewhere' } },
    );
    const names = (query?: Parameters<typeof cluster.objects.list>[1]) =>
      cluster.objects.list('ModelServer', query).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(names().sort()).toEqual(['default/a', 'default/b', 'elsewhere/other']);
    expect(names({ namespace: 'elsewhere' })).toEqual(['elsewhere/other']);
    expect(names({ labels: { team: 'x' } })).toEqual(['default/a']);
    expect(names({ namespace: 'elsewhere', labels: { team: 'x' } })).toEqual([]);
    expect(cluster.objects.list('ModelRoute')).toEqual([]);
  },

  'gives one object, decoded with its defaults and frozen, with uid and version': async (open) => {
    const { cluster } = await open(serverFor('chat'));
    const server = cluster.objects.get('ModelServer', 'default', 'chat');
    expect(server?.spec.workloadPort.protocol).toBe('http');
    expect(server?.metadata).toMatchObject({ uid: expect.any(String), resourceVersion: expect.any(String), generation: 1 });
    expect(Object.isFrozen(server?.spec.workloadPort)).toBe(true);
    expect(cluster.objects.get('ModelServer', 'elsewhere', 'chat')).toBeUndefined();
  },

  'tells of changes later, once each, by key, and stops when asked': async (open) => {
    const source = await open(serverFor('a'), deploymentOf('unrelated'));
    await turns();
    const told: string[][] = [];
    const end = source.cluster.objects.changed('ModelServer', (keys) => told.push([...keys].sort()));
    await source.put(serverFor('a', { model: 'm' }), serverFor('b'));
    await turns();
    expect(told.flat().sort()).toEqual(['default/a', 'default/b']);
    await source.remove(serverFor('b'));
    await turns();
    expect(told.flat().sort()).toEqual(['default/a', 'default/b', 'default/b']);
    const before = told.length;
    end();
    await source.put(serverFor('c'));
    await turns();
    expect(told).toHaveLength(before);
  },

  'a change gives a new value, a new version and, when the spec changed, a new generation': async (open) => {
    const source = await open(serverFor('chat'));
    const before = source.cluster.objects.get('ModelServer', 'default', 'chat')!;
    await source.put(serverFor('chat', { model: 'm' }));
    const after = source.cluster.objects.get('ModelServer', 'default', 'chat')!;
    expect(before.spec.model).toBeUndefined();
    expect(after.spec.model).toBe('m');
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
    expect(after.metadata.generation).toBe(2);
  },

  'is synced and fresh once it was opened': async (open) => {
    const { cluster } = await open(serverFor('chat'));
    expect(cluster.objects.freshness('ModelServer')).toEqual({ isSynced: true, ageMs: expect.any(Number) });
    expect(cluster.objects.freshness('ModelServer').ageMs).toBeLessThan(5000);
  },

  'reads a scale: replicas asked for, replicas that exist, labels of the pods': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 2 }), servingOf('chat', { replicas: 3 }));
    expect(await scaleOf(source)).toMatchObject({ desired: 2, actual: 2, selector: { app: 'chat' } });
    const groups = await scaleOf(source, serving);
    expect(groups).toMatchObject({ desired: 3, actual: 3 });
    const selected = source.cluster.objects.list('Pod', { labels: groups.selector });
    expect(selected).toHaveLength(3);
  },

  'absent replicas are one': async (open) => {
    expect(await scaleOf(await open(deploymentOf('chat')))).toMatchObject({ desired: 1, actual: 1 });
  },

  'sets replicas, and pods follow': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 1 }));
    const { version } = await scaleOf(source);
    const outcome = await source.cluster.scaling.set(chat, 3, version);
    expect(outcome).toEqual({ kind: 'applied', version: expect.any(String) });
    await source.settled();
    expect(await scaleOf(source)).toMatchObject({ desired: 3, actual: 3 });
    expect(source.cluster.objects.list('Pod', { labels: { app: 'chat' } })).toHaveLength(3);
    const now = await scaleOf(source);
    await source.cluster.scaling.set(chat, 0, now.version);
    await source.settled();
    expect(await scaleOf(source)).toMatchObject({ desired: 0, actual: 0 });
  },

  'setting the replicas that are asked for already changes nothing': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 2 }));
    const { version } = await scaleOf(source);
    expect(await source.cluster.scaling.set(chat, 2, version)).toEqual({ kind: 'unchanged', version });
  },

  'refuses a write whose version is not the present one': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 2 }));
    const { version } = await scaleOf(source);
    expect((await source.cluster.scaling.set(chat, 3, version)).kind).toBe('applied');
    expect(await source.cluster.scaling.set(chat, 4, version)).toEqual({ kind: 'conflict' });
    expect((await scaleOf(source)).desired).toBe(3);
  },

  'sets replicas of several roles of a ModelServing, all or none': async (open) => {
    const source = await open(servingOf('chat'));
    const { version } = await scaleOf(source, serving);
    const rolesOf = () =>
      source.cluster.objects.get('ModelServing', 'default', 'chat')?.spec.template.roles.map(({ replicas }) => replicas);
    expect(await source.cluster.scaling.setRoles(serving, { serve: 2, decode: 2 }, version)).toMatchObject({ kind: 'invalid' });
    expect(rolesOf()).toEqual([1]);
    expect((await source.cluster.scaling.setRoles(serving, { serve: 2 }, version)).kind).toBe('applied');
    await source.settled();
    expect(rolesOf()).toEqual([2]);
    expect(await source.cluster.scaling.setRoles(serving, { serve: 3 }, version)).toEqual({ kind: 'conflict' });
  },

  'says of a target that is gone or cannot be scaled that it is so': async (open) => {
    const source = await open(deploymentOf('chat'), serverFor('chat'));
    const { version } = await scaleOf(source);
    await source.remove(deploymentOf('chat'));
    expect(await source.cluster.scaling.read(chat)).toEqual({ kind: 'gone' });
    expect(await source.cluster.scaling.set(chat, 2, version)).toEqual({ kind: 'gone' });
    const server = { ...chat, apiVersion: 'networking.serving.volcano.sh/v1alpha1', kind: 'ModelServer' };
    expect(await source.cluster.scaling.read(server)).toMatchObject({ kind: 'invalid' });
  },

  'marks a target with the term of a leader, by which earlier versions of it conflict': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 2 }), servingOf('chat', { replicas: 1 }));
    const epochs = source.cluster.epochs!;
    for (const target of [chat, serving]) {
      const { version: decidedOn, uid } = await scaleOf(source, target);
      const read = async () => {
        const outcome = await epochs.read(target);
        if (outcome.kind !== 'found') throw new Error(outcome.kind);
        return outcome.value;
      };
      expect(await read()).toEqual({ uid, version: decidedOn });
      const stamped = await epochs.stamp(target, '1/a', decidedOn);
      expect(stamped).toEqual({ kind: 'applied', version: expect.any(String) });
      expect(await read()).toMatchObject({ uid, epoch: '1/a' });
      expect(await epochs.stamp(target, '2/b', decidedOn)).toEqual({ kind: 'conflict' });
      expect(await source.cluster.scaling.set(target, 5, decidedOn)).toEqual({ kind: 'conflict' });
      expect(await scaleOf(source, target)).toMatchObject({ uid, desired: target === chat ? 2 : 1 });
      expect((await epochs.stamp(target, '1/a', (await read()).version)).kind).toBe('unchanged');
    }
    expect(await epochs.read({ ...chat, name: 'none' })).toEqual({ kind: 'gone' });
    expect(await epochs.stamp({ ...chat, name: 'none' }, '1/a', '1')).toEqual({ kind: 'gone' });
  },

  'refuses replicas that are no count': async (open) => {
    const source = await open(deploymentOf('chat'));
    const { version } = await scaleOf(source);
    expect(await source.cluster.scaling.set(chat, -1, version)).toMatchObject({ kind: 'invalid' });
    expect(await source.cluster.scaling.set(chat, 1.5, version)).toMatchObject({ kind: 'invalid' });
  },

  'an object deleted and created anew under its name has another uid, and old versions of it conflict': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 1 }), policyFor('chat'));
    const before = await scaleOf(source);
    const policy = source.cluster.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    await source.remove(deploymentOf('chat'), policyFor('chat'));
    await source.put(deploymentOf('chat', { replicas: 1 }), policyFor('chat'));
    const after = await scaleOf(source);
    expect(after.uid).not.toBe(before.uid);
    expect(await source.cluster.scaling.set(chat, 2, before.version)).toEqual({ kind: 'conflict' });
    expect(await source.cluster.status.report('AutoscalingPolicy', policy, { observedGeneration: 1 })).toEqual({ kind: 'gone' });
    expect((await source.cluster.scaling.set(chat, 2, after.version)).kind).toBe('applied');
  },

  'applying a manifest without replicas leaves those that were set': async (open) => {
    const source = await open(deploymentOf('chat'));
    await source.cluster.scaling.set(chat, 3, (await scaleOf(source)).version);
    await source.settled();
    await source.put(deploymentOf('chat', {}, 'engine:2'));
    expect((await scaleOf(source)).desired).toBe(3);
  },

  'reports a status, whole, without a new generation, and knows when nothing changed': async (open) => {
    const source = await open(policyFor('chat'), deploymentOf('chat'));
    const policy = () => source.cluster.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    const status = { observedGeneration: 1, homogeneousStatus: { currentReplicas: 1, desiredReplicas: 2, mode: 'Stable' } };
    const first = policy();
    expect((await source.cluster.status.report('AutoscalingPolicy', first, status)).kind).toBe('applied');
    await source.settled();
    expect(policy().status).toMatchObject(status);
    expect(policy().metadata.generation).toBe(1);
    const { resourceVersion } = policy().metadata;
    expect(await source.cluster.status.report('AutoscalingPolicy', policy(), status)).toEqual({
      kind: 'unchanged',
      version: resourceVersion,
    });
    await source.cluster.status.report('AutoscalingPolicy', first, { observedGeneration: 1 });
    await source.settled();
    expect(policy().status).toEqual({ observedGeneration: 1 });
  },

  'refuses a status that the kind does not allow': async (open) => {
    const source = await open(policyFor('chat'), deploymentOf('chat'));
    const policy = source.cluster.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    const outcome = await source.cluster.status.report('AutoscalingPolicy', policy, { observedGeneration: 'x' });
    expect(outcome).toMatchObject({ kind: 'invalid' });
  },

  'a status survives a change of the spec': async (open) => {
    const source = await open(policyFor('chat'), deploymentOf('chat'));
    const policy = () => source.cluster.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    await source.cluster.status.report('AutoscalingPolicy', policy(), { observedGeneration: 1 });
    const changed = policyFor('chat');
    await source.put({ ...changed, spec: { ...changed.spec, tolerancePercent: 20 } } as KubeObject);
    expect(policy().status).toEqual({ observedGeneration: 1 });
    expect(policy().metadata.generation).toBe(2);
  },

  'marks a pod by annotations, and removes them': async (open) => {
    const source = await open(deploymentOf('chat'));
    const pod = () => source.cluster.objects.list('Pod', { labels: { app: 'chat' } })[0]!;
    const { name, uid } = pod().metadata;
    const mark = (annotations: Record<string, string | null>, of = uid!) =>
      source.cluster.pods.mark('default', name, of, annotations);
    expect((await mark({ 'example.com/a': '1', 'example.com/b': '2' })).kind).toBe('applied');
    expect((await mark({ 'example.com/a': '1' })).kind).toBe('unchanged');
    await source.settled();
    expect(pod().metadata.annotations).toMatchObject({ 'example.com/a': '1', 'example.com/b': '2' });
    expect((await mark({ 'example.com/a': null })).kind).toBe('applied');
    await source.settled();
    expect(pod().metadata.annotations).not.toHaveProperty(['example.com/a']);
    expect(await mark({ 'example.com/a': '1' }, 'another')).toEqual({ kind: 'gone' });
  },

  'shows only Secrets with the asked label, decoded': async (open) => {
    const secret = (name: string, labels: Record<string, string>): KubeObject & { data: object } => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'default', labels },
      data: { key: Buffer.from('s3cret').toString('base64') },
    });
    const { cluster } = await open(secret('a', { use: 'router' }), secret('b', { use: 'other' }));
    const found = cluster.secrets.byLabel('use', 'router');
    expect([...found.keys()]).toEqual(['default/a']);
    expect(found.get('default/a')?.key?.toString()).toBe('s3cret');
  },

  'an event about any object is taken without an answer': async (open) => {
    const { cluster } = await open(policyFor('chat'), deploymentOf('chat'));
    const policy = cluster.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    expect(() => cluster.events.note(policy, 'Normal', 'Scaled', '1 → 2')).not.toThrow();
  },

  'the process that opened it may write': async (open) => {
    const { cluster } = await open();
    expect(cluster.leadership.held()).toBe(true);
  },

  'says for which targets requests wait, from cache and from the source of truth, and tells of each time that a router says so':
    async (open) => {
      const source = await open(deploymentOf('chat', { replicas: 0 }), serverFor('chat'));
      const { cluster, clock } = source;
      const { uid } = await scaleOf({ cluster });
      expect(cluster.wakeRequests.list()).toEqual([]);
      expect(await cluster.wakeRequests.read('default', uid)).toEqual({ kind: 'gone' });
      let told = 0;
      const end = cluster.wakeRequests.changed(() => {
        told += 1;
      });
      const server = cluster.objects.get('ModelServer', 'default', 'chat')!;
      for (let calls = 1; calls <= 2; calls++) {
        clock.advance(5_000);
        for (const sleeper of cluster.wake!.sleepersOf(server)) await cluster.wake!.wake(sleeper);
        await source.settled();
        expect(told).toBe(calls);
        const target = { kind: 'Deployment', namespace: 'default', name: 'chat' };
        expect(cluster.wakeRequests.list()).toEqual([{ target, uid, renewedMs: clock.now() }]);
        expect(await cluster.wakeRequests.read('default', uid)).toEqual({ kind: 'found', value: clock.now() });
      }
      end();
    },

  'knows the pods of a workload that has none': async (open) => {
    const { cluster } = await open(deploymentOf('chat', { replicas: 0 }), servingOf('chat', { replicas: 0 }));
    expect(cluster.workloadPods.podsOf(chat).map(({ metadata }) => metadata.labels?.app)).toEqual(['chat']);
    expect(cluster.workloadPods.podsOf(serving).map(({ metadata }) => metadata.labels?.['modelserving.volcano.sh/name'])).toEqual(
      ['chat', 'chat'],
    );
    expect(cluster.workloadPods.podsOf({ ...chat, name: 'none' })).toEqual([]);
  },

  'with a stale cache: reads show the past and their age, writes meet the present': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 1 }), serverFor('chat'));
    const faulty = withFaults(source.cluster, source.clock);
    const told: string[][] = [];
    faulty.objects.changed('ModelServer', (keys) => told.push([...keys]));
    faulty.faults.freezeCache();
    await source.put(serverFor('chat', { model: 'm' }));
    source.clock.advance(30_000);
    await turns();
    expect(faulty.objects.get('ModelServer', 'default', 'chat')?.spec.model).toBeUndefined();
    expect(faulty.objects.freshness('ModelServer').ageMs).toBeGreaterThanOrEqual(30_000);
    expect(told).toEqual([]);
    expect((await faulty.scaling.set(chat, 2, (await scaleOf({ ...source, cluster: source.cluster })).version)).kind).toBe(
      'applied',
    );
    faulty.faults.refresh();
    await turns();
    expect(faulty.objects.get('ModelServer', 'default', 'chat')?.spec.model).toBe('m');
    expect(told).toEqual([['default/chat']]);
  },

  'with a slow sync: nothing is there, and it says so, until all is': async (open) => {
    const source = await open(serverFor('chat'));
    const faulty = withFaults(source.cluster, source.clock);
    const told: string[][] = [];
    faulty.objects.changed('ModelServer', (keys) => told.push([...keys]));
    faulty.faults.delaySync();
    expect(faulty.objects.list('ModelServer')).toEqual([]);
    expect(faulty.objects.freshness('ModelServer').isSynced).toBe(false);
    faulty.faults.refresh();
    await turns();
    expect(faulty.objects.freshness('ModelServer').isSynced).toBe(true);
    expect(faulty.objects.list('ModelServer')).toHaveLength(1);
    expect(told).toEqual([['default/chat']]);
  },

  'with throttling and conflict: the call ends so, and the next one reaches the cluster': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 1 }));
    const faulty = withFaults(source.cluster, source.clock);
    faulty.faults.fail('read', { kind: 'throttled', afterMs: 1000 });
    expect(await faulty.scaling.read(chat)).toEqual({ kind: 'throttled', afterMs: 1000 });
    const read = await faulty.scaling.read(chat);
    const version = read.kind === 'found' ? read.value.version : '';
    faulty.faults.fail('write', { kind: 'throttled', afterMs: 1000 });
    faulty.faults.fail('write', { kind: 'conflict' });
    expect(await faulty.scaling.set(chat, 2, version)).toEqual({ kind: 'throttled', afterMs: 1000 });
    expect(await faulty.scaling.set(chat, 2, version)).toEqual({ kind: 'conflict' });
    expect((await scaleOf(source)).desired).toBe(1);
    expect((await faulty.scaling.set(chat, 2, version)).kind).toBe('applied');
  },

  'with a recreation between read and write: the old version conflicts and the old uid is gone': async (open) => {
    const source = await open(deploymentOf('chat', { replicas: 1 }), policyFor('chat'));
    const faulty = withFaults(source.cluster, source.clock);
    const before = await scaleOf({ cluster: { ...source.cluster, ...faulty } });
    const policy = faulty.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    faulty.faults.recreate(chat);
    faulty.faults.recreate({ ...chat, kind: 'AutoscalingPolicy' });
    expect(await faulty.scaling.set(chat, 2, before.version)).toEqual({ kind: 'conflict' });
    expect(await faulty.status.report('AutoscalingPolicy', policy, { observedGeneration: 1 })).toEqual({ kind: 'gone' });
    const after = await scaleOf({ cluster: { ...source.cluster, ...faulty } });
    expect(after.uid).not.toBe(before.uid);
    const applied = await faulty.scaling.set(chat, 2, after.version);
    expect(applied.kind).toBe('applied');
    expect((await scaleOf(source)).desired).toBe(2);
    const again = faulty.objects.get('AutoscalingPolicy', 'default', 'chat')!;
    expect((await faulty.status.report('AutoscalingPolicy', again, { observedGeneration: 1 })).kind).toBe('applied');
  },

  'a write without permission is forbidden': async (open) => {
    const source = await open(deploymentOf('chat'));
    const { version } = await scaleOf(source);
    const outcome = await source.cluster.scaling.set({ ...chat, namespace: 'kube-system' }, 2, version);
    expect(outcome).toMatchObject({ kind: 'forbidden' });
  },

  'reads and writes of a source that cannot be reached are unavailable': async (open) => {
    const source = await open(deploymentOf('chat'));
    await source.close();
    expect(await source.cluster.scaling.read(chat)).toMatchObject({ kind: 'unavailable' });
  },
};

/** Runs every row against `source`, but those that it names as beyond it. */
export function describeClusterSource(source: ClusterSource): void {
  describe(`a cluster of ${source.name}`, () => {
    const opened: OpenedSource[] = [];
    afterEach(async () => {
      for (const each of opened.splice(0)) await each.close();
    });

    it('leaves out only rows of the suite, each with its reason', () => {
      for (const [row, reason] of Object.entries(source.cannot)) {
        expect(Object.keys(rows)).toContain(row);
        expect(reason).toMatch(/\w+ \w+/);
      }
    });

    const runnable = Object.entries(rows).filter(([name]) => !Object.hasOwn(source.cannot, name));
    it.each(runnable)('%s', async (_, row) => {
      await row(async (...objects) => {
        const each = await source.open(objects);
        opened.push(each);
        return each;
      });
    });
  });
}
