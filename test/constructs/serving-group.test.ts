import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  GitOpsApp,
  Metric,
  ModelBooster,
  ModelSource,
  NodeLabels,
  ServingGroup,
  type ServingGroupProps,
} from '../../constructs';
import { matchers, synth } from '../../constructs/testing';
import { selects } from '../../src/api/meta';
import { expandWorkload, planEngine } from '../../src/expand';

expect.extend(matchers);

const cluster = Cluster.of({ leaderWorkerSet: true, nodeLabels: NodeLabels.nvidia() });

function stack(change: Partial<ServingGroupProps> = {}, on: Cluster = cluster) {
  const app = new GitOpsApp({ cluster: on, outdir: 'unused', report: () => undefined });
  const chart = new Chart(app, 'llm', { namespace: 'llm' });
  const group = new ServingGroup(chart, 'ds', {
    source: ModelSource.huggingFace('deepseek-ai/DeepSeek-V3'),
    engine: Engine.vllm('0.32.0'),
    accelerator: Accelerator.H200_141GB,
    gpusPerPod: 8,
    ...change,
  });
  // Whether the model fits is not what these tests are about.
  const errors = () => app.check().open.filter(({ severity, code }) => severity === 'error' && !code.startsWith('fit/'));
  return { app, chart, group, errors };
}

const argsOf = (template: { readonly spec: { readonly containers: readonly object[] } }) =>
  (template.spec.containers[0] as { readonly args: readonly string[] }).args;

describe('the workload of a serving group', () => {
  it.each([
    ['a Deployment for one pod per replica', {}, 'Deployment'],
    ['a LeaderWorkerSet for several', { podsPerReplica: 2 }, 'LeaderWorkerSet'],
    ['what was asked for', { workload: 'LeaderWorkerSet' }, 'LeaderWorkerSet'],
  ] as const)('is %s', (_, change, kind) => {
    const { group, chart, errors } = stack(change);
    expect(group.workloadName).toBe(kind);
    expect(synth(chart).ofKind(kind)).toHaveLength(1);
    expect(errors()).toEqual([]);
  });

  it.each([
    [
      'several pods in a Deployment',
      { workload: 'Deployment', podsPerReplica: 2 },
      cluster,
      'workload/cannot-express',
      'LeaderWorkerSet',
    ],
    ['one group in a DisaggregatedSet', { workload: 'DisaggregatedSet' }, cluster, 'workload/cannot-express', 'LeaderWorkerSet'],
    [
      'a LeaderWorkerSet without its controller',
      { podsPerReplica: 2 },
      Cluster.of({}),
      'cluster/no-leader-worker-set',
      'leaderWorkerSet: true',
    ],
    ['a ModelServing without Kthena', { workload: 'ModelServing' }, cluster, 'cluster/no-model-serving', "kthena: 'workload'"],
    [
      'a LeaderWorkerSet beside a controller of Kthena, which would make a ModelServing of it',
      { podsPerReplica: 2 },
      Cluster.of({ leaderWorkerSet: true, kthena: 'workload' }),
      'coexistence/leader-worker-set',
      'ModelServing',
    ],
  ] as const)('is refused for %s, with a way out', (_, change, on, code, remedy) => {
    const found = stack(change, on).errors();
    expect(found.map((finding) => finding.code)).toEqual([code]);
    expect(found[0]!.remedy).toContain(remedy);
  });

  it('is a ModelServing where Kthena runs and the user asks for it', () => {
    const { errors, group } = stack({ workload: 'ModelServing', podsPerReplica: 2 }, Cluster.of({ kthena: 'workload' }));
    expect(group.scaleTarget).toEqual({ apiVersion: 'workload.serving.volcano.sh/v1alpha1', kind: 'ModelServing', name: 'ds' });
    expect(errors()).toEqual([]);
  });
});

describe('a replica of several pods', () => {
  it.each([
    [
      'vLLM',
      Engine.vllm('0.32.0'),
      ['--nnodes', '2', '--node-rank', '0', '--master-addr', '$(LWS_LEADER_ADDRESS)'],
      ['--nnodes', '2', '--node-rank', '$(LWS_WORKER_INDEX)', '--master-addr', '$(LWS_LEADER_ADDRESS)', '--headless'],
    ],
    [
      'SGLang',
      Engine.sglang('0.5.23'),
      ['--nnodes', '2', '--node-rank', '0', '--dist-init-addr', '$(LWS_LEADER_ADDRESS):20000'],
      ['--nnodes', '2', '--node-rank', '$(LWS_WORKER_INDEX)', '--dist-init-addr', '$(LWS_LEADER_ADDRESS):20000'],
    ],
    [
      'a custom engine',
      Engine.custom({ image: 'e:1', port: 80, argv: ['{nodes}', '{nodeIndex}', '{leaderAddress}'] }),
      ['2', '0', '$(LWS_LEADER_ADDRESS)'],
      ['2', '$(LWS_WORKER_INDEX)', '$(LWS_LEADER_ADDRESS)'],
    ],
  ])('tells %s where its pods meet, by the variables of the controller', (_, engine, leader, worker) => {
    const { group, errors } = stack({ engine, podsPerReplica: 2 });
    expect(argsOf(group.template()).join(' ')).toContain(leader.join(' '));
    expect(argsOf(group.workerTemplate()).join(' ')).toContain(worker.join(' '));
    expect(errors()).toEqual([]);
  });

  it('finds its leader by the variables of Kthena in a ModelServing', () => {
    const { group } = stack({ workload: 'ModelServing', podsPerReplica: 2 }, Cluster.of({ kthena: 'workload' }));
    expect(argsOf(group.workerTemplate()).join(' ')).toContain('--node-rank $(WORKER_INDEX) --master-addr $(ENTRY_ADDRESS)');
  });

  it.each([
    [undefined, 2, { tensor: 8, pipeline: 2 }],
    [{ tensor: 16 }, 2, { tensor: 16, pipeline: 1 }],
    [{ pipeline: 1 }, 2, { tensor: 16, pipeline: 1 }],
    [{ pipeline: 4 }, 2, { tensor: 4, pipeline: 4 }],
    [{ tensor: 4 }, 1, { tensor: 4, pipeline: 1 }],
  ])('split as %j over %i pods of 8 GPUs is %j', (parallelism, podsPerReplica, expected) => {
    const { group, errors } = stack({ parallelism, podsPerReplica });
    expect(group.parallelism).toEqual(expected);
    expect(errors()).toEqual([]);
  });

  it.each([[{ tensor: 32 }], [{ tensor: 16, pipeline: 2 }], [{ pipeline: 3 }]])('cannot be split as %j', (parallelism) => {
    expect(
      stack({ parallelism, podsPerReplica: 2 })
        .errors()
        .map(({ code }) => code),
    ).toContain('workload/parallelism');
  });

  it.each([
    ['vLLM', Engine.vllm('0.32.0')],
    ['SGLang', Engine.sglang('0.5.23')],
  ])('of %s serves from its leader only: port, probes, Service and ModelServer leave the others out', (_, engine) => {
    const app = new GitOpsApp({ cluster, outdir: 'unused', report: () => undefined });
    const chart = new Chart(app, 'llm', { namespace: 'llm' });
    const model = new ModelBooster(chart, 'ds', {
      source: ModelSource.huggingFace('deepseek-ai/DeepSeek-V3'),
      engine,
      pools: { big: { accelerator: Accelerator.H200_141GB, gpusPerPod: 8, podsPerReplica: 2, replicas: between(1, 2) } },
      scaleOn: [Metric.runningRequests(8)],
    });
    const objects = synth(chart);
    const pods = expandWorkload(objects.get('LeaderWorkerSet', 'ds-big'))!.pods.map(({ pod }) => pod);
    const { matchLabels } = objects.get('ModelServer', 'ds').spec.workloadSelector;
    const service = objects.get('Service', 'ds-big-http').spec as { selector: Record<string, string> };
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['ds-big-0', 'ds-big-0-1']);
    for (const [i, pod] of pods.entries()) {
      const isLeader = i === 0;
      expect(selects({ matchLabels }, pod.metadata.labels)).toBe(isLeader);
      expect(selects({ matchLabels: service.selector }, pod.metadata.labels)).toBe(isLeader);
      expect('ports' in pod.spec.containers[0]!).toBe(isLeader);
      expect('readinessProbe' in pod.spec.containers[0]!).toBe(isLeader);
      expect(planEngine(pod, { modelServers: [], modelRoutes: [] }) === undefined).toBe(!isLeader);
    }
    expect(objects).toContainObject({
      kind: 'PodDisruptionBudget',
      metadata: { name: 'ds-big' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'ds-big' } } },
    });
    expect(objects.get('AutoscalingPolicy', 'ds').spec.homogeneousTarget!.target!.targetRef).toEqual(model.pools.big.scaleTarget);
    expect(app.bill().max.gpus).toBe(32);
  });

  it('is not torn apart by zones: only leaders keep off each other', () => {
    const { group } = stack({ podsPerReplica: 2 });
    expect(group.template().spec.topologySpreadConstraints).toMatchObject([
      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: group.servingSelector } },
    ]);
    expect(group.workerTemplate().spec).not.toHaveProperty('topologySpreadConstraints');
  });
});
