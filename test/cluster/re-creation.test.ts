import { setTimeout as pause } from 'node:timers/promises';
import { ExternalModelProvider, Router, SecretRef } from '../../constructs';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import type { Condition, KubeObject } from '../../src/api/meta';
import { WORKLOAD_API_VERSION } from '../../src/labels';
import { testProvider } from '../helpers/provider-harness';
import { modelRouteOf } from '../helpers/router-cluster';
import type { TestEngine } from '../helpers/router-harness';
import { policyFor, serverFor } from '../helpers/workload-objects';
import { hasGo } from './control-plane';
import { GroupControllers } from './group-controllers';
import { enginesOf, ImagesRig, NAMESPACE } from './images-rig';

const engines = enginesOf('chat', 1);
const server = serverFor('chat', { model: 'chat' });
const route = modelRouteOf('chat', { modelName: 'chat', to: 'chat' });

/** Keeps `deployment` at two replicas at least. */
function policyAtTwo(deployment: string): KubeObject {
  const policy = policyFor(deployment);
  const { homogeneousTarget } = policy.spec as { readonly homogeneousTarget: object };
  return { ...policy, spec: { ...policy.spec, homogeneousTarget: { ...homogeneousTarget, minReplicas: 2 } } } as KubeObject;
}
const policy = policyAtTwo('chat');

const secret = (namespace: string, name: string, labels: object, stringData: object): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, labels }, stringData }) as KubeObject;
const credential = (token: string): KubeObject => secret('default', 'cloud', ExternalModelProvider.secretLabels, { token });
const apiKey = (n: number): string => `sk-0123456789abcdef-${n}`;
const keys = (n: number): KubeObject => secret(NAMESPACE, 'keys', Router.apiKeySecretLabels, { team: apiKey(n) });

const describeHere = hasGo() ? describe : describe.skip;

describeHere('router and autoscaler, when what they watch is deleted and made again', () => {
  let rig: ImagesRig;
  let cloud: TestEngine;
  let provider: KubeObject;

  beforeAll(async () => {
    cloud = await testProvider((_request, response) => {
      response.setHeader('content-type', 'application/json').end('{"object":"chat.completion","choices":[]}');
    });
    const props = { baseUrl: `https://127.0.0.1:${cloud.port}`, insecureSkipVerify: true };
    rig = await ImagesRig.start([engines, server, route, policy, keys(1), credential('first')], {
      router: { apiKeys: { secrets: ['keys'] }, config: { auth: { required: false } } },
      stack: (scope) => {
        const made = new ExternalModelProvider(scope, 'cloud', { ...props, credential: SecretRef.existing('cloud', 'token') });
        provider = made.resource.toJson() as KubeObject;
      },
    });
    const targetModels = [{ externalModelProviderName: 'cloud', weight: 100 }];
    await rig.admin.apply(provider, modelRouteOf('cloud', { modelName: 'cloud', rules: [{ targetModels }] }));
    await rig.hasReady(engines, 2);
    await rig.answers(200);
  }, 600_000);

  afterAll(async () => {
    await rig?.close();
    await cloud?.kill();
  }, 60_000);

  async function conditionOf(object: KubeObject, type: string): Promise<Condition | undefined> {
    const found = (await rig.admin.get(object)) as KubeObject & {
      readonly status?: { readonly conditions?: readonly Condition[] };
    };
    return found?.status?.conditions?.find((each) => each.type === type);
  }

  /** Waits until the autoscaler says so of a policy. */
  async function says(object: KubeObject, type: string, reason: string): Promise<void> {
    await rig.admin.until(
      `${object.metadata.name} is ${type} for ${reason}`,
      async () => (await conditionOf(object, type))?.reason === reason,
    );
  }

  it('a ModelRoute', async () => {
    await rig.admin.remove(route);
    await rig.answers(404);
    await rig.admin.apply(route);
    await rig.answers(200);
  }, 60_000);

  it('a ModelServer', async () => {
    await rig.admin.remove(server);
    await rig.answers(404);
    await rig.admin.apply(server);
    await rig.answers(200);
  }, 60_000);

  it('a Deployment, which is another one then', async () => {
    await rig.admin.remove(engines);
    await rig.answers(503);
    await rig.admin.apply(engines);
    await rig.answers(200);
    await rig.hasReady(engines, 2);
  }, 90_000);

  it('a ModelServing', async () => {
    const controllers = new GroupControllers(rig.plane.credentials);
    const container = (engines as unknown as DeploymentLike).spec.template.spec.containers[0]!;
    const serving = {
      apiVersion: WORKLOAD_API_VERSION,
      kind: 'ModelServing',
      metadata: { name: 'group', namespace: 'default' },
      spec: {
        replicas: 1,
        template: {
          roles: [
            {
              name: 'serve',
              replicas: 1,
              workerReplicas: 0,
              entryTemplate: { spec: { containers: [container], terminationGracePeriodSeconds: 1 } },
            },
          ],
        },
      },
    };
    const scaled = policyAtTwo('group') as KubeObject & { readonly spec: { readonly homogeneousTarget: object } };
    const targetRef = { apiVersion: WORKLOAD_API_VERSION, kind: 'ModelServing', name: 'group' };
    const homogeneousTarget = { ...scaled.spec.homogeneousTarget, target: { targetRef } };
    const selector = { matchLabels: { 'modelserving.volcano.sh/name': 'group' } };
    const replicas = async () => ((await rig.admin.get(serving)) as unknown as DeploymentLike).spec.replicas;
    try {
      await rig.admin.apply(
        serving,
        serverFor('group', { model: 'chat', workloadSelector: selector }),
        modelRouteOf('group', { modelName: 'group', to: 'group' }),
        { ...scaled, spec: { ...scaled.spec, homogeneousTarget } } as KubeObject,
      );
      for (const time of ['first', 'second']) {
        await rig.answers(200, 'group');
        await rig.admin.until(`the ${time} one is scaled`, async () => (await replicas()) === 2);
        await rig.admin.remove(serving);
        await rig.answers(503, 'group');
        await rig.admin.apply(serving);
      }
      await rig.answers(200, 'group');
    } finally {
      await controllers.close();
    }
  }, 120_000);

  it('a pod, in whose place another one serves, and no request fails meanwhile', async () => {
    const pods = async () =>
      (await rig.admin.list({ apiVersion: 'v1', kind: 'Pod' })).filter(({ metadata }) => metadata.labels?.app === 'chat');
    const [first] = await pods();
    let statuses: readonly number[] = [];
    const asking = (async () => {
      for (let i = 0; i < 50; i++) statuses = [...statuses, (await rig.chat()).status];
    })();
    await rig.admin.remove(first!);
    await asking;
    await rig.hasReady(engines, 2);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await pods()).map(({ metadata }) => metadata.name)).not.toContain(first!.metadata.name);
  }, 90_000);

  it('an AutoscalingPolicy, without which nothing is scaled', async () => {
    await rig.admin.remove(policy);
    await rig.admin.apply(engines);
    await rig.hasReady(engines, 1);
    // Two rounds.
    await pause(6_000);
    expect((await rig.deployed(engines))!.spec.replicas).toBe(1);
    await rig.admin.apply(policy);
    await rig.hasReady(engines, 2);
  }, 90_000);

  it('an AutoscalingPolicyBinding', async () => {
    const bound = enginesOf('bound', 1);
    const { spec, ...rest } = policyAtTwo('bound') as KubeObject & { readonly spec: { readonly homogeneousTarget: object } };
    const { homogeneousTarget, ...metrics } = spec;
    const binding = {
      ...rest,
      kind: 'AutoscalingPolicyBinding',
      spec: { policyRef: { name: 'bound' }, homogeneousTarget },
    } as KubeObject;
    await rig.admin.apply(bound, { ...rest, spec: metrics } as KubeObject, binding);
    await rig.hasReady(bound, 2);
    await rig.admin.remove(binding);
    await rig.admin.apply(bound);
    await rig.hasReady(bound, 1);
    await rig.admin.apply(binding);
    await rig.hasReady(bound, 2);
    await rig.admin.remove(binding, bound);
  }, 90_000);

  it('a HorizontalPodAutoscaler, which has a target for itself while it is there', async () => {
    const hpa = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'chat', namespace: 'default' },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' }, maxReplicas: 3 },
    };
    for (let i = 0; i < 2; i++) {
      await rig.admin.apply(hpa);
      await rig.admin.until('it has the target', async () => (await conditionOf(policy, 'ForeignController'))?.status === 'True');
      await rig.admin.remove(hpa);
      await says(policy, 'ForeignController', 'NoOtherController');
    }
  }, 60_000);

  it('a ResourceQuota, which bounds what grows while it is there', async () => {
    const { spec, ...rest } = enginesOf('gpus', 1) as unknown as DeploymentLike & KubeObject;
    const containers = spec.template.spec.containers.map((each) => ({
      ...each,
      resources: { limits: { 'nvidia.com/gpu': '1' } },
    }));
    const template = { ...spec.template, spec: { ...spec.template.spec, containers } };
    const gpus = { ...rest, spec: { ...spec, template } } as KubeObject;
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'gpus', namespace: 'default' },
      spec: { hard: { 'requests.nvidia.com/gpu': '1' } },
    };
    const scaled = policyAtTwo('gpus');
    for (let i = 0; i < 2; i++) {
      await rig.admin.apply(quota, gpus);
      await rig.hasReady(gpus, 1);
      await rig.admin.apply(scaled);
      await says(scaled, 'Limited', 'NoRoom');
      await rig.admin.remove(quota);
      await rig.hasReady(gpus, 2);
      await rig.admin.remove(scaled, gpus);
    }
  }, 120_000);

  it('the Secret of a provider, which the router may read by its name', async () => {
    const sent = () => cloud.received.at(-1)?.headers.authorization;
    await rig.answers(200, 'cloud');
    expect(sent()).toBe('Bearer first');
    await rig.admin.remove(credential('first'));
    await rig.answers(503, 'cloud');
    await rig.admin.apply(credential('second'));
    await rig.answers(200, 'cloud');
    expect(sent()).toBe('Bearer second');
  }, 60_000);

  it('an ExternalModelProvider', async () => {
    await rig.admin.remove(provider);
    await rig.answers(404, 'cloud');
    await rig.admin.apply(provider);
    await rig.answers(200, 'cloud');
  }, 60_000);

  it('the Secret with API keys', async () => {
    const withKey = (n: number) => ({ 'x-api-key': apiKey(n) });
    await rig.answers(200, 'chat', withKey(1));
    await rig.admin.remove(keys(1));
    await rig.answers(401, 'chat', withKey(1));
    await rig.admin.apply(keys(2));
    await rig.answers(200, 'chat', withKey(2));
    expect((await rig.chat('chat', withKey(1))).status).toBe(401);
  }, 60_000);

  it('a wake lease, without which the next request writes another one', async () => {
    const sleepy = enginesOf('sleepy', 0);
    const scaled = policyFor('sleepy') as KubeObject & { readonly spec: { readonly homogeneousTarget: object } };
    const homogeneousTarget = { ...scaled.spec.homogeneousTarget, minReplicas: 0 };
    await rig.admin.apply(
      sleepy,
      serverFor('sleepy', { model: 'sleepy' }),
      modelRouteOf('sleepy', { modelName: 'sleepy', to: 'sleepy' }),
      { ...scaled, spec: { ...scaled.spec, homogeneousTarget } } as KubeObject,
    );
    const leases = () =>
      rig.admin.list({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }, { labelSelector: 'kvasir.dev/wake' });
    for (let i = 0; i < 2; i++) {
      // Held by the router until a pod that was woken by it is ready.
      await rig.answers(200, 'sleepy');
      const [lease] = await leases();
      await rig.admin.remove(lease!);
      await rig.admin.apply(sleepy);
      await rig.admin.until('it sleeps', async () => (await rig.deployed(sleepy))?.status?.replicas === undefined);
    }
  }, 120_000);

  it('the leader’s Lease, after which one leads again and acts', async () => {
    const lease: KubeObject = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'kvasir-autoscaler', namespace: NAMESPACE },
    };
    const before = await rig.admin.get(lease);
    await rig.admin.remove(before!);
    await rig.admin.until('there is another one', async () => {
      const found = await rig.admin.get(lease);
      return found !== undefined && found.metadata.uid !== before!.metadata.uid;
    });
    await rig.admin.apply(engines);
    await rig.hasReady(engines, 2);
  }, 90_000);

  it('a CustomResourceDefinition, with all of its objects', async () => {
    const definition = customResourceDefinitions.find(({ spec }) => spec.names.kind === 'ModelRoute')!;
    await rig.admin.remove(definition);
    await rig.answers(404);
    await rig.admin.apply(definition, route);
    await rig.answers(200);
  }, 120_000);

  it('asking for nothing that they may not', () => {
    expect([...rig.proxy.forbidden]).toEqual([]);
    expect(rig.router.restarts).toBe(0);
  });
});

interface DeploymentLike {
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly spec: { readonly containers: readonly object[] } };
  };
}
