import type { KubeObject } from '../../../src/api/meta';
import { Annotations } from '../../../src/labels';
import { AutoscalerRig } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';
import { modelRoute } from '../../helpers/router-harness';
import { serverFor } from '../../helpers/workload-objects';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
});

afterEach(() => rig.close());

const annotations = { [Annotations.accelerator]: 'H100-SXM-80GB', [Annotations.modelShape]: 'Qwen/Qwen3-8B' };
const containers = () => [
  {
    name: 'engine',
    image: 'vllm/vllm-openai:v0.32.0',
    args: ['--model', 'Qwen/Qwen3-8B', '--port', String(rig.pages.port)],
    resources: { limits: { 'nvidia.com/gpu': 1 } },
  },
];

/** Seconds of work at `perSecond` requests of 1,000 prompt and 250 output tokens, in steps of `stepMs`. */
function page(seconds: number, perSecond: number, stepMs: number, waiting = 0): string {
  const requests = Math.round(seconds * perSecond);
  const steps = Math.round((1000 * seconds) / stepMs);
  const batch = (perSecond * 250 * stepMs) / 1000;
  const gauge = (name: string, value: number) => `# TYPE vllm:${name} gauge\nvllm:${name}{engine="0"} ${value}\n`;
  const counter = (name: string, value: number) => `# TYPE vllm:${name} counter\nvllm:${name}{engine="0"} ${value}\n`;
  const histogram = (name: string, count: number, sum: number) =>
    `# TYPE vllm:${name} histogram\nvllm:${name}_bucket{engine="0",le="+Inf"} ${count}\nvllm:${name}_sum{engine="0"} ${sum}\n`;
  return [
    gauge('num_requests_running', Math.round(batch)),
    gauge('num_requests_waiting', waiting),
    counter('prompt_tokens_total', requests * 1000),
    counter('prefix_cache_queries_total', requests * 1000),
    counter('prefix_cache_hits_total', 0),
    counter('generation_tokens_total', requests * 250),
    counter('request_success_total', requests),
    histogram('iteration_tokens_total', steps, requests * 1250),
    histogram('inter_token_latency_seconds', requests * 249, batch * seconds),
  ].join('');
}

async function serve(replicas: number, perSecond: number, stepMs: number, rounds: number, from = 0): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    rig.pods('chat', replicas, page(1000 + from + 15 * round, perSecond, stepMs));
    await rig.round();
  }
}

function policy(slo: object): void {
  const spec = { containers: containers() };
  rig.cluster.templates.set('chat', [{ metadata: { name: 'chat', annotations }, spec }]);
  rig.podTemplate = { metadata: { name: 'chat', annotations }, spec };
  rig.cluster
    .target('Deployment', 'chat', 2)
    .put(rig.policy('p', 'chat', { slo, metrics: [{ name: 'running', targetValue: 1000 }] }));
}

describe('a policy with spec.slo', () => {
  it('sizes its target by what arrives and by what an engine carries within the latency', async () => {
    policy({ itlMs: 40 });
    await serve(2, 9, 45, 6);
    const verdicts = rig.decisions.at(-1)!.units[0]!.verdicts;
    expect(verdicts.find(({ name }) => name === 'slo')?.replicas).toBeGreaterThan(2);
    expect(rig.cluster.replicas('Deployment', 'chat')).toBeGreaterThan(2);
  });

  it('leaves more replicas alone, and asks for fewer, when the latency is wide', async () => {
    policy({ itlMs: 400 });
    await serve(2, 1, 12, 6);
    expect(rig.decisions.at(-1)!.units[0]!.verdicts).toContainEqual({ name: 'slo', replicas: 1 });
  });

  it('counts what routers hold, of which engines know nothing, and of its own models alone', async () => {
    const pageOf = (mine: number, other: number): string =>
      `# TYPE kthena_router_fairness_queue_size gauge
kthena_router_fairness_queue_size{model="m",user_id="_all"} ${mine}
kthena_router_fairness_queue_size{model="other",user_id="_all"} ${other}
`;
    const asked = async (held: string): Promise<number> => {
      rig.pages.byHost.set('127.0.7.1', held);
      await serve(2, 1, 12, 6);
      return rig.decisions.at(-1)!.units[0]!.verdicts.find(({ name }) => name === 'slo')!.replicas!;
    };
    policy({ itlMs: 400 });
    const router = readyPod('router', { app: 'kvasir-router' }, '127.0.7.1');
    const portMap = { 'kvasir.dev/port-map': `9090=${rig.pages.port}` };
    rig.cluster.templates.set('chat', [
      { metadata: { name: 'chat', annotations, labels: { app: 'chat' } }, spec: { containers: containers() } },
    ]);
    rig.cluster.put(
      { ...router, metadata: { ...router.metadata, annotations: portMap } },
      serverFor('chat'),
      modelRoute('m', 'chat', { modelName: 'm' }),
    );
    expect(await asked(pageOf(0, 60_000))).toBe(1);
    // A hundred a second more, for a minute.
    expect(await asked(pageOf(6_000, 0))).toBeGreaterThan(2);
  });

  it('says so when no replica can be that fast', async () => {
    policy({ itlMs: 2 });
    await serve(2, 1, 12, 3);
    expect(rig.cluster.condition('p', 'MetricMissing')?.message).toContain('even a lone request is slower than spec.slo');
    expect(rig.cluster.written).toEqual([]);
  });

  describe('over serving groups with several engines', () => {
    const labels = (role: string, group: number) => ({
      'modelserving.volcano.sh/name': 'pair',
      'modelserving.volcano.sh/group-name': `pair-${group}`,
      'modelserving.volcano.sh/role': role,
      'modelserving.volcano.sh/role-id': `${role}-0`,
      'modelserving.volcano.sh/entry': 'true',
    });

    /** Two groups of a `left` and a `right` engine, each with half the requests of `perSecond`. */
    async function groups(perSecond: number, rightFlags: readonly string[] = []): Promise<void> {
      const specOf = (role: string) => {
        const [container] = containers();
        return { containers: [{ ...container!, args: [...container!.args, ...(role === 'right' ? rightFlags : [])] }] };
      };
      const roles = ['left', 'right'];
      rig.cluster.templates.set(
        'pair',
        roles.map((role) => ({ metadata: { name: role, labels: labels(role, 0), annotations }, spec: specOf(role) })),
      );
      rig.cluster.put({
        apiVersion: 'workload.serving.volcano.sh/v1alpha1',
        kind: 'ModelServing',
        metadata: { name: 'pair', namespace: 'default' },
        spec: { replicas: 2, template: { roles: roles.map((name) => ({ name, replicas: 1, workerReplicas: 0 })) } },
      } as KubeObject);
      const selector = { 'modelserving.volcano.sh/name': 'pair' };
      const target = {
        targetRef: { kind: 'ModelServing', name: 'pair' },
        metricSources: { running: { pod: { name: 'vllm:num_requests_running', port: rig.pages.port } } },
      };
      rig.cluster.target('ModelServing', 'pair', 2, selector).put(
        rig.policy('p', 'pair', {
          slo: { itlMs: 40 },
          metrics: [{ name: 'running', targetValue: 1000 }],
          homogeneousTarget: { target, minReplicas: 1, maxReplicas: 8 },
        }),
      );
      for (let round = 0; round < 6; round++) {
        for (const [i, role] of roles.entries()) {
          for (const group of [0, 1]) {
            const host = `127.0.5.${1 + 2 * group + i}`;
            const name = `pair-${group}-${role}`;
            const metadata = { name, namespace: 'default', uid: name, labels: labels(role, group), annotations };
            rig.cluster.put(readyPod(name, labels(role, group), host, { metadata, spec: specOf(role) }));
            rig.pages.byHost.set(host, page(1000 + 15 * round, perSecond / 2, 20));
          }
        }
        await rig.round();
      }
    }

    it('counts what all of a group carry, and what is asked of all of them', async () => {
      policy({ itlMs: 40 });
      await serve(2, 5, 20, 6);
      const alone = rig.decisions.at(-1)!.inputs![0]!.find(({ name }) => name === 'slo')!;
      await rig.close();
      rig = await AutoscalerRig.open();
      await groups(10);
      const paired = rig.decisions.at(-1)!.inputs![0]!.find(({ name }) => name === 'slo')!;
      expect(alone).toMatchObject({ answered: 2, sum: expect.closeTo(10, 1) });
      expect(paired).toMatchObject({ answered: 2, sum: expect.closeTo(20, 1) });
      expect(paired.target / alone.target).toBeCloseTo(2, 1);
    });

    it('says so when they are not alike', async () => {
      await groups(10, ['--max-num-seqs', '8']);
      expect(rig.cluster.condition('p', 'MetricMissing')?.message).toContain(
        'serving groups of a target have different engines; scale its roles by a disaggregatedTarget',
      );
      expect(rig.cluster.written).toEqual([]);
    });
  });

  it('says what an engine does not expose', async () => {
    const args = ['python3', '-m', 'sglang.launch_server', '--model-path', 'Qwen/Qwen3-8B', '--port', String(rig.pages.port)];
    const spec = { containers: [{ ...containers()[0]!, image: 'lmsysorg/sglang:v0.5.23', command: args, args: [] }] };
    rig.cluster.templates.set('chat', [{ metadata: { name: 'chat', annotations }, spec }]);
    rig.podTemplate = { metadata: { name: 'chat', annotations }, spec };
    rig.cluster.target('Deployment', 'chat', 2).put(rig.policy('p', 'chat', { slo: { itlMs: 40 } }));
    const totals = ['prompt_tokens', 'generation_tokens', 'num_requests'].map(
      (name) => `# TYPE sglang:${name}_total counter\nsglang:${name}_total 7\n`,
    );
    rig.pods('chat', 2, totals.join(''));
    await rig.round();
    expect(rig.cluster.condition('p', 'MetricMissing')?.message).toContain(
      'slo: pod chat-1 does not expose sglang:num_running_reqs, sglang:num_queue_reqs, by which capacity is learned; give it --enable-metrics, and a first request',
    );
  });

  it('keeps what it learned in the status, at most every five minutes, and goes on from there after a restart', async () => {
    policy({ itlMs: 60 });
    await serve(2, 4, 20, 60);
    const written = rig.cluster.statuses.flatMap(({ status }) => {
      const { learnedCapacity } = (status.homogeneousStatus ?? {}) as {
        learnedCapacity?: { time: string; factorPercent: number };
      };
      return learnedCapacity === undefined ? [] : [learnedCapacity];
    });
    const times = [...new Set(written.map(({ time }) => Date.parse(time)))];
    expect(times.length).toBeGreaterThan(1);
    for (const [i, time] of times.entries()) if (i > 0) expect(time - times[i - 1]!).toBeGreaterThanOrEqual(300_000);
    const last = written.at(-1)!;
    expect(last.factorPercent).not.toBe(100);

    await rig.restart();
    const object = rig.cluster.objects.get('AutoscalingPolicy', 'default', 'p')!;
    rig.cluster.put({ ...object, status: rig.cluster.statusOf('p') } as typeof object);
    await rig.round();
    const { homogeneousStatus } = rig.cluster.statusOf('p') as { homogeneousStatus: { learnedCapacity: typeof last } };
    expect(homogeneousStatus.learnedCapacity).toEqual(last);
  });
});
