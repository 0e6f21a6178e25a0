import { type KubernetesCluster, openKubernetesCluster, type WatchedObjects } from '../../runtime/cluster/kubernetes';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import { silentLogger } from '../../runtime/lib/logger';
import { wallClock } from '../../runtime/lib/wall-clock';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import { deploymentOf, serverFor } from '../helpers/workload-objects';
import { ControlPlane, hasGo } from './control-plane';
import { FaultProxy, type SeenRequest } from './fault-proxy';
import { KubeAdmin } from './kube-admin';

const watch: WatchedObjects = {
  kinds: ['ModelServer'],
  workloads: false,
  wakeRequests: false,
  secrets: { names: [], labels: [], ofProviders: false },
};
const chat = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'chat' };

const isList = ({ method, path, isWatch }: SeenRequest): boolean =>
  method === 'GET' && path.endsWith('/modelservers') && !isWatch;
const isWatch = (request: SeenRequest): boolean => request.isWatch && request.path.endsWith('/modelservers');

const describeHere = hasGo() ? describe : describe.skip;

describeHere('the view of a Kubernetes API', () => {
  let plane: ControlPlane;
  let admin: KubeAdmin;
  let proxy: FaultProxy;
  let opened: KubernetesCluster[];

  beforeAll(async () => {
    plane = await ControlPlane.start();
    admin = new KubeAdmin(plane.credentials);
    await admin.apply(...customResourceDefinitions);
  }, 600_000);

  beforeEach(async () => {
    opened = [];
    proxy = await FaultProxy.start(plane.credentials);
    await admin.apply(serverFor('a'));
  });

  afterEach(async () => {
    for (const cluster of opened) await cluster.close();
    await proxy.close();
    await admin.remove(serverFor('a'), serverFor('b'));
  });

  afterAll(async () => {
    admin?.close();
    await plane?.close();
  });

  async function open(credentials: Credentials = proxy.credentials()): Promise<KubernetesCluster> {
    const cluster = openKubernetesCluster({ credentials, component: 'faults', watch, clock: wallClock(), log: silentLogger() });
    opened.push(cluster);
    return cluster;
  }

  async function openSynced(): Promise<KubernetesCluster> {
    const cluster = await open();
    expect(await cluster.synced(20_000)).toBe(true);
    // Only an open watch can be cut.
    await admin.until('the watch is open', () => proxy.seen.some(isWatch));
    return cluster;
  }

  const names = (cluster: KubernetesCluster): string =>
    cluster.objects
      .list('ModelServer')
      .map(({ metadata }) => metadata.name)
      .sort()
      .join(' ');
  const shows = (cluster: KubernetesCluster, expected: string): Promise<void> =>
    admin.until(`the view shows ${expected}`, () => names(cluster) === expected);
  const lists = (): number => proxy.seen.filter(isList).length;

  it('keeps what it knew while connections are refused, and its age tells', async () => {
    const cluster = await openSynced();
    await proxy.refuse();
    await admin.apply(serverFor('b'));
    await admin.until('it has aged', () => cluster.objects.freshness('ModelServer').ageMs > 500);
    expect(names(cluster)).toBe('a');
    expect(cluster.objects.freshness('ModelServer').isSynced).toBe(true);
    await proxy.heal();
    await shows(cluster, 'a b');
    expect(cluster.objects.freshness('ModelServer').ageMs).toBeLessThan(500);
  });

  it('ages while the API server hangs, and shows what happened meanwhile when it goes on', async () => {
    const cluster = await openSynced();
    proxy.hang();
    await admin.apply(serverFor('b'));
    // Longer than a heartbeat takes: none of them is answered.
    await admin.until('it has aged', () => cluster.objects.freshness('ModelServer').ageMs > 6_000);
    expect(names(cluster)).toBe('a');
    await proxy.heal();
    await shows(cluster, 'a b');
  });

  it('stays young while nothing happens', async () => {
    const cluster = await openSynced();
    await admin.until('it has asked for a sign of life', () => proxy.seen.some(({ path }) => path === '/readyz'));
    await admin.until('it is younger than its last event', () => cluster.objects.freshness('ModelServer').ageMs < 1_000);
  });

  it('takes up a watch that was cut where it ended, without a new list', async () => {
    const cluster = await openSynced();
    const before = lists();
    expect(proxy.cutWatches()).toBe(1);
    await admin.apply(serverFor('b'));
    await shows(cluster, 'a b');
    expect(lists()).toBe(before);
  });

  it('lists anew when the server no longer knows the version, and sees what was deleted meanwhile', async () => {
    const cluster = await openSynced();
    const before = lists();
    await proxy.refuse();
    await admin.remove(serverFor('a'));
    await admin.apply(serverFor('b'));
    await proxy.heal();
    proxy.answer(isWatch, { status: 410, message: 'too old resource version' }, 1);
    await shows(cluster, 'b');
    await admin.until('it has listed anew', () => lists() > before);
  });

  it('lists anew when an open watch is told that its version is gone', async () => {
    const cluster = await openSynced();
    const before = lists();
    proxy.expireWatches();
    await admin.apply(serverFor('b'));
    await shows(cluster, 'a b');
    expect(lists()).toBe(before + 1);
  });

  it('waits and asks again where lists are throttled, as those of a new CustomResourceDefinition are', async () => {
    proxy.answer(isList, { status: 429, message: 'storage is (re)initializing', retryAfterSeconds: 1 }, 2);
    const startedMs = performance.now();
    const cluster = await open();
    expect(cluster.objects.freshness('ModelServer').isSynced).toBe(false);
    expect(await cluster.synced(20_000)).toBe(true);
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect([names(cluster), lists()]).toEqual(['a', 3]);
  });

  it('is not synced while it may not list, and is as soon as it may', async () => {
    const cluster = await open(proxy.credentials(await admin.serviceAccount('default', 'nobody')));
    await admin.until('it was refused', () => lists() > 0);
    expect(await cluster.synced(200)).toBe(false);
    const name = 'read-servers';
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    const rules = [{ apiGroups: ['networking.serving.volcano.sh'], resources: ['modelservers'], verbs: ['list', 'watch'] }];
    const binding = { roleRef: role, subjects: [{ kind: 'ServiceAccount', name: 'nobody', namespace: 'default' }] };
    await admin.apply(
      { apiVersion, kind: 'ClusterRole', metadata: { name }, ...{ rules } },
      { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, ...binding },
    );
    expect(await cluster.synced(20_000)).toBe(true);
    await shows(cluster, 'a');
  });

  it('reads a long list in pages, and all in one when a page came too late', async () => {
    const many = Array.from({ length: 510 }, (_, i) => serverFor(`s${String(i).padStart(3, '0')}`));
    await admin.apply(...many);
    proxy.answer(({ query }) => query.has('continue'), { status: 410, message: 'the continue parameter is too old' }, 1);
    const first = await openSynced();
    expect(first.objects.list('ModelServer')).toHaveLength(511);
    expect(proxy.seen.filter(isList).map(({ query }) => [query.get('limit'), query.has('continue')])).toEqual([
      ['500', false],
      ['500', true],
      [null, false],
    ]);
    const second = await openSynced();
    expect(names(second)).toBe(names(first));
    expect(
      proxy.seen
        .filter(isList)
        .slice(3)
        .map(({ query }) => query.has('continue')),
    ).toEqual([false, true]);
    await admin.remove(...many);
    await shows(second, 'a');
  }, 60_000);

  it('sees a kind go and come back with its CustomResourceDefinition', async () => {
    const cluster = await openSynced();
    const definition = customResourceDefinitions.find(({ spec }) => spec.names.kind === 'ModelServer')!;
    await admin.remove(definition);
    await shows(cluster, '');
    await admin.apply(definition, serverFor('b'));
    await shows(cluster, 'b');
    await admin.apply(serverFor('a'));
    await shows(cluster, 'a b');
  }, 60_000);

  it('goes on after API server and store were killed and started on their data; writes meanwhile are unavailable', async () => {
    await admin.apply(deploymentOf('chat', { replicas: 1 }));
    const cluster = await openSynced();
    await plane.stopApi('SIGKILL');
    expect(await cluster.scaling.read(chat)).toMatchObject({ kind: 'unavailable' });
    expect(names(cluster)).toBe('a');
    await plane.startApi();
    await admin.apply(serverFor('b'));
    await shows(cluster, 'a b');
    const scale = await cluster.scaling.read(chat);
    if (scale.kind !== 'found') throw new Error(scale.kind);
    // Pods, controllers and scheduler ran on.
    expect((await cluster.scaling.set(chat, 2, scale.value.version)).kind).toMatch(/applied|conflict/);
    await admin.apply(deploymentOf('chat', { replicas: 2 }));
    await admin.until('controllers and kubelets are back', async () => {
      const read = await cluster.scaling.read(chat);
      return read.kind === 'found' && read.value.actual === 2;
    });
    await admin.remove(deploymentOf('chat'));
  }, 120_000);
});
