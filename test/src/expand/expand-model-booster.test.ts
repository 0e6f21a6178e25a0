import { decodeKind } from '../../../src/api/decode-object';
import type { ModelBoosterManifest } from '../../../src/api/model-booster';
import { findingLine } from '../../../src/errors';
import { boosterChildren, expandModelBooster } from '../../../src/expand';
import { cachePath, modelPath } from '../../../src/expand/booster/cache';
import { goPrint } from '../../../src/expand/booster/go-print';
import { exampleObjects } from '../../helpers/example-objects';

type Backend = ModelBoosterManifest['spec']['backend'];
type Worker = Backend['workers'][number];

const S3 = 's3://aios_models/deepseek-ai/DeepSeek-V3-W8A8/vllm-ascend';
const S3_HASH = '13a7c4d58031cdc502ca1bb4a592f2b9';

function booster(backend: Partial<Backend> = {}, spec: Partial<ModelBoosterManifest['spec']> = {}): unknown {
  return {
    apiVersion: 'workload.serving.volcano.sh/v1alpha1',
    kind: 'ModelBooster',
    metadata: { name: 'test-model', namespace: 'default', uid: 'ignored' },
    spec: {
      backend: {
        name: 'backend1',
        type: 'vLLM',
        modelURI: S3,
        cacheURI: 'hostpath:///tmp/test',
        replicas: 1,
        workers: [{ type: 'server', image: 'vllm-server:latest', replicas: 1, pods: 1 }],
        ...backend,
      },
      ...spec,
    },
  };
}

function expansionOf(input: unknown) {
  const decoded = decodeKind('ModelBooster', input);
  if (decoded.kind === 'invalid') throw new Error(decoded.findings.map(findingLine).join('\n'));
  return expandModelBooster(decoded.value);
}

/** The children, decoded as a cluster would. */
function childrenOf(input: unknown) {
  const expansion = expansionOf(input);
  if (expansion.kind === 'impossible') throw new Error(JSON.stringify(expansion.problems));
  const [serving, server, route] = boosterChildren(expansion);
  const valid = <T>(
    outcome: { readonly kind: 'valid'; readonly value: T } | { readonly kind: 'invalid'; readonly findings: unknown },
  ) => {
    if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.findings));
    return outcome.value;
  };
  return {
    serving: valid(decodeKind('ModelServing', serving)),
    server: valid(decodeKind('ModelServer', server)),
    route: valid(decodeKind('ModelRoute', route)),
    codes: expansion.problems.map(({ code }) => code),
  };
}

const server = (worker: Partial<Worker>): Partial<Backend> => ({
  workers: [{ type: 'server', replicas: 1, ...worker } as Worker],
});

const commandOf = (backend: Partial<Backend>, role = 0, container = 1) =>
  childrenOf(booster(backend)).serving.spec.template.roles[role]!.entryTemplate.spec!.containers[container]!.command!;

describe('paths of a model', () => {
  it.each([
    [S3, S3_HASH],
    ['s3://aios_models/deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', '568a486051fd302c338d84946c4f3d48'],
    ['hf://Qwen/Qwen2.5-0.5B-Instruct', '18488ba95d6e1baca4a2755a6748053e'],
  ])('%s is cached in %s', (modelURI, hash) => {
    expect(modelPath({ modelURI, cacheURI: 'pvc://c' } as never)).toBe(`/c/${hash}`);
  });

  it.each([
    ['pvc://model-cache', '/model-cache', { persistentVolumeClaim: { claimName: 'model-cache' } }],
    ['pvc:///model-cache', '/model-cache', { persistentVolumeClaim: { claimName: 'model-cache' } }],
    ['hostpath://cache/', '/cache', { hostPath: { path: '/cache', type: 'DirectoryOrCreate' } }],
    ['hostpath:///tmp/test', '/tmp/test', { hostPath: { path: '/tmp/test', type: 'DirectoryOrCreate' } }],
    ['hostpath://tmp/test', '/tmp/test', { hostPath: { path: '/tmp/test', type: 'DirectoryOrCreate' } }],
  ])('%s is mounted at %s', (cacheURI, path, source) => {
    expect(cachePath(cacheURI)).toBe(path);
    const entry = childrenOf(booster({ cacheURI })).serving.spec.template.roles[0]!.entryTemplate.spec!;
    expect(entry).toMatchObject({ volumes: [{ name: 'backend1-weights', ...source }, { name: 'dshm' }] });
  });
});

describe('values of engine flags', () => {
  it.each<[unknown, string]>([
    ['text', 'text'],
    [128, '128'],
    [0.9, '0.9'],
    [0.00001, '1e-05'],
    [0.0001, '0.0001'],
    [999_999, '999999'],
    [1_000_000, '1e+06'],
    [1_048_576, '1.048576e+06'],
    [-0, '-0'],
    [true, 'true'],
    [null, '<nil>'],
    [['a', 1], '[a 1]'],
    [{ b: 1, a: { c: false } }, 'map[a:map[c:false] b:1]'],
  ])('%j is written %s', (value, text) => {
    expect(goPrint(value)).toBe(text);
  });
});

describe("a vLLM booster's command", () => {
  it('has the flags by name, underscores as dashes, an empty value as a switch', () => {
    const config = {
      'trust-remote-code': '',
      tensor_parallel_size: 2,
      'served-model-name': 'deepseek-v3',
      'max-model-len': 32_768,
      'gpu-memory-utilization': 0.9,
      'block-size': 128,
    };
    expect(commandOf(server({ config })).join(' ')).toBe(
      `python3 -m vllm.entrypoints.openai.api_server --model /tmp/test/${S3_HASH} --block-size 128 --gpu-memory-utilization 0.9 ` +
        '--max-model-len 32768 --served-model-name deepseek-v3 --tensor-parallel-size 2 --trust-remote-code',
    );
  });

  it('starts Ray on the entry and on the workers of several pods', () => {
    const backend = server({
      pods: 3,
      resources: { limits: { 'nvidia.com/gpu': '8', 'huawei.com/ascend-1980': 1, cpu: '100m' } },
      config: { 'served-model-name': 'm' },
    });
    const [role] = childrenOf(booster(backend)).serving.spec.template.roles;
    expect(role).toMatchObject({ name: 'leader', workerReplicas: 2 });
    const script = 'examples/online_serving/multi-node-serving.sh';
    expect(role!.entryTemplate.spec!.containers[1]!.command).toEqual([
      'bash',
      '-c',
      `chmod u+x ${script} && ${script} leader --ray_cluster_size=3 --num-gpus=9 && python3 -m vllm.entrypoints.openai.api_server ` +
        `--model /tmp/test/${S3_HASH} --served-model-name m --distributed_executor_backend ray`,
    ]);
    const [worker] = role!.workerTemplate!.spec!.containers;
    expect(worker).toMatchObject({
      name: 'backend1-vllm-worker',
      command: ['bash', '-c', `chmod u+x ${script} && ${script} worker --ray_address=$(ENTRY_ADDRESS)`],
    });
    expect(worker!.readinessProbe).toBeUndefined();
  });

  it.each([0, 1, undefined])('with pods: %s has no workers', (pods) => {
    const [role] = childrenOf(booster(server(pods === undefined ? {} : { pods }))).serving.spec.template.roles;
    expect(role!.workerReplicas).toBe(0);
  });
});

const transfer = (connector: string, role: string) => ({
  'kv-transfer-config': JSON.stringify({ kv_connector: connector, kv_role: role }),
});

function disaggregated(
  connector: string,
  more: Partial<Backend> = {},
  limits: Record<string, string> = { 'nvidia.com/gpu': '1' },
) {
  const worker = (type: 'prefill' | 'decode', role: string): Worker => ({
    type,
    replicas: 1,
    image: 'engine:1',
    resources: { limits },
    config: { ...transfer(connector, role), 'served-model-name': `${type}-name` },
  });
  return booster({
    type: 'vLLMDisaggregated',
    workers: [worker('decode', 'kv_consumer'), worker('prefill', 'kv_producer')],
    ...more,
  });
}

describe('a disaggregated booster', () => {
  it('has prefill before decode, and each its own variables', () => {
    const { serving } = childrenOf(disaggregated('LMCacheConnectorV1', { envFrom: [{ secretRef: { name: 's' } }] }));
    const [prefill, decode] = serving.spec.template.roles;
    expect([prefill!.name, decode!.name]).toEqual(['prefill', 'decode']);
    expect(serving.spec.template.gangPolicy).toEqual({ minRoleReplicas: { prefill: 1, decode: 1 } });
    const names = (role: typeof prefill) => role!.entryTemplate.spec!.containers[1]!.env!.slice(6).map(({ name }) => name);
    expect(names(prefill)).toEqual(['HF_HUB_OFFLINE', 'HCCL_IF_IP']);
    expect(names(decode)).toEqual(['HF_HUB_OFFLINE', 'GLOO_SOCKET_IFNAME', 'TP_SOCKET_IFNAME', 'HCCL_SOCKET_IFNAME']);
    expect(prefill!.entryTemplate.spec!.containers[0]).not.toHaveProperty('envFrom');
    expect(decode!.entryTemplate.spec!.containers[0]).toHaveProperty('envFrom', [{ secretRef: { name: 's' } }]);
    expect(decode!.entryTemplate.spec!.initContainers![0]).toHaveProperty('envFrom', [{ secretRef: { name: 's' } }]);
  });

  it.each([
    ['MooncakeConnector', 'mooncake'],
    ['MooncakeConnectorV1', 'mooncake'],
    ['NixlConnector', 'nixl'],
    ['LMCacheConnectorV1', 'lmcache'],
  ])('with %s is paired by %s, by group, whatever the order of its workers', (connector, type) => {
    const { spec } = childrenOf(disaggregated(connector)).server;
    expect(spec.kvConnector).toEqual({ type });
    expect(spec.model).toBe('decode-name');
    expect(spec.workloadSelector).toEqual({
      matchLabels: { 'kvasir.dev/model': 'test-model' },
      pdGroup: {
        groupKey: 'modelserving.volcano.sh/group-name',
        prefillLabels: { 'modelserving.volcano.sh/role': 'prefill' },
        decodeLabels: { 'modelserving.volcano.sh/role': 'decode' },
      },
    });
  });

  const MOONCAKE = 'pip install mooncake-transfer-engine && python3 ';
  const NIXL = 'PIP_DISABLE_PIP_VERSION_CHECK=1 pip install -U --no-cache-dir nixl && python3 ';
  const skip = (value: string) => ({ env: [{ name: 'KTHENA_SKIP_ENGINE_DEPENDENCY_INSTALL', value }] });
  const ASCEND = { 'huawei.com/ascend-1980': '1' };
  it.each<[string, Partial<Backend>, Record<string, string> | undefined, string | undefined]>([
    ['MooncakeConnector', {}, undefined, MOONCAKE],
    ['NixlConnector', {}, undefined, NIXL],
    ['NixlConnector', skip('false'), undefined, NIXL],
    ['NixlConnector', skip('no Go bool'), undefined, NIXL],
    ['NixlConnector', skip('1'), undefined, undefined],
    ['NixlConnector', skip('True'), undefined, undefined],
    ['NixlConnector', {}, ASCEND, undefined],
    ['NixlConnector', {}, { 'nvidia.com/gpu': '0' }, undefined],
    ['MooncakeConnectorV1', {}, undefined, undefined],
    ['LMCacheConnectorV1', {}, undefined, undefined],
  ])('%s with %j on %j installs %s', (connector, backend, limits, install) => {
    const { serving, codes } = childrenOf(disaggregated(connector, backend, limits));
    const command = serving.spec.template.roles[0]!.entryTemplate.spec!.containers[1]!.command!;
    if (install === undefined) {
      expect(command[0]).toBe('python3');
    } else {
      expect(command.slice(0, 2)).toEqual(['bash', '-c']);
      expect(command[2]!.startsWith(install)).toBe(true);
    }
    expect(codes.includes('model-booster/unquoted-command')).toBe(install !== undefined);
  });
});

describe("a booster's children", () => {
  it('carry its name, its labels, and no uid', () => {
    const { serving, server: modelServer, route } = childrenOf(booster());
    expect([serving, modelServer, route].map(({ metadata }) => metadata.name)).toEqual([
      'test-model-backend1',
      'test-model-backend1',
      'test-model',
    ]);
    for (const { metadata } of [serving, modelServer, route]) {
      expect(metadata).toMatchObject({
        namespace: 'default',
        labels: {
          'workload.serving.volcano.sh/model-name': 'test-model',
          'workload.serving.volcano.sh/backend-name': metadata.name === 'test-model' ? '' : 'backend1',
          'workload.serving.volcano.sh/managed-by': 'workload.serving.volcano.sh',
          'workload.serving.volcano.sh/revision': expect.stringMatching(/^\w+$/),
          'kvasir.dev/model': 'test-model',
        },
      });
      expect(JSON.stringify(metadata)).not.toMatch(/uid/i);
    }
    expect(modelServer.spec.trafficPolicy).toEqual({ retry: { attempts: 5, retryInterval: '0s' } });
    expect(route.spec).toEqual({
      modelName: 'test-model',
      rules: [{ name: 'default', targetModels: [{ modelServerName: 'test-model-backend1', weight: 100 }] }],
    });
  });

  it('take the client name and the match of the booster', () => {
    const modelMatch = { headers: { 'x-user': { exact: 'a' } } };
    const { spec } = childrenOf(booster({}, { name: 'for-clients', modelMatch })).route;
    expect(spec).toMatchObject({ modelName: 'for-clients', rules: [{ modelMatch }] });
  });

  it('listen where the configuration says, and the runtime container looks there', () => {
    const { serving, server: modelServer } = childrenOf(booster(server({ config: { port: '9000', 'served-model-name': 'm' } })));
    expect(modelServer.spec.workloadPort.port).toBe(9000);
    const [runtime, engine] = serving.spec.template.roles[0]!.entryTemplate.spec!.containers;
    expect(runtime!.args).toContain('http://localhost:9000');
    expect(engine!.readinessProbe).toMatchObject({ httpGet: { port: 9000 } });
    expect(JSON.stringify(engine)).toContain('http://localhost:9000/metrics');
  });

  it.each([
    [
      {},
      ['--port', '8100', '--engine', 'vllm', '--engine-base-url', 'http://localhost:8000', '--engine-metrics-path', '/metrics'],
    ],
    [
      { RUNTIME_PORT: '9100', RUNTIME_URL: 'http://engine:1', RUNTIME_METRICS_PATH: '/m' },
      ['--port', '9100', '--engine', 'vllm', '--engine-base-url', 'http://engine:1', '--engine-metrics-path', '/m'],
    ],
    [
      { RUNTIME_PORT: 'many' },
      ['--port', '8100', '--engine', 'vllm', '--engine-base-url', 'http://localhost:8000', '--engine-metrics-path', '/metrics'],
    ],
  ])('have a runtime container that is steered by variables: %j', (variables, args) => {
    const env = Object.entries(variables).map(([name, value]) => ({ name, value }));
    const { spec } = childrenOf(booster({ env })).serving;
    const [runtime] = spec.template.roles[0]!.entryTemplate.spec!.containers;
    expect(runtime!.args).toEqual([...args, '--pod', '$(POD_NAME).$(NAMESPACE)', '--model', 'test-model']);
    expect(runtime!.ports).toMatchObject([{ containerPort: Number(args[1]) }]);
  });

  it('give a container a minute to come back, and leave recovery and rollout to the defaults of the kind', () => {
    const expansion = expansionOf(booster());
    if (expansion.kind !== 'expanded') throw new Error('not expanded');
    const { spec } = boosterChildren(expansion)[0] as { readonly spec: Readonly<Record<string, unknown>> };
    expect(spec.template).toMatchObject({
      restartGracePeriodSeconds: 60,
      gangPolicy: { minRoleReplicas: { leader: 1 } },
      roles: [{ name: 'leader', replicas: 1, workerReplicas: 0 }],
    });
    expect(spec).not.toHaveProperty('recoveryPolicy');
    expect(spec).not.toHaveProperty('rolloutStrategy');
  });

  it('serve under the name of the booster where no worker names one', () => {
    expect(childrenOf(booster()).server.spec.model).toBe('test-model');
    expect(childrenOf(booster(server({ config: { 'served-model-name': 'm' } }))).server.spec.model).toBe('m');
  });

  it('give the downloader four variables, and only literal ones', () => {
    const env = [
      { name: 'MS_REVISION', value: 'v1' },
      { name: 'ENDPOINT', value: 'e' },
      { name: 'HF_TOKEN', value: 'secret' },
      { name: 'MS_TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      { name: 'HF_ENDPOINT', value: '' },
    ];
    const { initContainers } = childrenOf(booster({ env })).serving.spec.template.roles[0]!.entryTemplate.spec!;
    expect(initContainers![0]!.env).toEqual([
      { name: 'ENDPOINT', value: 'e' },
      { name: 'MS_REVISION', value: 'v1' },
    ]);
  });

  it('give each role the node choice of its worker, and all the runtime class', () => {
    const affinity = { nodeAffinity: {} };
    const tolerations = [{ key: 'gpu', operator: 'Exists' }];
    const [role] = childrenOf(
      booster({ ...server({ affinity, tolerations }), runtimeClassName: 'nvidia', schedulerName: 'kube' }),
    ).serving.spec.template.roles;
    for (const { spec } of [role!.entryTemplate, role!.workerTemplate!]) {
      expect(spec).toMatchObject({ affinity, tolerations, runtimeClassName: 'nvidia' });
    }
  });

  it('have pods of the same revision at any number of serving groups, and of another for another flag', () => {
    const revision = (backend: Partial<Backend>) =>
      childrenOf(booster(backend)).serving.spec.template.roles[0]!.entryTemplate.metadata!.labels![
        'workload.serving.volcano.sh/revision'
      ];
    expect(revision({ replicas: 5 })).toBe(revision({ replicas: 1 }));
    expect(revision(server({ config: { 'max-model-len': 1 } }))).not.toBe(revision(server({ config: {} })));
  });

  it.each(['lmcache-pd-disaggregation', 'nixl-pd-disaggregation', 'prefill-decode-disaggregation', 'Qwen2.5-0.5B-Instruct'])(
    'of the example %s are valid, without a warning',
    (name) => {
      expect(childrenOf(exampleObjects(`model-booster/${name}.yaml`)[0]).codes).toEqual([]);
    },
  );
});

describe('what Kthena makes of a booster without a word', () => {
  it.each<[string, unknown, string]>([
    ['a prefill worker without decode', disaggregated('x', { workers: [{ type: 'prefill' }] }), 'model-booster/workers'],
    ['no cache', booster({ cacheURI: undefined as never }), 'model-booster/no-cache'],
    ['a variable that is set anyway', booster({ env: [{ name: 'POD_NAME', value: 'x' }] }), 'model-booster/env'],
    [
      'one that only decode pods get',
      disaggregated('NixlConnector', { env: [{ name: 'GLOO_SOCKET_IFNAME', value: 'eth1' }] }),
      'model-booster/env',
    ],
  ])('%s is an error', (_, input, code) => {
    const { kind, problems } = expansionOf(input);
    expect(kind).toBe('impossible');
    expect(problems.filter(({ severity }) => severity === 'error').map((problem) => problem.code)).toEqual([code]);
  });

  it.each<[string, Partial<Worker>, string]>([
    ['no replicas', { replicas: undefined as never }, 'model-booster/no-replicas'],
    ['a million as a number', { config: { 'max-model-len': 1e6 } }, 'model-booster/garbled-flag'],
    ['a JSON object as a value', { config: { 'compilation-config': { level: 3 } } }, 'model-booster/garbled-flag'],
    ['no served name', { config: {} }, 'model-booster/served-name'],
    [
      'JSON in a command that starts Ray',
      { pods: 2, config: { 'served-model-name': 'm', 'speculative-config': '{"a": 1}' } },
      'model-booster/unquoted-command',
    ],
  ])('%s is a warning', (_, worker, code) => {
    expect(childrenOf(booster(server({ config: { 'served-model-name': 'm' }, ...worker }))).codes).toEqual(
      expect.arrayContaining([code]),
    );
  });
});
