import { Chart } from 'cdk8s';
import { Cluster, GitOpsApp, InferencePlatform } from '../../constructs';
import type { KubeObject } from '../../src/api/meta';
import type { AppsWorkload } from '../../src/expand/workload-plan';
import { modelRouteOf } from '../helpers/router-cluster';
import { send } from '../helpers/router-harness';
import { deploymentOf, policyFor, serverFor } from '../helpers/workload-objects';
import { ControlPlane, hasGo } from './control-plane';
import { allDefinitions } from './definitions';
import { FaultProxy } from './fault-proxy';
import { ImageProcess } from './image-process';
import { KubeAdmin } from './kube-admin';
import { type PodEngine, podEngineCommand } from './pod-engine-command';

const NAMESPACE = 'kvasir-system';

/** Kinds by which the constructs grant access. */
const ACCESS: ReadonlySet<string> = new Set(['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']);

function accessOfConstructs(): readonly KubeObject[] {
  const app = new GitOpsApp({
    cluster: Cluster.of({ kubernetes: '1.35' }),
    images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' },
  });
  const chart = new Chart(app, 'kvasir-system', { namespace: NAMESPACE });
  new InferencePlatform(chart, 'platform');
  return (chart.toJson() as readonly KubeObject[]).filter(({ kind }) => ACCESS.has(kind));
}

const engines = deploymentOf('chat', {
  replicas: 1,
  template: {
    metadata: { labels: { app: 'chat' } },
    spec: {
      containers: [
        {
          name: 'engine',
          image: 'vllm/vllm-openai:v0.32.0',
          args: ['--model', 'Qwen/Qwen3-0.6B', '--served-model-name', 'chat', '--port', '8000'],
          readinessProbe: { httpGet: { path: '/health', port: 8000 } },
        },
      ],
      terminationGracePeriodSeconds: 5,
    },
  },
});

const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hello' }], max_tokens: 4 });

const describeHere = hasGo() ? describe : describe.skip;

describeHere('router and autoscaler on a Kubernetes API, as the ServiceAccounts of the constructs', () => {
  let engine: PodEngine;
  let plane: ControlPlane;
  let admin: KubeAdmin;
  let proxy: FaultProxy;
  let router: ImageProcess;
  let autoscaler: ImageProcess;

  beforeAll(async () => {
    engine = podEngineCommand();
    plane = await ControlPlane.start({ podExec: engine.command });
    admin = new KubeAdmin(plane.credentials);
    await admin.apply(...allDefinitions());
    await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...accessOfConstructs());
    await admin.apply(engines, serverFor('chat', { model: 'chat' }), modelRouteOf('chat', { modelName: 'chat', to: 'chat' }));
    proxy = await FaultProxy.start(plane.credentials);
    const [routerAccount, autoscalerAccount] = await Promise.all(
      ['kvasir-router', 'kvasir-autoscaler'].map((name) => admin.serviceAccount(NAMESPACE, name)),
    );
    [router, autoscaler] = await Promise.all([
      ImageProcess.start('router', proxy.credentials(routerAccount)),
      ImageProcess.start('autoscaler', proxy.credentials(autoscalerAccount), { syncPeriodMs: 1000 }),
    ]);
  }, 600_000);

  afterAll(async () => {
    await Promise.all([router?.close(), autoscaler?.close()]);
    await proxy?.close();
    admin?.close();
    await plane?.close();
    engine?.remove();
  }, 60_000);

  const chat = () => send(`http://${router.address('listen')}`, '/v1/chat/completions', body);
  const deployment = async () =>
    (await admin.get(engines)) as AppsWorkload & { readonly status?: { readonly readyReplicas?: number } };

  it('serves requests by pods that controllers and kubelets made', async () => {
    await admin.until('it serves', async () => (await chat()).status === 200, 60_000);
    expect(JSON.parse((await chat()).body)).toMatchObject({ object: 'chat.completion', model: 'chat' });
  }, 90_000);

  it('scales as a policy says, writes its status, and tells it by an Event', async () => {
    const policy = policyFor('chat');
    const { homogeneousTarget } = policy.spec as { readonly homogeneousTarget: object };
    const spec = { ...policy.spec, homogeneousTarget: { ...homogeneousTarget, minReplicas: 2 } };
    await admin.apply({ ...policy, spec } as KubeObject);
    await admin.until('two pods are ready', async () => (await deployment()).status?.readyReplicas === 2, 60_000);
    await admin.until('the status is written', async () => {
      const { status } = (await admin.get(policy)) as KubeObject & {
        readonly status?: { readonly homogeneousStatus?: { readonly desiredReplicas?: number } };
      };
      return status?.homogeneousStatus?.desiredReplicas === 2;
    });
    await admin.until('an Event tells it', async () => {
      const events = await admin.list<
        KubeObject & { readonly message: string; readonly involvedObject: { readonly name: string } }
      >({ apiVersion: 'v1', kind: 'Event' });
      return events.some(({ message, involvedObject }) => involvedObject.name === 'chat' && message.includes('from 1 to 2'));
    });
  }, 90_000);

  it('serves from what it knew while the API is away, and is told of changes after', async () => {
    await proxy.refuse();
    await router.logged(({ trouble }) => trouble !== undefined);
    const answers = await Promise.all(Array.from({ length: 20 }, chat));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await admin.apply(modelRouteOf('chat-2', { modelName: 'chat-2', to: 'chat' }));
    await proxy.heal();
    const models = () => send(`http://${router.address('listen')}`, '/v1/models');
    await admin.until('the new route is served', async () => (await models()).body.includes('"chat-2"'));
  }, 60_000);

  it('leaves in peace at SIGTERM', async () => {
    for (const image of [router, autoscaler]) image.signal('SIGTERM');
    expect(await Promise.all([router.exited(), autoscaler.exited()])).toEqual([0, 0]);
  }, 60_000);

  it('may see all that a start waits for', () => {
    const lines = [...router.log, ...autoscaler.log];
    expect(lines.filter(({ msg }) => msg === 'the cluster was listed')).toHaveLength(2);
  });
});
