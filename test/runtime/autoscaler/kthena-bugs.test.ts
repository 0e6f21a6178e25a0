import { decide } from '../../../runtime/autoscaler/decide/decide';
import type { Memory } from '../../../runtime/autoscaler/decide/decision';
import type { MetricReading, Observation } from '../../../runtime/autoscaler/decide/observation';
import { defaultAlgorithm } from '../../../runtime/autoscaler/decide/recommend';
import type { Behavior } from '../../../runtime/autoscaler/decide/rules';
import type { PolicySpec, TargetSpec } from '../../../runtime/autoscaler/decide/spec';
import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import { AutoscalerRig, homogeneousSpec, policyOf, runningPage } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
});

afterEach(() => rig.close());

const atOnce = { behavior: { scaleDown: { stabilizationWindow: '0s', period: '0s' } } };

function chat(replicas: number, running: number): void {
  rig.cluster.target('Deployment', 'chat', replicas);
  rig.pods('chat', replicas, runningPage(running));
}

const free = { instances: 0, percent: 0, periodMs: 0, selectPolicy: 'Or', stabilizationWindowMs: 0 };
const calm: Behavior = { scaleUp: free, scaleDown: free, panic: { percent: 0, periodMs: 0, thresholdPercent: 200, holdMs: 0 } };
const specOf = (target: TargetSpec, behavior = calm): PolicySpec => ({
  algorithm: defaultAlgorithm,
  tolerance: 0.1,
  behavior,
  target,
});
const observation = (units: readonly (readonly [string, number, MetricReading])[], atMs = 0): Observation => ({
  atMs,
  isViewStale: false,
  units: units.map(([name, current, reading]) => ({
    name,
    current,
    metrics: [{ name: 'running', targetValue: 10, reading }],
    unreadyPods: 0,
  })),
});
const external = (value: number): MetricReading => ({ kind: 'external', value });

/** Names are those of reference bugs; each sentence is the right behavior. */
describe("faults of Kthena's autoscaler that are not here", () => {
  it.each([
    [5, 10.4, 5],
    [5, 2.2, 2],
  ])('W70: %d replicas at %d each are %d: tolerance lies around the present replicas', async (replicas, running, expected) => {
    chat(replicas, running);
    rig.cluster.put(rig.policy('p', 'chat', atOnce));
    await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(expected);
  });

  it('W71: a pod that failed, ends or was restarted keeps nobody from being read', async () => {
    chat(4, 20);
    const [failed, ending, restarted] = ['chat-0', 'chat-1', 'chat-2'].map(
      (name) => rig.cluster.objects.get('Pod', 'default', name)!,
    );
    const started = [{ name: 'engine', ready: true, restartCount: 3 }];
    rig.cluster.put(
      { ...failed!, status: { ...failed!.status, phase: 'Failed' } } as KubeObject,
      { ...ending!, metadata: { ...ending!.metadata, deletionTimestamp: '2026-11-30T12:00:00Z' } },
      { ...restarted!, status: { ...restarted!.status, containerStatuses: started } } as KubeObject,
    );
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    expect(rig.cluster.condition('p', 'MetricMissing')?.status).toBe('False');
    expect(rig.decisions[0]!.units[0]!.recommended).toBeGreaterThanOrEqual(4);
  });

  it('W72: an endpoint that hangs takes no time from other policies', async () => {
    rig.cluster.target('Deployment', 'slow', 1).put(readyPod('slow-0', { app: 'slow' }, '127.0.3.1'));
    rig.pages.hanging.add('127.0.3.1');
    chat(1, 30);
    rig.cluster.put(
      rig.policy('a-slow', 'slow', {}, { creationTimestamp: '2026-01-01T00:00:00Z' }),
      rig.policy('b', 'chat', {}, { creationTimestamp: '2026-02-01T00:00:00Z' }),
    );
    const round = rig.round();
    await rig.pages.whenAsked('127.0.3.1');
    await rig.pages.whenAsked('127.0.1.1');
    rig.clock.advance(3_000);
    await round;
    await rig.settle(2);
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
    expect(rig.cluster.condition('a-slow', 'MetricMissing')?.status).toBe('True');
  });

  it('W73: a percentile is that of all pods together, and a family of an odd type is one missing metric', async () => {
    const latency = (n: number) =>
      `# TYPE latency histogram\nlatency_bucket{le="1"} ${n}\nlatency_bucket{le="2"} ${2 * n}\nlatency_bucket{le="+Inf"} ${2 * n}\n`;
    const odd = '# TYPE odd summary\nodd{quantile="0.5"} 3\n';
    rig.cluster.target('Deployment', 'chat', 3);
    rig.pods('chat', 3, latency(10) + odd);
    const source = (name: string) => ({ pod: { name, port: rig.pages.port } });
    rig.cluster.put(
      policyOf('p', {
        spec: {
          metrics: [
            { name: 'latency', targetValue: 1 },
            { name: 'odd', targetValue: 1 },
          ],
          homogeneousTarget: {
            target: {
              targetRef: { kind: 'Deployment', name: 'chat' },
              metricSources: { latency: source('latency'), odd: source('odd') },
            },
            minReplicas: 1,
            maxReplicas: 50,
          },
        },
      }),
    );
    await rig.round();
    rig.pods('chat', 3, latency(110) + odd);
    await rig.round();
    // 95 % of all requests take less than 1.9 s: three replicas at 1.9 each are worth six, and never a sum of three percentiles.
    expect(rig.decisions.at(-1)!.units[0]!.verdicts).toEqual([
      { name: 'latency', replicas: 6 },
      { name: 'odd', missing: 'odd is a summary; name a gauge, counter or histogram' },
    ]);
  });

  it('W74: a counter is its rate, so that it can fall', async () => {
    const counter = (value: number) => `# TYPE vllm:num_requests_running counter\nvllm:num_requests_running ${value}\n`;
    rig.cluster.target('Deployment', 'chat', 2).put(rig.policy('p', 'chat', atOnce));
    rig.pods('chat', 2, counter(1000));
    await rig.round();
    rig.pods('chat', 2, counter(1300));
    await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(4);
    rig.pods('chat', 4, counter(1300));
    for (let i = 0; i < 6; i++) await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(1);
  });

  it('W75: what the window of several pools remembers is what was recommended, and not what was made of it', () => {
    const behavior: Behavior = { ...calm, scaleUp: { ...free, instances: 1, periodMs: 60_000 } };
    const pools = [
      { name: 'a', cost: 1, min: 0, max: 20 },
      { name: 'b', cost: 2, min: 0, max: 20 },
    ];
    const spec = specOf({ kind: 'heterogeneous', pools, costExpansionRatePercent: 200 }, behavior);
    const { decision, memory } = decide(
      spec,
      observation([
        ['a', 2, external(90)],
        ['b', 0, { kind: 'missing', reason: '' }],
      ]),
      {},
    );
    expect(decision.units.map(({ desired }) => desired)).toEqual([3, 0]);
    expect(memory.total!.recommendations.at(-1)!.replicas).toBe(9);
  });

  it('W76: a policy without a panic policy is scaled', async () => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat', { behavior: { scaleUp: { stablePolicy: { instances: 8 } } } }));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it('W77: every form has a status with conditions, and a ratio that cannot be kept is told', async () => {
    chat(2, 10);
    const { metrics, homogeneousTarget } = homogeneousSpec('chat', rig.pages.port) as {
      metrics: object;
      homogeneousTarget: object;
    };
    rig.cluster.put(
      policyOf('one', { spec: { metrics, homogeneousTarget } }),
      policyOf('several', { spec: { metrics, heterogeneousTarget: { params: [{ ...homogeneousTarget, cost: 1 }] } } }),
    );
    await rig.round();
    expect(rig.cluster.statusOf('one')).toMatchObject({ homogeneousStatus: { currentReplicas: 2 } });
    expect(rig.cluster.statusOf('several')).toMatchObject({ heterogeneousStatus: [{ currentReplicas: 2 }] });
    for (const name of ['one', 'several']) expect(rig.cluster.condition(name, 'TargetFound')?.status).toBe('True');
    const roles = [
      { name: 'decode', min: 1, max: 8 },
      { name: 'prefill', min: 1, max: 1 },
    ];
    const ratio = { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: 2, maxRatio: 3 };
    const { decision } = decide(
      specOf({ kind: 'disaggregated', roles, ratio }),
      observation([
        ['decode', 4, external(40)],
        ['prefill', 1, external(10)],
      ]),
      {},
    );
    expect(decision.isRatioViolated).toBe(true);
  });

  it('W78: what the cache holds is never written into', async () => {
    chat(1, 30);
    rig.cluster.put(deepFrozen(rig.policy('p', 'chat')));
    await rig.round();
    expect(rig.cluster.written).toEqual([{ target: 'chat', replicas: 3 }]);
  });

  it('W79: zero replicas are no surge', () => {
    const behavior: Behavior = { ...calm, panic: { percent: 1000, periodMs: 60_000, thresholdPercent: 200, holdMs: 60_000 } };
    const spec = specOf({ kind: 'homogeneous', unit: { name: 'chat', min: 0, max: 8 } }, behavior);
    const { decision } = decide(spec, observation([['chat', 0, external(0)]]), {});
    expect(decision.units[0]).toMatchObject({ desired: 0, mode: 'Stable' });
    const { decision: woken } = decide(spec, observation([['chat', 0, external(25)]]), {});
    expect(woken.units[0]!.desired).toBe(3);
  });

  it('W80: an edit of the policy forgets no window', async () => {
    chat(4, 10);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.pods('chat', 4, runningPage(1));
    rig.cluster.put(rig.policy('p', 'chat', { tolerancePercent: 5 }, { generation: 2 }));
    await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(4);
    expect(rig.cluster.condition('p', 'Limited')?.reason).toBe('Stabilizing');
  });

  it('W81: a workload named twice is refused, the maximum wins over a minimum above it, and of two policies one acts', async () => {
    chat(4, 10);
    const { metrics, homogeneousTarget } = homogeneousSpec('chat', rig.pages.port) as {
      metrics: object;
      homogeneousTarget: object;
    };
    const twice = { heterogeneousTarget: { params: [homogeneousTarget, homogeneousTarget] } };
    rig.cluster.put(policyOf('twice', { spec: { metrics, ...twice } }));
    await rig.round();
    await rig.settle(1);
    expect(rig.cluster.condition('twice', 'Ready')).toMatchObject({
      reason: 'TargetInvalid',
      message: 'heterogeneousTarget names Deployment default/chat twice; keep one of the params',
    });
    const bounds = { homogeneousTarget: { ...homogeneousTarget, minReplicas: 5, maxReplicas: 2 } };
    rig.cluster.put(policyOf('p', { spec: { metrics, ...bounds } }), policyOf('q', { spec: { metrics, homogeneousTarget } }));
    rig.cluster.remove('AutoscalingPolicy', 'default', 'twice');
    await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(2);
    expect(rig.cluster.condition('q', 'TargetConflict')?.status).toBe('True');
  });

  it('W82: a role without metrics freezes itself and not the other', () => {
    const roles = [
      { name: 'decode', min: 1, max: 8 },
      { name: 'prefill', min: 1, max: 8 },
    ];
    const spec = specOf({ kind: 'disaggregated', roles });
    const { decision } = decide(
      spec,
      observation([
        ['decode', 2, external(50)],
        ['prefill', 3, { kind: 'missing', reason: 'x' }],
      ]),
      {},
    );
    expect(decision.units.map(({ desired }) => desired)).toEqual([5, 3]);
  });

  it('W83: a role that its ModelServing refuses to shrink is told, and the policy goes on', async () => {
    const role = (name: string) => ({ name, replicas: 2, entryTemplate: { spec: { containers: [] } } });
    const serving = {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'ms', namespace: 'default' },
      spec: { template: { roles: [role('prefill')] } },
    };
    rig.cluster.put(serving);
    rig.cluster.scaling.setRoles = async () => ({ kind: 'invalid', message: 'below minRoleReplicas' });
    rig.cluster.put(
      policyOf('p', {
        spec: {
          disaggregatedTarget: {
            targetRef: { name: 'ms' },
            roles: { prefill: { minReplicas: 1, maxReplicas: 1, metrics: [{ name: 'x', targetValue: 1 }] } },
          },
        },
      }),
    );
    await rig.round();
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({
      reason: 'ScaleInvalid',
      message: expect.stringContaining('minRoleReplicas'),
    });
    chat(1, 30);
    rig.cluster.put(rig.policy('q', 'chat'));
    await rig.round();
    expect(rig.cluster.replicas('Deployment', 'chat')).toBe(3);
  });

  it('W84: who is not the leader writes nothing', async () => {
    chat(1, 30);
    rig.cluster.put(rig.policy('p', 'chat'));
    await rig.round();
    rig.cluster.target('Deployment', 'chat', 1);
    const written = rig.cluster.written.length;
    rig.cluster.isLeader = false;
    rig.clock.advance(60_000);
    await rig.settle(0);
    expect(rig.cluster.written).toHaveLength(written);
  });

  it('W85: a panic policy without a period is refused, with the field', () => {
    const input = {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'AutoscalingPolicy',
      metadata: { name: 'p' },
      spec: { ...homogeneousSpec('chat', 8000), behavior: { scaleUp: { panicPolicy: { panicThresholdPercent: 200 } } } },
    };
    const decoded = decodeKind('AutoscalingPolicy', input);
    expect(decoded.kind === 'invalid' && decoded.findings.map(({ field }) => field)).toEqual([
      'spec.behavior.scaleUp.panicPolicy.period',
    ]);
  });

  it('W86: the mix of several pools is the cheapest at every load, whatever costExpansionRatePercent says', () => {
    const pools = [
      { name: 'h100', cost: 100, min: 0, max: 4 },
      { name: 'a100', cost: 60, min: 0, max: 8 },
    ];
    for (const costExpansionRatePercent of [0, 100, 200, 400]) {
      let memory: Memory = {};
      for (let load = 1; load <= 8; load++) {
        const spec = specOf({ kind: 'heterogeneous', pools, costExpansionRatePercent });
        const decided = decide(
          spec,
          observation([
            ['h100', 0, external(load * 10)],
            ['a100', 0, { kind: 'missing', reason: '' }],
          ]),
          memory,
        );
        expect(decided.decision.mix?.cost).toBe(60 * load);
        memory = {};
      }
    }
  });
});

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFrozen(inner);
    Object.freeze(value);
  }
  return value;
}
