import type { KubeObject } from '../../../src/api/meta';
import type { Pod } from '../../../src/api/pod';
import type { AutoscalerConfig } from '../../../src/config/autoscaler-config';
import { Annotations } from '../../../src/labels';
import { AutoscalerRig, runningPage } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';

let rig: AutoscalerRig;

async function open(config: Partial<AutoscalerConfig> = {}): Promise<void> {
  rig = await AutoscalerRig.open(config);
}

afterEach(() => rig.close());

const annotations = { [Annotations.accelerator]: 'H100-SXM-80GB', [Annotations.costPerReplicaHour]: '4' };
const spec = { containers: [{ name: 'engine', resources: { limits: { 'nvidia.com/gpu': 2 } } }] };

/** Deployments on two GPUs for each replica, every pod with the same load, on hosts of their own. */
function gpus(name: string, net: number, replicas: number, running: number, metadata: object = {}): void {
  rig.cluster.target('Deployment', name, replicas);
  rig.cluster.templates.set(name, [{ metadata: { name, annotations }, spec }]);
  for (let i = 0; i < replicas; i++) {
    const pod = readyPod(`${name}-${i}`, { app: name }, `127.0.${net}.${i + 1}`);
    rig.cluster.put({ ...pod, metadata: { ...pod.metadata, annotations }, spec } as Pod);
    rig.pages.byHost.set(`127.0.${net}.${i + 1}`, runningPage(running));
  }
  rig.cluster.put(rig.policy(name, name, { behavior: { scaleUp: { stablePolicy: { instances: 20 } } } }, metadata));
}

const replicas = (name: string): number | undefined => rig.cluster.replicas('Deployment', name);

describe('a budget that policies share', () => {
  it('is never exceeded by two of them together, and each says what stands in its way', async () => {
    await open({ budgets: [{ name: 'prod', maxGpus: 12 }] });
    gpus('a', 1, 1, 50);
    gpus('b', 2, 1, 50);
    await rig.round();
    expect(replicas('a')! + replicas('b')!).toBe(6);
    for (const name of ['a', 'b']) {
      expect(rig.cluster.condition(name, 'Limited')).toMatchObject({
        status: 'True',
        reason: 'NoRoom',
        message: 'budget prod has no room for another replica',
      });
    }
    // Their pods do not exist yet, and count all the same.
    await rig.round();
    expect(replicas('a')! + replicas('b')!).toBe(6);
  });

  it('goes to the policy of greater priority', async () => {
    await open({ budgets: [{ name: 'prod', maxCostPerHour: 17 }] });
    gpus('a', 1, 1, 50);
    gpus('b', 2, 1, 50, { annotations: { [Annotations.scalingPriority]: '10' } });
    await rig.round();
    expect([replicas('a'), replicas('b')]).toEqual([1, 3]);
  });

  it('counts pods of others, and may hold a policy below its minimum', async () => {
    await open({ budgets: [{ name: 'h100', accelerator: 'H100-SXM-80GB', maxGpus: 4 }] });
    gpus('a', 1, 1, 50);
    const job = readyPod('training', { app: 'training' }, '127.0.9.1');
    rig.cluster.put({ ...job, metadata: { ...job.metadata, annotations }, spec } as Pod);
    await rig.round();
    expect(replicas('a')).toBe(1);
    expect(rig.cluster.condition('a', 'Limited')?.reason).toBe('NoRoom');
  });
});

describe('a ResourceQuota', () => {
  const quota = (hard: number, used: number): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'gpus', namespace: 'default' },
      spec: { hard: { 'requests.nvidia.com/gpu': String(hard) } },
      status: { used: { 'requests.nvidia.com/gpu': String(used) } },
    }) as KubeObject;

  it('bounds the growth of the policies in its namespace', async () => {
    await open();
    rig.cluster.put(quota(8, 4));
    gpus('a', 1, 1, 50);
    await rig.round();
    expect(replicas('a')).toBe(3);
    expect(rig.cluster.condition('a', 'Limited')?.message).toBe('ResourceQuota default/gpus has no room for another replica');
  });

  it('that cannot be read lets nothing grow, and what shrinks shrinks', async () => {
    await open();
    gpus('a', 1, 1, 50);
    const { freshness } = rig.cluster.objects;
    rig.cluster.objects.freshness = (kind) => (kind === 'ResourceQuota' ? { isSynced: false, ageMs: 0 } : freshness(kind));
    await rig.round();
    expect(replicas('a')).toBe(1);
    expect(rig.cluster.condition('a', 'Limited')?.message).toBe('ResourceQuota cannot be read; nothing grows');
    rig.cluster.objects.freshness = freshness;
    await rig.round();
    expect(replicas('a')).toBe(5);
  });
});

describe('careful people', () => {
  it('bound the step of one write, and the bounds win over it', async () => {
    await open();
    gpus('a', 1, 1, 60, { annotations: { [Annotations.largestStep]: '2' } });
    await rig.round();
    expect(replicas('a')).toBe(3);
    expect(rig.cluster.condition('a', 'Limited')?.reason).toBe('LargestStep');
    rig.cluster.target('Deployment', 'a', 20);
    await rig.round();
    expect(replicas('a')).toBe(8);
  });

  it('are told that a step or priority is no number', async () => {
    await open();
    gpus('a', 1, 1, 60, { annotations: { [Annotations.largestStep]: 'some' } });
    await rig.round();
    await rig.settle(1);
    expect(rig.cluster.condition('a', 'Ready')).toMatchObject({
      reason: 'TargetInvalid',
      message: "annotation kvasir.dev/largest-step is 'some'; write a whole number from 1",
    });
  });

  it('let everything be computed and reported, and nothing be written', async () => {
    await open({ dryRun: true });
    gpus('a', 1, 1, 50);
    await rig.round();
    expect(rig.cluster.written).toEqual([]);
    expect(rig.cluster.condition('a', 'Ready')).toMatchObject({ status: 'False', reason: 'DryRun' });
    expect(rig.decisions[0]).toMatchObject({ hold: 'dryRun is set in the configuration of the autoscaler', written: [] });
    expect(rig.decisions[0]!.units[0]!.desired).toBe(5);
  });
});

describe('a pool whose pods find no node', () => {
  it('leaves its share to the next cheapest after five minutes, and says so', async () => {
    await open();
    const param = (name: string, cost: number) => ({
      target: {
        targetRef: { kind: 'Deployment', name },
        metricSources: { running: { pod: { name: 'vllm:num_requests_running', port: rig.pages.port } } },
      },
      cost,
      minReplicas: 0,
      maxReplicas: 8,
    });
    rig.cluster.target('Deployment', 'cheap', 3).target('Deployment', 'dear', 0);
    rig.cluster.put(
      rig.policy('p', 'x', {
        homogeneousTarget: undefined,
        heterogeneousTarget: { params: [param('cheap', 1), param('dear', 3)] },
      }),
    );
    rig.cluster.put(readyPod('cheap-0', { app: 'cheap' }, '127.0.1.1'));
    rig.pages.byHost.set('127.0.1.1', runningPage(28));
    for (const name of ['cheap-1', 'cheap-2']) {
      const conditions = [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' }];
      rig.cluster.put({ ...readyPod(name, { app: 'cheap' }, ''), status: { phase: 'Pending', conditions } } as Pod);
    }
    for (let i = 0; i < 20; i++) await rig.round();
    expect([replicas('cheap'), replicas('dear')]).toEqual([3, 0]);
    for (let i = 0; i < 3; i++) await rig.round();
    expect(replicas('dear')).toBe(2);
    expect(rig.decisions.flatMap(({ units }) => units[0]!.limits)).toContainEqual({
      rule: 'back-off',
      from: 3,
      to: 1,
      by: 'default/cheap: no node has room for pod cheap-1',
    });
  });
});

describe('a target whose pods do not start', () => {
  it.each([
    [
      'no node has room for pod chat-1',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    ],
    [
      'the image of container engine of pod chat-1: ImagePullBackOff',
      {
        phase: 'Pending',
        containerStatuses: [
          { name: 'engine', ready: false, restartCount: 0, state: { waiting: { reason: 'ImagePullBackOff' } } },
        ],
      },
    ],
    [
      'container engine of pod chat-1 ends again and again',
      {
        phase: 'Running',
        containerStatuses: [
          { name: 'engine', ready: false, restartCount: 4, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      },
    ],
  ])('is not grown further, and says that %s', async (message, status) => {
    await open();
    rig.cluster.target('Deployment', 'chat', 2).put(rig.policy('p', 'chat'));
    rig.cluster.put(readyPod('chat-0', { app: 'chat' }, '127.0.1.1'));
    rig.cluster.put({ ...readyPod('chat-1', { app: 'chat' }, ''), status } as Pod);
    rig.pages.byHost.set('127.0.1.1', runningPage(20));
    for (let i = 0; i < 22; i++) await rig.round();
    expect(replicas('chat')).toBe(2);
    rig.pages.byHost.set('127.0.1.1', runningPage(80));
    for (let i = 0; i < 3; i++) await rig.round();
    expect(replicas('chat')).toBe(2);
    expect(rig.cluster.condition('p', 'Limited')).toMatchObject({
      status: 'True',
      reason: 'BackingOff',
      message: expect.stringContaining(message),
    });
    expect(rig.decisions.at(-1)!.units[0]!.limits).toContainEqual(expect.objectContaining({ rule: 'back-off', to: 2 }));
  });
});
