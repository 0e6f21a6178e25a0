import fc from 'fast-check';
import type { ModelRoute } from '../../../src/api/model-route';
import type { ModelServer } from '../../../src/api/model-server';
import type { Container, Pod } from '../../../src/api/pod';
import { type EnginePlan, planEngine } from '../../../src/expand';

const NOTHING = { modelServers: [], modelRoutes: [] };

function podOf(
  container: Partial<Container>,
  rest: { labels?: Record<string, string>; annotations?: Record<string, string>; spec?: object } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', labels: rest.labels ?? { app: 'x' }, annotations: rest.annotations },
    spec: { containers: [{ name: 'engine', ...container }], ...rest.spec },
  };
}

function serverOf(spec: Partial<ModelServer['spec']>, name = 'server', namespace = 'default'): ModelServer {
  return {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelServer',
    metadata: { name, namespace },
    spec: {
      model: 'acme/model',
      inferenceEngine: 'vLLM',
      workloadSelector: { matchLabels: { app: 'x' } },
      workloadPort: { port: 8000, protocol: 'http' },
      ...spec,
    },
  };
}

function routeOf(spec: Partial<ModelRoute['spec']>, server = 'server'): ModelRoute {
  return {
    apiVersion: 'networking.serving.volcano.sh/v1alpha1',
    kind: 'ModelRoute',
    metadata: { name: 'route', namespace: 'default' },
    spec: { rules: [{ targetModels: [{ modelServerName: server, weight: 100 }] }], ...spec },
  };
}

const VLLM = 'vllm/vllm-openai:v0.32.0';

describe('the start command', () => {
  it.each<[string, Partial<Container>, Partial<EnginePlan>]>([
    [
      'vllm serve',
      { image: VLLM, command: ['vllm', 'serve', 'Qwen/Qwen3-8B', '--port', '9000'] },
      { model: 'Qwen/Qwen3-8B', port: 9000 },
    ],
    [
      'a flag before the model',
      { image: VLLM, command: ['vllm', 'serve', '--port=9000', 'Qwen/Qwen3-8B'] },
      { model: 'Qwen/Qwen3-8B', port: 9000 },
    ],
    ['a switch before the model', { image: VLLM, args: ['--enforce-eager', 'Qwen/Qwen3-8B'] }, { model: 'Qwen/Qwen3-8B' }],
    ['the image entry point', { image: VLLM, args: ['--model', 'Qwen/Qwen3-8B'] }, { model: 'Qwen/Qwen3-8B', port: 8000 }],
    [
      'the Python module',
      { image: VLLM, command: ['python3', '-m', 'vllm.entrypoints.openai.api_server', '--model', 'm'] },
      { model: 'm' },
    ],
    [
      'an image of one’s own',
      { image: 'acme/llm:7', command: ['/opt/venv/bin/vllm', 'serve', 'm'] },
      { engine: 'vllm', model: 'm', version: '0.32.0' },
    ],
    [
      'sh -c',
      { image: VLLM, command: ['sh', '-c'], args: ['exec vllm serve m --port "9000" \\\n --max_model_len 1k'] },
      { port: 9000, maxModelLen: 1000 },
    ],
    [
      'bash -lc with a step before',
      { image: VLLM, command: ['/bin/bash', '-lc', 'set -e; pip list && vllm serve m'] },
      { model: 'm' },
    ],
    [
      'a shell in a shell',
      { image: VLLM, command: ['sh', '-c', `bash -c 'vllm serve m --port 9000'`] },
      { model: 'm', port: 9000 },
    ],
    [
      'SGLang',
      { image: 'lmsysorg/sglang:v0.5.23-cu126', args: ['python3', '-m', 'sglang.launch_server', '--model-path', 'm'] },
      { engine: 'sglang', version: '0.5.23', port: 30_000 },
    ],
    ['a later flag', { image: VLLM, args: ['--model', 'a', '--model', 'b'] }, { model: 'b' }],
    [
      'references to the environment',
      {
        image: VLLM,
        args: ['--model=$(M)', '--port', '$(P)'],
        env: [
          { name: 'M', value: 'm' },
          { name: 'P', value: '81' },
        ],
      },
      { model: 'm', port: 81 },
    ],
  ])('%s', (_, container, expected) => {
    expect(planEngine(podOf(container), NOTHING)).toMatchObject(expected);
  });

  it('serves the model under its written name unless told otherwise', () => {
    expect(planEngine(podOf({ image: VLLM, args: ['--model', '/models/Qwen3-8B'] }), NOTHING)).toMatchObject({
      model: 'Qwen/Qwen3-8B',
      servedModelNames: ['/models/Qwen3-8B'],
    });
    expect(planEngine(podOf({ image: VLLM, args: ['--served-model-name', 'a', 'b', '--model', 'm'] }), NOTHING)).toMatchObject({
      model: 'm',
      servedModelNames: ['a', 'b'],
    });
  });

  it('finds the hub name behind a path that an init container downloads to', () => {
    const initContainers = [{ name: 'd', args: ['--source', 'hf://Qwen/Qwen3-0.6B', '--output-dir=/cache/abc/'] }];
    expect(
      planEngine(podOf({ image: VLLM, args: ['--model', '/cache/abc'] }, { spec: { initContainers } }), NOTHING)?.model,
    ).toBe('Qwen/Qwen3-0.6B');
  });

  it('believes the model-shape annotation before the command', () => {
    const annotations = { 'kvasir.dev/model-shape': 'Qwen/Qwen3-8B' };
    expect(planEngine(podOf({ image: VLLM, args: ['--model', '/weights'] }, { annotations }), NOTHING)).toMatchObject({
      model: 'Qwen/Qwen3-8B',
      servedModelNames: ['/weights'],
    });
  });

  it.each<[string, Partial<Container>]>([
    ['nginx', { image: 'nginx' }],
    ['redis', { image: 'redis:7.2-alpine', command: ['redis-server'] }],
    ['podinfo', { image: 'ghcr.io/stefanprodan/podinfo:6.12.0', command: ['./podinfo', '--port=9898'] }],
    [
      'a Ray worker',
      {
        image: VLLM,
        command: [
          'sh',
          '-c',
          'bash /vllm-workspace/examples/online_serving/multi-node-serving.sh worker --ray_address=$(ENTRY_ADDRESS)',
        ],
      },
    ],
    ['ray start', { image: VLLM, command: ['bash', '-c', 'ray start --address=$LWS_LEADER_ADDRESS:6379 --block'] }],
    [
      'a router whose image carries the engine’s name',
      { image: 'ghcr.io/vllm-project/vllm-router:v0.1.0', args: ['--port', '80'] },
    ],
    ['Kthena’s runtime agent', { image: 'ghcr.io/volcano-sh/runtime:latest', args: ['--engine', 'vllm', '--port', '8900'] }],
  ])('%s is no engine', (_, container) => {
    expect(planEngine(podOf(container), NOTHING)).toBeUndefined();
  });

  it('is found beside a sidecar', () => {
    const pod = podOf({
      image: 'ghcr.io/volcano-sh/runtime:latest',
      args: ['--engine', 'vllm'],
      ports: [{ containerPort: 8900 }],
    });
    const containers = [...pod.spec.containers, { name: 'server', image: VLLM, args: ['--model', 'm'] }];
    expect(planEngine({ ...pod, spec: { containers } }, NOTHING)).toMatchObject({ model: 'm', port: 8000 });
  });
});

describe('the version', () => {
  it.each([
    ['vllm/vllm-openai:v0.20.2', '0.20.2'],
    ['registry.example.com:5000/vllm/vllm-openai:v0.13.0@sha256:abc', '0.13.0'],
    ['vllm/vllm-openai:latest', '0.32.0'],
    ['vllm/vllm-openai', '0.32.0'],
    ['ghcr.io/volcano-sh/vllm-openai:v0.10.0-cu128-nixl-v0.4.1-lmcache-0.3.2', '0.10.0'],
    ['ghcr.io/volcano-sh/kthena-engine:vllm-ascend_v0.10.1rc1_mooncake_v0.3.5', '0.10.1'],
    ['quay.io/ascend/vllm-ascend:v0.13.0rc3-a3', '0.13.0'],
    ['ghcr.io/llm-d/llm-d-inference-sim:v0.6.1', '0.32.0'],
    ['ghcr.io/faust-benchou/dynamo-mocker-vllm:v2026-04-23', '0.32.0'],
  ])('of %s is %s', (image, version) => {
    expect(planEngine(podOf({ image, args: ['--model', 'm'] }), NOTHING)?.version).toBe(version);
  });
});

describe('vLLM flags', () => {
  const planOf = (...args: string[]) => planEngine(podOf({ image: VLLM, args: ['--model', 'm', ...args] }), NOTHING);

  it.each<[string[], Partial<EnginePlan>]>([
    [['--max-model-len', '8192'], { maxModelLen: 8192 }],
    [['--max-model-len=32k'], { maxModelLen: 32_000 }],
    [['--max-model-len=32K'], { maxModelLen: 32_768 }],
    [['--max-model-len', '-1'], { maxModelLen: undefined }],
    [['--max-num-seqs', '16', '--max_num_batched_tokens', '2048'], { maxNumSeqs: 16, maxNumBatchedTokens: 2048 }],
    [['--block-size', '32', '--num-gpu-blocks-override', '128'], { blockSize: 32, numGpuBlocks: 128 }],
    [['--gpu-memory-utilization', '0.8'], { gpuMemoryUtilization: 0.8 }],
    [['-tp', '4'], { tensorParallelSize: 4 }],
    [['-tp=4'], { tensorParallelSize: 4 }],
    [
      [],
      { tensorParallelSize: 1, enablePrefixCaching: true, reportsCachedTokens: false, maxLoras: 1, shutdownTimeoutSeconds: 0 },
    ],
    [['--no-enable-prefix-caching'], { enablePrefixCaching: false }],
    [['--enable-prompt-tokens-details'], { reportsCachedTokens: true }],
    [['--api-key', 'sk', '--shutdown-timeout', '30'], { apiKey: 'sk', shutdownTimeoutSeconds: 30 }],
    [['--lora-modules', 'a=/l/a', 'b=/l/b', '--max-loras', '2'], { adapters: { a: '/l/a', b: '/l/b' }, maxLoras: 2 }],
    [['--lora-modules', '{"name":"a","path":"/l/a","base_model_name":"m"}'], { adapters: { a: '/l/a' } }],
    [['--kv-transfer-config', '{"kv_connector":"NixlConnector"}', '--port', '81'], { port: 81 }],
  ])('%j', (args, expected) => {
    expect(planOf(...args)).toMatchObject(expected);
  });

  it('takes the key of the environment', () => {
    expect(planEngine(podOf({ image: VLLM, args: ['m'], env: [{ name: 'VLLM_API_KEY', value: 'sk' }] }), NOTHING)?.apiKey).toBe(
      'sk',
    );
  });
});

describe('how an engine hands KV over', () => {
  const vllm = (config: object | string, env: Readonly<Record<string, string>> = {}) =>
    planEngine(
      podOf({
        image: VLLM,
        args: ['m', '--kv-transfer-config', typeof config === 'string' ? config : JSON.stringify(config)],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
      }),
      NOTHING,
    )?.kvTransfer;

  it.each<[object | string, Readonly<Record<string, string>>, EnginePlan['kvTransfer']]>([
    [
      { kv_connector: 'NixlConnector', kv_role: 'kv_producer' },
      {},
      { connector: 'nixl', sideChannelPort: 5600, leaseSeconds: 30, onLoadFailure: 'fail' },
    ],
    [
      {
        kv_connector: 'NixlConnector',
        kv_load_failure_policy: 'recompute',
        kv_connector_extra_config: { kv_lease_duration: 60 },
      },
      { VLLM_NIXL_SIDE_CHANNEL_PORT: '5700' },
      { connector: 'nixl', sideChannelPort: 5700, leaseSeconds: 60, onLoadFailure: 'recompute' },
    ],
    [
      { kv_connector: 'MooncakeConnector', kv_role: 'kv_consumer' },
      { VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT: '120' },
      { connector: 'mooncake', isProducer: false, bootstrapPort: 8998, abortSeconds: 120, onLoadFailure: 'fail' },
    ],
    [
      { kv_connector: 'LMCacheConnectorV1' },
      { LMCACHE_REMOTE_URL: 'redis://kv:6379', LMCACHE_CHUNK_SIZE: '128' },
      { connector: 'store', store: 'redis://kv:6379', chunkTokens: 128 },
    ],
    [{ kv_connector: 'LMCacheConnectorV1' }, {}, undefined],
    [
      { kv_connector: 'ExampleConnector', kv_connector_extra_config: { shared_storage_path: '/kv' } },
      {},
      { connector: 'store', store: '/kv' },
    ],
    [{ kv_connector: 'P2pNcclConnector' }, {}, undefined],
    ['no JSON', {}, undefined],
    ['[]', {}, undefined],
  ])('%j of vLLM with %j', (config, env, expected) => {
    expect(vllm(config, env)).toEqual(expected);
  });

  it.each<[string[], EnginePlan['kvTransfer']]>([
    [['--disaggregation-mode', 'prefill'], { connector: 'sglang', role: 'prefill', bootstrapPort: 8998 }],
    [
      ['--disaggregation-mode', 'decode', '--disaggregation-bootstrap-port', '9000'],
      { connector: 'sglang', role: 'decode', bootstrapPort: 9000 },
    ],
    [['--disaggregation-mode', 'null'], undefined],
    [[], undefined],
  ])('%j of SGLang', (args, expected) => {
    const container = {
      image: 'lmsysorg/sglang:latest',
      command: ['python3', '-m', 'sglang.launch_server', '--model', 'm', ...args],
    };
    expect(planEngine(podOf(container), NOTHING)?.kvTransfer).toEqual(expected);
  });
});

describe('SGLang flags', () => {
  it.each<[string[], Partial<EnginePlan>]>([
    [
      ['--context-length', '4096', '--max-running-requests', '8', '--chunked-prefill-size', '2048'],
      { maxModelLen: 4096, maxNumSeqs: 8, maxNumBatchedTokens: 2048 },
    ],
    [['--page-size', '16', '--max-total-tokens', '768'], { blockSize: 16, numGpuBlocks: 48 }],
    [['--max-total-tokens', '768'], { blockSize: 1, numGpuBlocks: 768 }],
    [['--chunked-prefill-size', '-1'], { maxNumBatchedTokens: undefined }],
    [['--mem-fraction-static', '0.8', '--tp', '2'], { gpuMemoryUtilization: 0.8 }],
    [['--tensor-parallel-size', '2'], { tensorParallelSize: 2 }],
    [['--disable-radix-cache'], { enablePrefixCaching: false }],
    [['--enable-cache-report'], { reportsCachedTokens: true, enablePrefixCaching: true }],
    [['--lora-paths', 'a=/l/a', '/l/b', '--max-loras-per-batch', '4'], { adapters: { a: '/l/a', '/l/b': '/l/b' }, maxLoras: 4 }],
  ])('%j', (args, expected) => {
    const container = {
      image: 'lmsysorg/sglang:latest',
      command: ['python3', '-m', 'sglang.launch_server', '--model', 'm', ...args],
    };
    expect(planEngine(podOf(container), NOTHING)).toMatchObject({ engine: 'sglang', model: 'm', ...expected });
  });

  it('lets running requests finish within the grace period', () => {
    const container = { image: 'lmsysorg/sglang', command: ['python3', '-m', 'sglang.launch_server', '--model-path', 'm'] };
    expect(planEngine(podOf(container, { spec: { terminationGracePeriodSeconds: 300 } }), NOTHING)?.shutdownTimeoutSeconds).toBe(
      300,
    );
  });
});

describe('GPUs', () => {
  it.each<[string, Container['resources'], number, string | undefined]>([
    ['limits', { limits: { 'nvidia.com/gpu': '4' } }, 4, undefined],
    ['numbers', { limits: { 'nvidia.com/gpu': 1 } }, 1, undefined],
    ['requests alone', { requests: { 'amd.com/gpu': '2' } }, 2, undefined],
    ['Ascend on Huawei’s cloud', { limits: { 'huawei.com/ascend-1980': '16', cpu: '188' } }, 16, 'Ascend-910B-64GB'],
    ['none', { limits: { cpu: '4', memory: '8Gi' } }, 0, undefined],
  ])('from %s', (_, resources, gpus, accelerator) => {
    expect(planEngine(podOf({ image: VLLM, args: ['m'], resources }), NOTHING)).toMatchObject({ gpus, accelerator });
  });

  it('are named by annotation before node selector', () => {
    const spec = { nodeSelector: { 'nvidia.com/gpu.product': 'NVIDIA-L40S' } };
    const container = { image: VLLM, args: ['m'] };
    expect(planEngine(podOf(container, { spec }), NOTHING)?.accelerator).toBe('L40S-48GB');
    const annotations = { 'kvasir.dev/accelerator': 'H100-SXM-80GB' };
    expect(planEngine(podOf(container, { spec, annotations }), NOTHING)?.accelerator).toBe('H100-SXM-80GB');
  });
});

describe('GPUs of a required node affinity', () => {
  it('are the first that the catalogue knows', () => {
    const matchExpressions = [
      { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
      { key: 'nvidia.com/gpu.product', operator: 'In', values: ['NVIDIA-Unknown', 'NVIDIA-L4', 'NVIDIA-L40S'] },
    ];
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } };
    const pod = podOf({ image: VLLM, args: ['m'] }, { spec: { affinity: { nodeAffinity: required } } });
    expect(planEngine(pod, NOTHING)?.accelerator).toBe('L4-24GB');
  });
});

describe('any pod', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'vllm',
      'serve',
      'sh',
      '-c',
      'python3',
      '-m',
      'sglang.launch_server',
      '--model',
      '--port',
      '--lora-modules',
      '-tp',
      '--api-key=',
      '{',
    ),
    fc.string({ maxLength: 8 }),
  );

  it('has either no engine or one with a port, a name and whole limits', () => {
    const image = fc.constantFrom('nginx', VLLM, 'lmsysorg/sglang', 'ghcr.io/llm-d/llm-d-inference-sim:latest', ':@/', '');
    const words = fc.array(word, { maxLength: 8 });
    fc.assert(
      fc.property(image, words, words, fc.boolean(), (image, command, args, isSelected) => {
        const plan = planEngine(podOf({ image, command, args }), { ...NOTHING, modelServers: isSelected ? [serverOf({})] : [] });
        if (plan === undefined) return;
        expect(plan.port).toBeGreaterThanOrEqual(1);
        expect(plan.port).toBeLessThanOrEqual(65_535);
        expect(plan.servedModelNames.length).toBeGreaterThanOrEqual(1);
        expect(plan.tensorParallelSize).toBeGreaterThanOrEqual(1);
      }),
      { numRuns: 500 },
    );
  });

  it.each([['--port', '99999'], ['--port'], ['--port', 'http'], ['--port', '0']])(
    'keeps the default port for %j %j',
    (...args) => {
      expect(planEngine(podOf({ image: VLLM, args: ['m', ...args] }), NOTHING)?.port).toBe(8000);
    },
  );

  it('has no adapter of a flag without values', () => {
    expect(planEngine(podOf({ image: VLLM, args: ['m', '--lora-modules', '--enforce-eager'] }), NOTHING)?.adapters).toEqual({});
  });
});

describe('a pod whose image and command say nothing', () => {
  const mock = podOf({ image: 'acme/mock:1' });

  it('is no engine unless a ModelServer of its namespace selects it', () => {
    expect(planEngine(mock, NOTHING)).toBeUndefined();
    expect(
      planEngine(mock, { ...NOTHING, modelServers: [serverOf({ workloadSelector: { matchLabels: { app: 'y' } } })] }),
    ).toBeUndefined();
    expect(planEngine(mock, { ...NOTHING, modelServers: [serverOf({}, 'server', 'other')] })).toBeUndefined();
  });

  it('takes engine, port and model from the ModelServer', () => {
    const server = serverOf({ inferenceEngine: 'SGLang', workloadPort: { port: 31_000, protocol: 'http' } });
    expect(planEngine(mock, { ...NOTHING, modelServers: [server] })).toMatchObject({
      engine: 'sglang',
      port: 31_000,
      model: 'acme/model',
      servedModelNames: ['acme/model'],
      reportsCachedTokens: true,
    });
  });

  it('serves the names of all ModelServers that select it, that of its environment first', () => {
    const pod = podOf({ image: 'acme/mock:1', env: [{ name: 'MODEL_NAME', value: 'env/model' }] });
    const modelServers = [serverOf({ model: 'a' }, 'one'), serverOf({ model: 'env/model' }, 'two')];
    expect(planEngine(pod, { ...NOTHING, modelServers })).toMatchObject({
      model: 'env/model',
      servedModelNames: ['env/model', 'a'],
    });
  });

  it('takes the model name of its routes when the ModelServer leaves it open', () => {
    const modelServers = [serverOf({ model: undefined })];
    const modelRoutes = [routeOf({ modelName: 'routed' })];
    expect(planEngine(mock, { modelServers, modelRoutes })?.servedModelNames).toEqual(['routed']);
  });

  it('has the adapters of the routes that target its ModelServers, and of no others', () => {
    const modelServers = [serverOf({})];
    const modelRoutes = [routeOf({ loraAdapters: ['lora-A', 'lora-B'] }), routeOf({ loraAdapters: ['lora-C'] }, 'elsewhere')];
    const plan = planEngine(mock, { modelServers, modelRoutes });
    expect(Object.keys(plan!.adapters)).toEqual(['lora-A', 'lora-B']);
    expect(plan!.maxLoras).toBe(2);
  });

  it('keeps the adapters of its command when it has one', () => {
    const modelServers = [serverOf({})];
    const modelRoutes = [routeOf({ loraAdapters: ['lora-A'] })];
    expect(planEngine(podOf({ image: VLLM, args: ['m'] }), { modelServers, modelRoutes })?.adapters).toEqual({});
  });

  it('runs in the container that has the ModelServer’s port', () => {
    const pod = podOf({ image: 'envoyproxy/envoy:v1', ports: [{ containerPort: 9901 }] });
    const containers = [
      ...pod.spec.containers,
      { name: 'm', image: 'acme/mock', ports: [{ containerPort: 8000 }], env: [{ name: 'MODEL_NAME', value: 'n' }] },
    ];
    expect(planEngine({ ...pod, spec: { containers } }, { ...NOTHING, modelServers: [serverOf({})] })?.model).toBe('n');
  });

  it('is no engine as a worker of a serving group', () => {
    const labels = { app: 'x', 'modelserving.volcano.sh/name': 'm' };
    const context = { ...NOTHING, modelServers: [serverOf({})] };
    expect(planEngine(podOf({ image: 'nginx' }, { labels }), context)).toBeUndefined();
    expect(
      planEngine(podOf({ image: 'nginx' }, { labels: { ...labels, 'modelserving.volcano.sh/entry': 'true' } }), context),
    ).toBeDefined();
  });
});
