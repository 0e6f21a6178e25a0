import { KINDS } from '../../runtime/cluster/kinds';
import { EVERYTHING, openKubernetesCluster } from '../../runtime/cluster/kubernetes';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import { watchedResource } from '../../runtime/cluster/kubernetes/watched-resources';
import type { Kind } from '../../runtime/cluster/objects';
import { silentLogger } from '../../runtime/lib/logger';
import { VirtualClock } from '../../runtime/lib/virtual-clock';
import { type KubeObject, keyOf } from '../../src/api/meta';
import { EPOCH_MS } from '../helpers/manifest-folder';
import { serverFor } from '../helpers/workload-objects';
import { describeClusterSource, type OpenedSource } from '../runtime/cluster/cluster-suite';
import { hasControlPlane, openTestCluster, type TestCluster } from './control-plane';
import { allDefinitions } from './definitions';
import { GroupControllers } from './group-controllers';
import { KubeAdmin } from './kube-admin';
import { grantSuiteAccess } from './suite-access';

/** Namespaces of the rows. */
const NAMESPACES = ['default', 'elsewhere'];

const describeHere = hasControlPlane() ? describe : describe.skip;

describeHere('a Kubernetes API server', () => {
  let plane: TestCluster;
  let admin: KubeAdmin;
  let controllers: GroupControllers;
  let identity: Credentials;

  beforeAll(async () => {
    plane = await openTestCluster();
    admin = new KubeAdmin(plane.credentials);
    await admin.apply(...allDefinitions());
    await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } });
    identity = await grantSuiteAccess(admin, NAMESPACES);
    controllers = new GroupControllers(plane.credentials);
  }, 600_000);

  afterAll(async () => {
    await controllers?.close();
    admin?.close();
    await plane?.close();
  });

  it('counts the repeats of an Event', async () => {
    const source = await open(admin, identity, [serverFor('noted')]);
    const server = source.cluster.objects.get('ModelServer', 'default', 'noted')!;
    for (let i = 0; i < 3; i++) source.cluster.events.note(server, 'Warning', 'Lost', 'x'.repeat(2000));
    await source.close();
    const events = await admin.list<NotedEvent>({ apiVersion: 'v1', kind: 'Event' });
    const noted = events.filter(({ involvedObject }) => involvedObject.uid === server.metadata.uid);
    expect(noted.map(({ type, reason, count }) => [type, reason, count])).toEqual([['Warning', 'Lost', 3]]);
  });

  describeClusterSource({
    name: 'a Kubernetes API',
    open: (objects) => open(admin, identity, objects),
    cannot: {},
  });
});

/** Labels of a row's Secrets. */
const watch = { ...EVERYTHING, secrets: { ...EVERYTHING.secrets, labels: ['use'] } };

async function open(admin: KubeAdmin, credentials: Credentials, objects: readonly KubeObject[]): Promise<OpenedSource> {
  const applied = new Map<string, KubeObject>();
  const clock = new VirtualClock(EPOCH_MS);
  const apply = async (...changed: readonly KubeObject[]): Promise<void> => {
    await admin.apply(...changed);
    for (const object of changed) applied.set(`${object.kind} ${keyOf(object)}`, object);
  };
  await apply(...objects);
  const cluster = openKubernetesCluster({ credentials, component: 'suite', watch, clock, log: silentLogger() });
  await cluster.synced(30_000);

  /** What the view shows, as `key@version`. */
  const seen = (kind: Kind): string => versionsOf(cluster.objects.list(kind));
  const settled = async (): Promise<void> => {
    await admin.until('workloads have their pods', () => hasSettled(admin));
    for (const kind of KINDS) {
      await admin.until(`the view shows every ${kind}`, async () => versionsOf(await listed(admin, kind)) === seen(kind));
    }
    await admin.until('the view shows every wake lease', async () => {
      const leases = await admin.list(
        { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
        { labelSelector: 'kvasir.dev/wake' },
      );
      return leases.length === cluster.wakeRequests.list().length && (await areCurrent(cluster, leases));
    });
  };
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await cluster.close();
    await admin.remove(...applied.values());
    await admin.until('nothing is left', async () => (await podsHere(admin)).length === 0);
  };
  await settled();
  return {
    cluster,
    clock,
    settled,
    put: async (...changed) => {
      await apply(...changed);
      await settled();
    },
    remove: async (...gone) => {
      await admin.remove(...gone);
      await settled();
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

interface NotedEvent extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly count: number;
  readonly involvedObject: { readonly uid: string };
}

type ClusterOf = ReturnType<typeof openKubernetesCluster>;

async function areCurrent(cluster: ClusterOf, leases: readonly KubeObject[]): Promise<boolean> {
  const renewed = leases.map((lease) => Date.parse((lease as KubeObject & { spec: { renewTime: string } }).spec.renewTime));
  const shown = cluster.wakeRequests.list().map(({ renewedMs }) => renewedMs);
  return JSON.stringify(renewed.sort()) === JSON.stringify(shown.sort());
}

function versionsOf(objects: readonly KubeObject[]): string {
  return objects
    .map((object) => `${keyOf(object)}@${object.metadata.resourceVersion}`)
    .sort()
    .join(' ');
}

function listed<T extends KubeObject>(admin: KubeAdmin, kind: Kind): Promise<readonly T[]> {
  return admin.list<T>(watchedResource(kind));
}

interface Workload extends KubeObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: { readonly observedGeneration?: number; readonly replicas?: number; readonly availableReplicas?: number };
}

/** Every workload has the pods that it asks for, and nothing is on its way out. */
async function hasSettled(admin: KubeAdmin): Promise<boolean> {
  const workloads = [...(await listed<Workload>(admin, 'Deployment')), ...(await listed<Workload>(admin, 'ModelServing'))];
  const areDone = workloads.every(
    ({ metadata, spec: { replicas = 1 }, status }) =>
      status?.observedGeneration === metadata.generation &&
      (status?.replicas ?? 0) === replicas &&
      (status?.availableReplicas ?? 0) === replicas,
  );
  const pods = await podsHere(admin);
  return areDone && pods.every(({ metadata }) => metadata.deletionTimestamp === undefined);
}

async function podsHere(admin: KubeAdmin): Promise<readonly KubeObject[]> {
  return (await listed(admin, 'Pod')).filter(({ metadata }) => NAMESPACES.includes(metadata.namespace ?? 'default'));
}
