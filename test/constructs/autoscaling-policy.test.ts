import { Chart, Testing } from 'cdk8s';
import {
  Accelerator,
  AutoscalingPolicy,
  between,
  DEFAULT_BEHAVIOR,
  Engine,
  Metric,
  ModelSource,
  ServingGroup,
} from '../../constructs';
import { synth } from '../../constructs/testing';
import { decodeKind } from '../../src/api/decode-object';

const source = ModelSource.huggingFace('Qwen/Qwen3-8B');

function policy(change: { readonly engine?: Engine; readonly metrics?: readonly Metric[] } = {}) {
  const chart = new Chart(Testing.app(), 'c');
  const target = new ServingGroup(chart, 'g', {
    source,
    engine: change.engine ?? Engine.vllm('0.32.0', { maxModelLen: 8192 }),
    accelerator: Accelerator.L4_24GB,
    replicas: between(1, 4),
  });
  new AutoscalingPolicy(chart, 'p', {
    target,
    replicas: target.replicas,
    metrics: change.metrics ?? [Metric.runningRequests(8)],
  });
  return synth(chart).get('AutoscalingPolicy', 'p');
}

describe('an AutoscalingPolicy', () => {
  it('writes out every default that admission would fill in', () => {
    const written = policy();
    const { behavior: _behavior, tolerancePercent: _tolerance, ...bare } = written.spec;
    const filled = decodeKind('AutoscalingPolicy', { ...written, spec: bare });
    expect(filled.kind === 'valid' ? filled.value.spec : filled.findings).toEqual(written.spec);
    expect(written.spec.behavior).toEqual(DEFAULT_BEHAVIOR);
  });

  it.each([
    [
      'vLLM',
      Engine.vllm('0.32.0', { maxModelLen: 8192 }),
      8000,
      ['vllm:num_requests_running', 'vllm:num_requests_waiting', 'vllm:kv_cache_usage_perc'],
    ],
    [
      'SGLang',
      Engine.sglang('0.5.23', { maxModelLen: 8192 }),
      30_000,
      ['sglang:num_running_reqs', 'sglang:num_queue_reqs', 'sglang:token_usage'],
    ],
  ])('reads metrics under the names of %s, on its port', (_, engine, port, families) => {
    const metrics = [Metric.runningRequests(8), Metric.waitingRequests(2), Metric.kvCacheUsage(0.8)];
    const { spec } = policy({ engine, metrics });
    const sources = spec.homogeneousTarget!.target!.metricSources!;
    expect(spec.metrics!.map(({ name }) => sources[name]!.pod)).toEqual(
      families.map((name) => ({ name, port, uri: '/metrics' })),
    );
    expect(spec.metrics!.map(({ targetValue }) => targetValue)).toEqual(['8', '2', '800m']);
  });

  it('scales by any other gauge of the engine', () => {
    const { spec } = policy({ metrics: [Metric.custom({ family: 'vllm:num_requests_swapped', target: 1, name: 'swapped' })] });
    expect(spec.homogeneousTarget!.target!.metricSources).toEqual({
      swapped: { pod: { name: 'vllm:num_requests_swapped', port: 8000, uri: '/metrics' } },
    });
  });
});
