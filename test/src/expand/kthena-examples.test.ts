import { type EnginePlan, expandWorkload, planEngine } from '../../../src/expand';
import { exampleObjects, servingContextOf } from '../../helpers/example-objects';

/** Engines of the pods that a set of example files makes, by pod name without a Deployment's hashes. */
function enginesOf(...files: readonly string[]): Readonly<Record<string, EnginePlan | undefined>> {
  const objects = exampleObjects(...files);
  const context = servingContextOf(objects);
  const pods = objects.flatMap((object) => expandWorkload(object)?.pods ?? []).map(({ pod }) => pod);
  return Object.fromEntries(pods.map((pod) => [pod.metadata.name, planEngine(pod, context)]));
}

describe("Kthena's mock Deployments", () => {
  it('become vLLM engines of the model that they mock', () => {
    const engines = Object.values(enginesOf('kthena-router/LLM-Mock.yaml'));
    expect(engines).toHaveLength(3);
    for (const engine of engines) {
      expect(engine).toMatchObject({
        engine: 'vllm',
        port: 8000,
        model: 'meta-llama/Llama-3.1-8B-Instruct',
        servedModelNames: ['meta-llama/Llama-3.1-8B-Instruct'],
      });
    }
  });

  it('get adapters from the LoRA route', () => {
    const engines = Object.values(
      enginesOf('kthena-router/LLM-Mock-ds7b.yaml', 'kthena-router/ModelServer-ds7b.yaml', 'kthena-router/ModelRouteLora.yaml'),
    );
    expect(engines).toHaveLength(3);
    for (const engine of engines) expect(Object.keys(engine!.adapters)).toEqual(['lora-A', 'lora-B']);
  });

  it('serve both subsets under their own names', () => {
    const engines = enginesOf('kthena-router/LLM-Mock-ds1.5b-Canary.yaml', 'kthena-router/ModelServer-ds1.5b-Canary.yaml');
    const served = Object.values(engines).map((engine) => engine?.servedModelNames);
    expect(served).toEqual([['deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B-v1'], ['deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B-v2']]);
  });

  it('of SGLang listen where their ModelServer says', () => {
    for (const engine of Object.values(
      enginesOf('kthena-router/LLM-Mock-sglang.yaml', 'kthena-router/ModelServer-sglang.yaml'),
    )) {
      expect(engine).toMatchObject({ engine: 'sglang', port: 30_000, model: 'Qwen/Qwen3-8B' });
    }
  });

  it('become an engine even when nothing but a ModelServer says so', () => {
    const engines = Object.values(enginesOf('keda-autoscaling/slow-backend.yaml', 'keda-autoscaling/route.yaml'));
    expect(engines).toHaveLength(2);
    expect(engines[0]).toMatchObject({ engine: 'vllm', port: 8080, servedModelNames: ['test'] });
  });
});

describe("Kthena's ModelServings", () => {
  it.each<[string, Record<string, Partial<EnginePlan> | undefined>]>([
    [
      'kthena-router/ModelServing-ds1.5b-pd-disaggregation.yaml',
      {
        'deepseek-r1-1-5b-0-prefill-0-0': { engine: 'vllm', model: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', port: 8000 },
        'deepseek-r1-1-5b-0-decode-0-0': { engine: 'vllm', model: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B', port: 8000 },
      },
    ],
    [
      'model-serving/gpu-kvcache-aware.yaml',
      {
        'vllm-qwen-06b-0-server-0-0': {
          engine: 'vllm',
          version: '0.32.0',
          model: 'Qwen/Qwen3-0.6B',
          servedModelNames: ['Qwen/Qwen3-0.6B'],
          port: 8000,
          gpus: 1,
        },
      },
    ],
    [
      'model-serving/gpu-kvcache-aware-sglang.yaml',
      { 'sglang-qwen-06b-0-server-0-0': { engine: 'sglang', model: 'Qwen/Qwen3-0.6B', port: 30_000, blockSize: 16, gpus: 1 } },
    ],
    [
      'model-serving/multi-node.yaml',
      {
        'llama-multinode-0-llama-405b-0-0': {
          model: 'meta-llama/Llama-3.1-405B-Instruct',
          port: 8080,
          tensorParallelSize: 8,
          gpus: 8,
        },
        'llama-multinode-0-llama-405b-0-1': undefined,
        'llama-multinode-0-llama-405b-1-0': { port: 8080 },
        'llama-multinode-0-llama-405b-1-1': undefined,
      },
    ],
    [
      'model-serving/data-parallel-deployment.yaml',
      {
        'my-model-0-leader-0-0': {
          version: '0.13.0',
          model: 'Qwen/Qwen3-0.6B',
          servedModelNames: ['my-model'],
          maxModelLen: 2048,
          maxNumSeqs: 16,
        },
        'my-model-0-leader-0-1': { model: 'Qwen/Qwen3-0.6B', servedModelNames: ['my-model'] },
      },
    ],
    [
      'model-serving/prefill-decode-disaggregation.yaml',
      {
        'deepseek-v2-lite-0-prefill-0-0': {
          version: '0.10.1',
          model: 'deepseek-ai/DeepSeek-V2-Lite',
          servedModelNames: ['deepseek-ai/DeepSeekV2'],
          tensorParallelSize: 2,
          maxNumBatchedTokens: 8192,
          enablePrefixCaching: true,
          accelerator: 'Ascend-910B-64GB',
          gpus: 4,
        },
        'deepseek-v2-lite-0-decode-0-0': { maxNumBatchedTokens: 16_384, enablePrefixCaching: false },
      },
    ],
    [
      'model-serving/vllm-pd-multinode.yaml',
      {
        'vllm-pd-multinode-0-prefill-0-0': { version: '0.10.0', model: 'Qwen/Qwen3-8B', tensorParallelSize: 1, port: 8000 },
        'vllm-pd-multinode-0-prefill-0-1': undefined,
        'vllm-pd-multinode-0-decode-0-0': { model: 'Qwen/Qwen3-8B' },
        'vllm-pd-multinode-0-decode-0-1': undefined,
      },
    ],
    [
      'model-serving/sglang-pd-disaggregation.yaml',
      {
        'sglang-qwen-06b-0-prefill-0-0': { engine: 'sglang', model: 'Qwen/Qwen3-0.6B', port: 30_000 },
        'sglang-qwen-06b-0-decode-0-0': { engine: 'sglang', model: 'Qwen/Qwen3-0.6B', port: 30_000 },
      },
    ],
    ['prometheus-autoscaler/podinfo-modelserving.yaml', { 'podinfo-ms-0-podinfo-0-0': undefined }],
    ['redis/redis-standalone.yaml', {}],
  ])('%s', (file, expected) => {
    const engines = enginesOf(file);
    expect(Object.keys(engines)).toEqual(expect.arrayContaining(Object.keys(expected)));
    for (const [pod, engine] of Object.entries(engines)) {
      if (expected[pod] === undefined) expect([pod, engine]).toEqual([pod, undefined]);
      else expect(engine).toMatchObject(expected[pod]);
    }
  });

  it('of llm-d simulators serve on every pod, workers included', () => {
    const engines = enginesOf('kube-scheduler-pod-affinity/role-host-affinity.yaml');
    expect(Object.keys(engines)).toHaveLength(8);
    for (const engine of Object.values(engines)) {
      expect(engine).toMatchObject({
        engine: 'vllm',
        model: 'kthena-pod-affinity-sim',
        servedModelNames: ['kthena-pod-affinity-sim'],
        port: 8000,
      });
    }
  });

  it('of scripts take engine, port and names from the ModelServer', () => {
    const engines = enginesOf('models/deepseek-v4-flash/modelserving.yaml', 'models/deepseek-v4-flash/router.yaml');
    const plans = Object.values(engines);
    expect(plans).toHaveLength(2);
    for (const plan of plans)
      expect(plan).toMatchObject({ engine: 'vllm', version: '0.13.0', port: 7100, gpus: 16, servedModelNames: ['deepseek_v4'] });
  });

  it('of nginx serve nothing while no ModelServer selects them', () => {
    for (const engine of Object.values(enginesOf('model-serving/sample.yaml'))) expect(engine).toBeUndefined();
  });
});
