import type { KubeObject } from '../../../src/api/meta';
import { Annotations } from '../../../src/labels';
import { AutoscalerRig, policyOf } from '../../helpers/autoscaler-rig';
import { readyPod } from '../../helpers/fake-autoscaler-cluster';
import { serverFor } from '../../helpers/workload-objects';

let rig: AutoscalerRig;

beforeEach(async () => {
  rig = await AutoscalerRig.open();
});

afterEach(() => rig.close());

const annotations = { [Annotations.accelerator]: 'H100-SXM-80GB', [Annotations.modelShape]: 'Qwen/Qwen3-8B' };
const engine = () => ({
  name: 'engine',
  image: 'vllm/vllm-openai:v0.32.0',
  args: ['--model', 'Qwen/Qwen3-8B', '--port', String(rig.pages.port)],
  resources: { limits: { 'nvidia.com/gpu': 1 } },
});
const labels = (role: string, id = 0) => ({
  'modelserving.volcano.sh/name': 'pd',
  'modelserving.volcano.sh/group-name': 'pd-0',
  'modelserving.volcano.sh/role': role,
  'modelserving.volcano.sh/role-id': `${role}-${id}`,
  'modelserving.volcano.sh/entry': 'true',
});

/** A ModelServing with one replica of each role, and a policy with `slo` whose metrics never ask for more. */
function serving(slo: object, names: readonly string[] = ['prefill', 'decode']): void {
  const roles = names.map((name) => ({
    name,
    replicas: 1,
    workerReplicas: 0,
    entryTemplate: { spec: { containers: [engine()] } },
  }));
  const pod = (role: string) => ({
    metadata: { name: `pd-${role}`, labels: labels(role), annotations },
    spec: { containers: [engine()] },
  });
  rig.cluster.templates.set('pd', names.map(pod));
  const metricSources = { running: { pod: { name: 'vllm:num_requests_running', port: rig.pages.port } } };
  rig.cluster.put(
    {
      apiVersion: 'workload.serving.volcano.sh/v1alpha1',
      kind: 'ModelServing',
      metadata: { name: 'pd', namespace: 'default' },
      spec: { replicas: 1, template: { roles } },
    } as KubeObject,
    policyOf('p', {
      spec: {
        slo,
        metrics: [{ name: 'running', targetValue: 100_000 }],
        disaggregatedTarget: {
          targetRef: { kind: 'ModelServing', name: 'pd' },
          roles: Object.fromEntries(names.map((name) => [name, { minReplicas: 1, maxReplicas: 12, metricSources }])),
        },
      },
    }),
  );
}

/** What one pod of a role shows after so many seconds of `rate` requests of 4,000 prompt and 300 output tokens each second. */
function page(part: 'prefill' | 'decode', seconds: number, rate: number): string {
  const requests = Math.round(seconds * rate);
  const stepMs = 20;
  const batch = part === 'decode' ? (rate * 300 * stepMs) / 1000 : 1;
  const family = (name: string, type: string, value: number) =>
    `# TYPE vllm:${name} ${type}\nvllm:${name}{engine="0"} ${value}\n`;
  const histogram = (name: string, count: number, sum: number) =>
    `# TYPE vllm:${name} histogram\nvllm:${name}_bucket{engine="0",le="+Inf"} ${count}\nvllm:${name}_sum{engine="0"} ${sum}\n`;
  return [
    family('num_requests_running', 'gauge', Math.round(batch)),
    family('num_requests_waiting', 'gauge', 0),
    family('prompt_tokens_total', 'counter', requests * 4000),
    family('prefix_cache_queries_total', 'counter', requests * 4000),
    family('prefix_cache_hits_total', 'counter', 0),
    family('external_prefix_cache_hits_total', 'counter', part === 'decode' ? requests * 4000 : 0),
    family('generation_tokens_total', 'counter', requests * (part === 'decode' ? 300 : 1)),
    family('request_success_total', 'counter', requests),
    histogram('iteration_tokens_total', Math.round((1000 * seconds) / stepMs), requests),
    histogram('inter_token_latency_seconds', part === 'decode' ? requests * 299 : 0, part === 'decode' ? batch * seconds : 0),
  ].join('');
}

/** Rounds in which the first role prefills and the second one decodes. */
async function serve(rate: number, rounds = 6, names: readonly string[] = ['prefill', 'decode']): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    names.forEach((name, i) => {
      const host = `127.0.3.${i + 1}`;
      const metadata = { name, namespace: 'default', uid: `uid-${name}`, labels: labels(name), annotations };
      rig.cluster.put(readyPod(name, labels(name), host, { metadata, spec: { containers: [engine()] } }));
      rig.pages.byHost.set(host, page(i === 0 ? 'prefill' : 'decode', 1000 + 15 * round, rate));
    });
    await rig.round();
  }
}

const recommended = (): Record<string, number | undefined> =>
  Object.fromEntries(rig.decisions.at(-1)!.units.map(({ name, recommended }) => [name, recommended]));

describe('roles under spec.slo', () => {
  it('are sized by prompt tokens for the first token, and by output tokens for those after it', async () => {
    serving({ ttftMs: 1000, itlMs: 30 });
    await serve(10);
    const both = recommended();
    expect(both.prefill).toBeGreaterThan(1);
    expect(both.decode).toBeGreaterThanOrEqual(1);
    expect(rig.decisions.at(-1)!.units.flatMap(({ verdicts }) => verdicts.map(({ name }) => name))).toEqual([
      'running',
      'slo',
      'running',
      'slo',
    ]);
    expect(rig.cluster.condition('p', 'Ready')).toMatchObject({ status: 'True', reason: 'Reconciled', message: '' });
    const { disaggregatedStatus } = rig.cluster.statusOf('p') as {
      disaggregatedStatus: { roles: { learnedCapacity?: object }[] };
    };
    expect(disaggregatedStatus.roles.every(({ learnedCapacity }) => learnedCapacity !== undefined)).toBe(true);
  });

  it('grow apart: prefill with a tighter first token, decode with tighter tokens', async () => {
    serving({ ttftMs: 350, itlMs: 200 });
    await serve(15);
    const early = recommended();
    await rig.close();
    rig = await AutoscalerRig.open();
    serving({ ttftMs: 4000, itlMs: 14 });
    await serve(15);
    const even = recommended();
    expect(early.prefill).toBeGreaterThan(even.prefill!);
    expect(early.decode).toBeLessThan(even.decode!);
  });

  it('whose latency is not asked for are sized by their metrics alone', async () => {
    serving({ itlMs: 30 });
    await serve(10);
    const [decode, prefill] = rig.decisions.at(-1)!.units;
    expect(decode!.verdicts.map(({ name }) => name)).toEqual(['running', 'slo']);
    expect(prefill!.verdicts.map(({ name }) => name)).toEqual(['running']);
  });

  it('have the part that a ModelServer says, and without one that tells they say so and lose nothing', async () => {
    serving({ ttftMs: 1000 }, ['ingest', 'speak']);
    await serve(10, 6, ['ingest', 'speak']);
    expect(rig.cluster.condition('p', 'MetricMissing')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('whether role ingest prefills or decodes is not known'),
    });
    expect(rig.cluster.written).toEqual([]);
    rig.cluster.put(
      serverFor('pd', {
        workloadSelector: {
          matchLabels: { 'modelserving.volcano.sh/name': 'pd' },
          pdGroup: {
            groupKey: 'modelserving.volcano.sh/group-name',
            prefillLabels: { 'modelserving.volcano.sh/role': 'ingest' },
            decodeLabels: { 'modelserving.volcano.sh/role': 'speak' },
          },
        },
      }),
    );
    await serve(10, 6, ['ingest', 'speak']);
    expect(rig.cluster.condition('p', 'MetricMissing')).toMatchObject({ status: 'False' });
    expect(recommended().ingest).toBeGreaterThan(1);
    expect(recommended().speak).toBe(1);
  });

  it('say so when no replica can be that fast', async () => {
    serving({ ttftMs: 10 });
    await serve(10, 3);
    expect(rig.cluster.condition('p', 'MetricMissing')?.message).toContain(
      'even a lone request is slower than spec.slo in role prefill',
    );
    expect(rig.cluster.written).toEqual([]);
  });
});
