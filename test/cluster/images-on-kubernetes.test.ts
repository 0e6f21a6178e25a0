import type { KubeObject } from '../../src/api/meta';
import { modelRouteOf } from '../helpers/router-cluster';
import { policyFor, serverFor } from '../helpers/workload-objects';
import { hasGo } from './control-plane';
import { enginesOf, ImagesRig } from './images-rig';
import { RouterLoad } from './router-load';

const STEP_MS = 20;
const engines = enginesOf('chat', 1, { stepMs: STEP_MS });

/** @param target what the policy of that name scales. */
function policyOf(
  name: string,
  target: { readonly apiVersion: string; readonly kind: string; readonly name: string },
  bounds: { readonly minReplicas: number; readonly maxReplicas: number },
  spec: object = {},
): KubeObject {
  const policy = policyFor(name);
  return {
    ...policy,
    spec: { ...policy.spec, homogeneousTarget: { target: { targetRef: target }, ...bounds }, ...spec },
  } as KubeObject;
}

const chat = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' };

const describeHere = hasGo() ? describe : describe.skip;

describeHere('router and autoscaler on a Kubernetes API, as the ServiceAccounts of the constructs', () => {
  let rig: ImagesRig;

  beforeAll(async () => {
    const route = modelRouteOf('chat', { modelName: 'chat', to: 'chat' });
    rig = await ImagesRig.start([engines, serverFor('chat', { model: 'chat' }), route]);
  }, 600_000);

  afterAll(() => rig?.close(), 60_000);

  it('serves requests by pods that controllers and kubelets made', async () => {
    await rig.answers(200);
    expect(JSON.parse((await rig.chat()).body)).toMatchObject({ object: 'chat.completion', model: 'chat' });
  }, 90_000);

  it('scales as a policy says, writes its status, and tells it by an Event', async () => {
    const { admin } = rig;
    const policy = policyOf('chat', chat, { minReplicas: 2, maxReplicas: 4 });
    await admin.apply(policy);
    await rig.hasReady(engines, 2);
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

  it('scales up under load that comes through the router, and down when it is over, and no request is lost', async () => {
    const metrics = [{ name: 'running', targetValue: '4' }];
    const metricSources = { running: { pod: { name: 'vllm:num_requests_running', port: 8000 } } };
    const behavior = { scaleDown: { stabilizationWindow: '2s', period: '1s', instances: 4 } };
    const homogeneousTarget = { target: { targetRef: chat, metricSources }, minReplicas: 1, maxReplicas: 3 };
    await rig.admin.apply(policyOf('chat', chat, { minReplicas: 1, maxReplicas: 3 }, { metrics, behavior, homogeneousTarget }));
    await rig.hasReady(engines, 1);
    // Some that go on all the time are there to be lost.
    const light = new RouterLoad({ router: rig.router.address('listen'), model: 'chat', clients: 1, maxTokens: 20 });
    const heavy = new RouterLoad({ router: rig.router.address('listen'), model: 'chat', clients: 14, maxTokens: 60 });
    try {
      await rig.hasReady(engines, 3);
      await heavy.stop();
      await rig.hasReady(engines, 1);
    } finally {
      await Promise.all([heavy.stop(), light.stop()]);
    }
    expect([...heavy.failures, ...light.failures]).toEqual([]);
    expect(heavy.answered).toBeGreaterThan(14);
  }, 150_000);

  it('scales LeaderWorkerSets, and roles of DisaggregatedSets', async () => {
    const group = { size: 2, workerTemplate: { spec: { containers: [{ name: 'main', image: 'engine:1' }] } } };
    const set = { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', name: 'deep' };
    const scaler = { apiVersion: 'disaggregatedset.x-k8s.io/v1', kind: 'DisaggregatedSetRoleScaler', name: 'pd-prefill' };
    const objects = [
      { ...set, metadata: { name: set.name }, spec: { replicas: 1, leaderWorkerTemplate: group } },
      // As the controller of DisaggregatedSets makes it for a role that is scaled from outside.
      { ...scaler, metadata: { name: scaler.name }, spec: { replicas: 1 } },
    ].map(({ name: _, ...object }) => object as KubeObject & { readonly spec: { readonly replicas: number } });
    await rig.admin.apply(...objects);
    const bounds = { minReplicas: 2, maxReplicas: 3 };
    await rig.admin.apply(policyOf('deep', set, bounds), policyOf('pd-prefill', scaler, bounds));
    await rig.admin.until('both have two', async () => {
      const found = await Promise.all(objects.map((object) => rig.admin.get(object)));
      return found.every((object) => object!.spec.replicas === 2);
    });
  }, 60_000);

  it('leaves in peace at SIGTERM', async () => {
    expect(await Promise.all([rig.router.terminate(), rig.autoscaler.terminate()])).toEqual([0, 0]);
  }, 60_000);

  it('listed all at the start, and asked for nothing that it may not', () => {
    const lines = [...rig.router.log, ...rig.autoscaler.log];
    expect(lines.filter(({ msg }) => msg === 'the cluster was listed')).toHaveLength(2);
    expect([...rig.proxy.forbidden]).toEqual([]);
    expect([rig.router.restarts, rig.autoscaler.restarts]).toEqual([0, 0]);
  });
});
