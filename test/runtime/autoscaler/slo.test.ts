import { Annotations } from '../../../src/labels';
import { AutoscalerRig } from '../../helpers/autoscaler-rig';

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

  it('says so when no replica can be that fast', async () => {
    policy({ itlMs: 2 });
    await serve(2, 1, 12, 3);
    expect(rig.cluster.condition('p', 'MetricMissing')?.message).toContain('even a lone request is slower than spec.slo');
    expect(rig.cluster.written).toEqual([]);
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
