import type { Pod } from '../../../src/api/pod';
import { acceleratorNamed, kvCapacityTokens, modelShapeNamed } from '../../../src/catalog';
import { costPerHourOf, planEngine, sizeEngine } from '../../../src/expand';

function podOf(annotations: Record<string, string>, gpus: number, args: readonly string[] = ['--model', 'Qwen/Qwen3-8B']): Pod {
  const resources = gpus === 0 ? undefined : { limits: { 'nvidia.com/gpu': gpus } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations },
    spec: { containers: [{ name: 'c', image: 'vllm/vllm-openai:v0.32.0', args, resources }] },
  };
}

const sized = (pod: Pod) => sizeEngine(planEngine(pod, { modelServers: [], modelRoutes: [] })!);

describe('the cost of a pod per hour', () => {
  it('is its annotation', () => {
    expect(costPerHourOf(podOf({ 'kvasir.dev/cost-per-replica-hour': '4.10', 'kvasir.dev/accelerator': 'L4-24GB' }, 1))).toBe(
      4.1,
    );
  });

  it('is the list price of its GPUs without one, or with an unreadable one', () => {
    const price = acceleratorNamed('L40S-48GB')!.listPricePerHour!;
    expect(costPerHourOf(podOf({ 'kvasir.dev/accelerator': 'L40S-48GB' }, 2))).toBeCloseTo(2 * price);
    expect(costPerHourOf(podOf({ 'kvasir.dev/accelerator': 'L40S-48GB', 'kvasir.dev/cost-per-replica-hour': 'free' }, 1))).toBe(
      price,
    );
  });

  it.each([
    ['the accelerator is not named', podOf({}, 1)],
    ['the accelerator has no list price', podOf({ 'kvasir.dev/accelerator': 'A10-24GB' }, 1)],
    ['no GPU is asked for', podOf({ 'kvasir.dev/accelerator': 'L4-24GB' }, 0)],
  ])('is unknown when %s', (_, pod) => {
    expect(costPerHourOf(pod)).toBeUndefined();
  });
});

describe('the size of an engine', () => {
  it('is that of its model on its accelerators', () => {
    const sizing = sized(podOf({ 'kvasir.dev/accelerator': 'L40S-48GB' }, 1));
    expect(sizing).toMatchObject({
      shape: { name: 'Qwen/Qwen3-8B' },
      accelerator: { name: 'L40S-48GB' },
      gpus: 1,
      assumptions: [],
    });
    expect(sizing.kvCapacityTokens).toBe(kvCapacityTokens(modelShapeNamed('Qwen3-8B')!, acceleratorNamed('L40S-48GB')!, 1, 0.92));
  });

  it('has the KV cache that flags fix', () => {
    const args = ['--model', 'Qwen/Qwen3-8B', '--num-gpu-blocks-override', '128', '--block-size', '32'];
    expect(sized(podOf({}, 1, args)).kvCapacityTokens).toBe(4096);
  });

  it('shrinks with the share of memory', () => {
    const half = sized(podOf({}, 1, ['--model', 'Qwen/Qwen3-8B', '--gpu-memory-utilization', '0.5']));
    expect(half.kvCapacityTokens).toBeLessThan(sized(podOf({}, 1)).kvCapacityTokens);
  });

  it('says what it assumed', () => {
    const { assumptions, gpus } = sized(podOf({}, 0, ['--model', 'acme/secret']));
    expect(gpus).toBe(1);
    expect(assumptions).toHaveLength(3);
    expect(assumptions[0]).toContain('acme/secret');
  });

  it('assumes as many GPUs as the weights need, or as the engine is told to use', () => {
    expect(sized(podOf({}, 0, ['--model', 'meta-llama/Llama-3.3-70B-Instruct'])).gpus).toBe(4);
    expect(sized(podOf({}, 0, ['--model', 'meta-llama/Llama-3.3-70B-Instruct', '-tp', '8'])).gpus).toBe(8);
  });
});
