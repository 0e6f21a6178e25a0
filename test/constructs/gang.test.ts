import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  Gang,
  type GangOptions,
  type GangProps,
  GitOpsApp,
  KubeHyperNode,
  ModelSource,
  ServingGroup,
  type ServingGroupProps,
} from '../../constructs';
import { synth } from '../../constructs/testing';
import { definitionProblems } from '../helpers/definition-problems';

const cluster = Cluster.of({ volcano: true, coscheduling: true, leaderWorkerSet: { gang: 'volcano' } });

function stack(on: Cluster = cluster) {
  const app = new GitOpsApp({ cluster: on, outdir: 'unused', report: () => undefined });
  const chart = new Chart(app, 'llm', { namespace: 'llm' });
  const group = (name: string, change: Partial<ServingGroupProps> = {}) =>
    new ServingGroup(chart, name, {
      source: ModelSource.huggingFace('Qwen/Qwen3-8B'),
      engine: Engine.vllm('0.32.0'),
      accelerator: Accelerator.H100_SXM_80GB,
      replicas: 3,
      ...change,
    });
  const errors = () => app.check().open.filter(({ severity }) => severity === 'error');
  return { app, chart, group, errors };
}

interface PodTemplateOf {
  readonly template: { readonly metadata: { labels: object; annotations: object }; readonly spec: { schedulerName?: string } };
}

describe('the gang of a serving group', () => {
  it('is a PodGroup of Volcano at the smallest number of replicas, named by the pods', () => {
    const { chart, group } = stack();
    group('qwen', { replicas: between(2, 5), gang: { scheduler: 'volcano', queue: 'llm', topology: { highestTierAllowed: 1 } } });
    const objects = synth(chart);
    const podGroup = objects.get('PodGroup', 'qwen');
    expect(podGroup.spec).toEqual({
      minMember: 2,
      minResources: { cpu: '8', memory: '32Gi', 'nvidia.com/gpu': '2' },
      queue: 'llm',
      networkTopology: { mode: 'hard', highestTierAllowed: 1 },
    });
    expect(definitionProblems(podGroup)).toEqual([]);
    const { template } = objects.get('Deployment', 'qwen').spec as PodTemplateOf;
    expect(template.metadata.annotations).toMatchObject({ 'scheduling.k8s.io/group-name': 'qwen' });
    expect(template.spec.schedulerName).toBe('volcano');
  });

  it('counts what was merged into the pods', () => {
    const { chart, group } = stack();
    group('qwen', { replicas: 2, gang: { scheduler: 'volcano' } }).pod.merge({
      containers: [{ name: 'side', resources: { requests: { cpu: '250m' } } }],
    });
    expect(synth(chart).get('PodGroup', 'qwen').spec).toMatchObject({ minResources: { cpu: '8500m' } });
  });

  it('is a PodGroup of coscheduling, named by a label of the pods', () => {
    const { chart, group } = stack();
    group('qwen', { gang: { scheduler: 'coscheduling', minReplicas: 2, scheduleTimeoutSeconds: 60 } });
    const objects = synth(chart);
    const podGroup = objects.get('PodGroup', 'qwen');
    expect(podGroup.apiVersion).toBe('scheduling.x-k8s.io/v1alpha1');
    expect(podGroup.spec).toMatchObject({ minMember: 2, scheduleTimeoutSeconds: 60 });
    expect(definitionProblems(podGroup)).toEqual([]);
    const { template } = objects.get('Deployment', 'qwen').spec as PodTemplateOf;
    expect(template.metadata.labels).toMatchObject({ 'scheduling.x-k8s.io/pod-group': 'qwen' });
    expect(template.spec.schedulerName).toBe('scheduler-plugins-scheduler');
  });

  it.each([
    ['a cluster without Volcano', { scheduler: 'volcano' }, {}, Cluster.of({}), 'cluster/no-volcano'],
    ['a cluster without coscheduling', { scheduler: 'coscheduling' }, {}, Cluster.of({}), 'cluster/no-coscheduling'],
    ['no replica that must be there', { scheduler: 'volcano' }, { replicas: between(0, 3) }, cluster, 'gang/empty'],
    ['more than there may be', { scheduler: 'volcano', minReplicas: 4 }, {}, cluster, 'gang/more-than-minimum'],
    ['a queue for coscheduling', { scheduler: 'coscheduling', queue: 'q' }, {}, cluster, 'gang/unknown-option'],
    ['nearness for coscheduling', { scheduler: 'coscheduling', topology: {} }, {}, cluster, 'gang/unknown-option'],
    ['a timeout for Volcano', { scheduler: 'volcano', scheduleTimeoutSeconds: 1 }, {}, cluster, 'gang/unknown-option'],
    [
      'a LeaderWorkerSet controller without a scheduler provider',
      { scheduler: 'volcano' },
      { podsPerReplica: 2 },
      Cluster.of({ volcano: true, leaderWorkerSet: true }),
      'cluster/no-leader-worker-set-gang',
    ],
  ] as const satisfies readonly (readonly [string, GangOptions, Partial<ServingGroupProps>, Cluster, string])[])(
    'is refused for %s',
    (_, gang, change, on, code) => {
      const { group, errors } = stack(on);
      group('qwen', { gang, ...change });
      expect(errors().map((finding) => finding.code)).toEqual([code]);
    },
  );

  it('is left to the LeaderWorkerSet controller, whose pods only name the scheduler', () => {
    const { chart, group, errors } = stack();
    group('qwen', { podsPerReplica: 2, gang: { scheduler: 'volcano', queue: 'llm' } });
    const objects = synth(chart);
    expect(objects.ofKind('PodGroup')).toEqual([]);
    const set = objects.get('LeaderWorkerSet', 'qwen');
    expect(set.metadata.annotations).toMatchObject({ 'scheduling.volcano.sh/queue-name': 'llm' });
    expect(JSON.stringify(set.spec).match(/"schedulerName":"volcano"/g)).toHaveLength(2);
    expect(errors()).toEqual([]);
  });
});

describe('a gang of several groups', () => {
  function pair(props: Partial<GangProps> = {}, change: Partial<ServingGroupProps> = {}) {
    const made = stack();
    const prefill = made.group('prefill', { replicas: between(1, 4) });
    const decode = made.group('decode', { replicas: between(2, 8), gpusPerPod: 2, ...change });
    const gang = new Gang(made.chart, 'pd', {
      scheduler: 'volcano',
      members: [
        { group: prefill, role: 'prefill' },
        { group: decode, role: 'decode' },
      ],
      ...props,
    });
    return { ...made, gang };
  }

  it('has a sub-group for each, because three decodes and no prefill serve nobody', () => {
    const { chart, errors } = pair();
    const podGroup = synth(chart).get('PodGroup', 'pd');
    expect(podGroup.spec).toMatchObject({
      minMember: 3,
      minResources: { 'nvidia.com/gpu': '5' },
      queue: 'default',
      subGroupPolicy: [
        { name: 'prefill', labelSelector: { matchLabels: { app: 'prefill' } }, subGroupSize: 1, minSubGroups: 1 },
        { name: 'decode', labelSelector: { matchLabels: { app: 'decode' } }, subGroupSize: 2, minSubGroups: 1 },
      ],
    });
    expect(definitionProblems(podGroup)).toEqual([]);
    expect(errors()).toEqual([]);
  });

  it('is named by the pods of all of them', () => {
    const objects = synth(pair().chart);
    for (const { spec } of objects.ofKind('Deployment')) {
      expect((spec as PodTemplateOf).template.metadata.annotations).toMatchObject({ 'scheduling.k8s.io/group-name': 'pd' });
    }
  });

  it('cannot hold a group that has a gang already', () => {
    const { errors } = pair({}, { gang: { scheduler: 'volcano' } });
    expect(errors().map(({ code }) => code)).toEqual(['gang/two-gangs']);
  });

  it('cannot hold groups whose controllers make gangs of their own', () => {
    const { errors } = pair({}, { podsPerReplica: 2 });
    expect(errors().map(({ code }) => code)).toEqual(['gang/own-gang']);
  });
});

describe('a HyperNode', () => {
  it.each([
    ['names', { exactMatch: { name: 'node-1' } }],
    ['patterns', { regexMatch: { pattern: '^node-[0-9]+$' } }],
    ['labels', { labelMatch: { matchLabels: { rack: 'a' } } }],
  ])('groups nodes by %s', (_, selector) => {
    const { chart } = stack();
    new KubeHyperNode(chart, 'rack-a', {
      metadata: { name: 'rack-a' },
      spec: { tier: 1, members: [{ type: 'Node', selector }] },
    });
    expect(definitionProblems(synth(chart).get('HyperNode', 'rack-a'))).toEqual([]);
  });
});
