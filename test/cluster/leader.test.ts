import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Credentials } from '../../runtime/cluster/kubernetes/credentials';
import type { KubeObject } from '../../src/api/meta';
import { Annotations, WORKLOAD_API_VERSION } from '../../src/labels';
import { deploymentOf } from '../helpers/workload-objects';
import { ControlPlane, hasGo, tokenCredentials } from './control-plane';
import { allDefinitions } from './definitions';
import { ImageProcess } from './image-process';
import { NAMESPACE, platformOf } from './images-rig';
import { KubeAdmin } from './kube-admin';
import { LoadPages } from './load-pages';
import { ReplicaHistory } from './replica-history';

/**
 * A fifth of the defaults. Whoever is stopped is stopped for a fifth of a minute, so that the stop lasts four times the lease as it would
 * with the defaults and 60 s.
 */
const LEASE = { leaseDurationMs: 3_000, leaseRenewDeadlineMs: 2_000, leaseRetryPeriodMs: 400 };
const STOP_MS = 12_000;
/** A page that a stopped process has asked for still counts when it goes on. */
const CONFIG = { ...LEASE, syncPeriodMs: 500, metricWindowMs: 1_000, scrapeTimeoutMs: 60_000 };
/** Stabilization of scaling down; everything else is scaled at once. */
const WINDOW_MS = 8_000;

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity: string; readonly leaseTransitions: number };
}

const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace: NAMESPACE, name: 'kvasir-autoscaler' },
} as Lease;
const chat = deploymentOf('chat', { replicas: 2 });
const idle = deploymentOf('idle', { replicas: 1 });

const describeHere = hasGo() ? describe : describe.skip;

describeHere('several autoscalers on a Kubernetes API', () => {
  let plane: ControlPlane;
  let admin: KubeAdmin;
  let account: Credentials;
  let pages: LoadPages;
  let history: ReplicaHistory;
  const started: ImageProcess[] = [];
  /** Requests that all pods of `chat` run together; one replica should run 10. */
  let load = 20;

  beforeAll(async () => {
    plane = await ControlPlane.start();
    admin = new KubeAdmin(plane.credentials);
    history = new ReplicaHistory(admin, 'default');
    pages = await LoadPages.open((path) => (path === '/chat' ? load / (history.latest('chat') ?? 1) : 10));
    await admin.apply(...allDefinitions());
    await admin.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
      ...platformOf({}).access,
      chat,
      idle,
    );
    account = await admin.serviceAccount(NAMESPACE, 'kvasir-autoscaler');
    const areReady = async ({ metadata, spec }: typeof chat) =>
      ((await admin.get(chatLike(metadata.name)))?.status?.readyReplicas ?? 0) === spec.replicas;
    await admin.until('pods are ready', async () => (await areReady(chat)) && areReady(idle));
    await admin.apply(policyOf('chat'), policyOf('idle'));
  }, 600_000);

  afterAll(async () => {
    await Promise.all(started.map((image) => image.close()));
    await history?.close();
    await pages?.close();
    admin?.close();
    await plane?.close();
  }, 60_000);

  function chatLike(name: string): typeof chat & { readonly status?: { readonly readyReplicas?: number } } {
    return deploymentOf(name);
  }

  function policyOf(name: string): KubeObject {
    const source = { pod: { name: 'vllm:num_requests_running', port: pages.port, uri: `/${name}` } };
    const target = { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, metricSources: { running: source } };
    return {
      apiVersion: WORKLOAD_API_VERSION,
      kind: 'AutoscalingPolicy',
      metadata: { name, namespace: 'default' },
      spec: {
        metrics: [{ name: 'running', targetValue: '10' }],
        homogeneousTarget: { target, minReplicas: 1, maxReplicas: 10 },
        behavior: {
          scaleUp: { stablePolicy: { period: '0s' } },
          scaleDown: { stabilizationWindow: `${WINDOW_MS / 1000}s`, period: '1s', instances: 10 },
        },
      },
    } as KubeObject;
  }

  async function start(config: object = {}): Promise<ImageProcess> {
    const image = await ImageProcess.start('autoscaler', account, { ...CONFIG, ...config });
    started.push(image);
    return image;
  }

  const leads = (image: ImageProcess) => image.logged(({ msg }) => msg === 'this process leads');
  const epochOf = async (deployment: KubeObject) =>
    (await admin.get(deployment))?.metadata.annotations?.[Annotations.scalerEpoch];
  const pathOf = (image: ImageProcess, path: string) => `http://${image.address('metrics')}${path}`;

  /** Why a policy is limited, as its status says. */
  async function limitOf(name: string): Promise<string | undefined> {
    const policy = (await admin.get(policyOf(name))) as KubeObject & {
      readonly status?: { readonly conditions?: readonly { readonly type: string; readonly reason: string }[] };
    };
    return policy.status?.conditions?.find(({ type }) => type === 'Limited')?.reason;
  }

  /** Ends when the leader has seen the load twice more. */
  async function twoRounds(): Promise<void> {
    for (let i = 0; i < 2; i++) await pages.onNext('/chat', () => pause(100));
  }

  /** @returns the last line that a process wrote which ended with 1. */
  async function complaintOf(image: ImageProcess): Promise<string> {
    expect(await image.exited()).toBe(1);
    await admin.until('it has said why', () => image.complaints.length > 0);
    return image.complaints.join('\n');
  }

  /** A write of `replicas` that was decided on version `version`, as the ServiceAccount that autoscalers have. */
  async function lateWrite(deployment: KubeObject, replicas: number, version: string): Promise<number> {
    const late = new KubeAdmin(tokenCredentials({ server: plane.server, token: await tokenOf(account) }));
    const { name, namespace } = deployment.metadata;
    const answer = await late.client.request({
      method: 'PUT',
      path: `/apis/apps/v1/namespaces/${namespace}/deployments/${name}/scale`,
      body: {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: { name, namespace, resourceVersion: version },
        spec: { replicas },
      },
    });
    late.close();
    if (answer.kind !== 'answered') throw new Error(answer.message);
    return answer.status;
  }

  it('one leads and stamps what it decides on; another one stands by, is ready, and says that it does not lead', async () => {
    const first = await start();
    await leads(first);
    await twoRounds();
    const { spec } = (await admin.get(lease))!;
    expect(await epochOf(chat)).toBe(`${spec.leaseTransitions}/${spec.holderIdentity}`);
    const second = await start();
    expect((await second.logged(({ msg }) => msg === 'standing by')).leader).toBe(spec.holderIdentity);
    const ready = async () => (await fetch(pathOf(second, '/readyz'))).status === 200;
    await admin.until('the standby is ready', ready);
    expect(await (await fetch(pathOf(second, '/metrics'))).text()).toContain('kvasir_autoscaler_leader 0');
    expect(await (await fetch(pathOf(first, '/metrics'))).text()).toContain('kvasir_autoscaler_leader 1');
    expect([history.of('chat'), history.of('idle')]).toEqual([[2], [1]]);
  }, 60_000);

  it('a leader that is stopped between looking and writing never writes what it decided, and ends when it goes on', async () => {
    const [first, second] = started as [ImageProcess, ImageProcess];
    const before = (await admin.get(idle))!.metadata.resourceVersion!;
    const firstEpoch = await epochOf(idle);
    // The pages that the first one has asked for want 4 replicas. It has read the target's version by then, and decided nothing.
    load = 40;
    await pages.onNext('/chat', () => first.signal('SIGSTOP'));
    await admin.until('the first one is stopped', () => stateOf(first.pid) === 'T');
    await pause(200);
    // What the second one will see wants 6.
    load = 60;
    const stoppedMs = Date.now();

    const ledMs = Date.parse(String((await leads(second)).time));
    // It was up to a retry period ago that the lease was renewed, and up to one that the second one saw that.
    expect(ledMs - stoppedMs).toBeGreaterThan(LEASE.leaseDurationMs - LEASE.leaseRetryPeriodMs - 500);
    expect(pages.asked.filter(({ atMs }) => atMs > stoppedMs && atMs < ledMs)).toEqual([]);
    await admin.until('the second one has scaled', () => history.latest('chat') === 6);
    await admin.until('both targets are its own', async () => (await epochOf(chat)) === (await epochOf(idle)));
    expect(await epochOf(idle)).not.toBe(firstEpoch);
    // It changed nothing there, and still nothing that was decided before can be written.
    expect(await lateWrite(idle, 5, before)).toBe(409);

    await pause(STOP_MS - (Date.now() - stoppedMs));
    first.signal('SIGCONT');
    expect(await complaintOf(first)).toMatch(/^Lease kvasir-system\/kvasir-autoscaler: .*\[leader\/(late|taken)\]$/);
    await twoRounds();
    expect([history.of('chat'), history.of('idle')]).toEqual([[2, 6], [1]]);
    expect(second.log.filter(({ msg }) => msg === 'ScaledUp')).toMatchObject([{ from: 2, to: 6 }]);
  }, 90_000);

  it('a leader whose write meets a conflict on a target with the mark of another one ends', async () => {
    const second = started[1]!;
    load = 80;
    await pages.onNext('/chat', async () => {
      await admin.client.request({
        method: 'PATCH',
        path: '/apis/apps/v1/namespaces/default/deployments/chat',
        contentType: 'application/merge-patch+json',
        body: { metadata: { annotations: { [Annotations.scalerEpoch]: '9/another' } } },
      });
    });
    expect(await complaintOf(second)).toMatch(/^Deployment default\/chat: 9\/another has decided .*\[leader\/superseded\]$/);
    expect(history.of('chat')).toEqual([2, 6]);
  }, 60_000);

  it('the only one, killed under load and started again, neither flaps nor scales down for a window', async () => {
    load = 60;
    // Two rounds last longer than it may be quiet between API and autoscaler, so that no old view holds the replicas up.
    const only = await start({ syncPeriodMs: 3_000 });
    await leads(only);
    await twoRounds();
    only.signal('SIGKILL');
    await only.exited();
    // Whoever forgot the past would follow this at once.
    load = 20;
    const again = await start({ syncPeriodMs: 3_000 });
    const ledMs = Date.parse(String((await leads(again)).time));
    await twoRounds();
    expect(history.of('chat')).toEqual([2, 6]);
    expect(await limitOf('chat')).toBe('Stabilizing');
    await admin.until('the window is over', () => history.of('chat').length > 2);
    expect(history.wishes('chat')[2]!.seenMs - ledMs).toBeGreaterThanOrEqual(WINDOW_MS);
    await twoRounds();
    expect(history.of('chat')).toEqual([2, 6, 2]);
    expect(history.of('idle')).toEqual([1]);
  }, 60_000);

  it('a leader that is told to end gives the lease back, so that the standby need not wait it out', async () => {
    const leader = started.at(-1)!;
    const standby = await start();
    await standby.logged(({ msg }) => msg === 'standing by');
    leader.signal('SIGTERM');
    expect(await leader.exited()).toBe(0);
    const endedMs = Date.now();
    const ledMs = Date.parse(String((await leads(standby)).time));
    expect(ledMs - endedMs).toBeLessThan(LEASE.leaseDurationMs / 2);
    await twoRounds();
    expect(history.of('chat')).toEqual([2, 6, 2]);
  }, 60_000);
});

async function tokenOf(credentials: Credentials): Promise<string> {
  return (await credentials.connection()).headers.authorization!.replace(/^Bearer /, '');
}

/** `T` for a process that is stopped. */
function stateOf(pid: number): string {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1]!;
}
