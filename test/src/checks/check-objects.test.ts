import { decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import type { KubeObject } from '../../../src/api/meta';
import { checkObjects } from '../../../src/checks';
import { findingLine } from '../../../src/errors';
import { readManifests } from '../../../src/read-manifests';
import { modelRoute, modelServer, withField, withFields } from '../../helpers/api-objects';

/** A Deployment `chat` that `modelServer` selects, with one vLLM container and the fields that `change` sets. */
function engine(words: readonly string[] = [], change: Readonly<Record<string, unknown>> = {}) {
  const made = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'chat', namespace: 'models' },
    spec: {
      replicas: 2,
      template: {
        metadata: { labels: { app: 'chat' }, annotations: { 'kvasir.dev/accelerator': 'H100-SXM-80GB' } },
        spec: {
          containers: [
            {
              name: 'engine',
              image: 'vllm/vllm-openai:v0.32.0',
              command: ['vllm', 'serve', 'Qwen/Qwen3-8B', '--served-model-name', 'chat', ...words],
              ports: [{ containerPort: 8000 }],
              resources: { limits: { 'nvidia.com/gpu': '1' } },
            },
          ],
        },
      },
    },
  };
  return withFields(made, change);
}

const server = withFields(modelServer, {
  'spec.model': 'chat',
  'spec.inferenceEngine': 'vLLM',
  'spec.workloadPort.port': 8000,
  'spec.workloadSelector': { matchLabels: { app: 'chat' } },
});

const policy = (pod: object) => ({
  apiVersion: 'workload.serving.volcano.sh/v1alpha1',
  kind: 'AutoscalingPolicy',
  metadata: { name: 'chat', namespace: 'models' },
  spec: {
    metrics: [{ name: 'running', targetValue: '8' }],
    homogeneousTarget: {
      minReplicas: 1,
      maxReplicas: 4,
      target: { targetRef: { kind: 'Deployment', name: 'chat' }, metricSources: { running: { pod } } },
    },
  },
});

const claim = (...accessModes: string[]) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'weights', namespace: 'models' },
  spec: { accessModes },
});
const mounting = (change: Readonly<Record<string, unknown>> = {}) =>
  engine([], {
    'spec.template.spec.volumes': [{ name: 'w', persistentVolumeClaim: { claimName: 'weights' } }],
    ...change,
  });

function decoded(object: object): KubeObject {
  if (apiKindOf(object) === undefined) return object as KubeObject;
  const outcome = decodeObject(object);
  if (outcome.kind === 'invalid') throw new Error(outcome.findings.map(findingLine).join('\n'));
  return outcome.value;
}

const found = (objects: readonly object[]) =>
  checkObjects(objects.map((object) => ({ object: decoded(object) }))).map(
    ({ severity, code, object, field }) => `${severity} ${code} ${object}${field === undefined ? '' : ` ${field}`}`,
  );

const pdServer = withField(server, 'spec.workloadSelector', {
  matchLabels: { app: 'chat' },
  pdGroup: { groupKey: 'group', prefillLabels: { role: 'prefill' }, decodeLabels: { role: 'decode' } },
});
const side = (role: string, ...words: string[]) =>
  engine(words, {
    'metadata.name': role,
    'spec.template.metadata.labels': { app: 'chat', role, group: 'one' },
  });

const ADAPTERS = ['--enable-lora', '--lora-modules', 'sql=acme/sql'];

const TABLE: readonly (readonly [what: string, objects: readonly object[], expected: readonly string[]])[] = [
  ['a server, its engine and its route', [server, modelRoute, engine()], []],
  [
    'a port on which no engine listens',
    [server, engine(['--port', '9000'])],
    ['error routing/engine-port ModelServer models/chat spec.workloadPort.port'],
  ],
  [
    'an engine of another kind',
    [withField(server, 'spec.inferenceEngine', 'SGLang'), engine()],
    ['error routing/engine-kind ModelServer models/chat spec.inferenceEngine'],
  ],
  [
    'a model under another name',
    [withField(server, 'spec.model', 'chatter'), engine()],
    ['warning routing/served-name ModelServer models/chat spec.model'],
  ],
  ['a model whose name nothing replaces', [withField(server, 'spec.model', undefined), engine()], []],
  [
    'two engines that differ alike',
    [withField(server, 'spec.model', 'chatter'), engine(), engine([], { 'metadata.name': 'b' })],
    ['warning routing/served-name ModelServer models/chat spec.model'],
  ],
  [
    'a container whose command is not known',
    [
      server,
      engine([], {
        'spec.template.spec.containers[0].command': ['/start.sh'],
        'spec.template.spec.containers[0].image': 'own:1',
      }),
    ],
    ['info fit/unknown Deployment models/chat'],
  ],
  [
    'an adapter that no engine loads',
    [server, withField(modelRoute, 'spec.loraAdapters', ['sql', 'sq']), engine(ADAPTERS)],
    ['warning lora/not-served ModelRoute models/chat spec.loraAdapters[1]'],
  ],
  [
    'an adapter that one of two engines loads',
    [server, withField(modelRoute, 'spec.loraAdapters', ['sql']), engine(ADAPTERS), engine([], { 'metadata.name': 'b' })],
    [],
  ],
  [
    'adapters that are loaded at run time',
    [
      server,
      withField(modelRoute, 'spec.loraAdapters', ['sql']),
      engine([], { 'spec.template.spec.containers[0].env': [{ name: 'VLLM_ALLOW_RUNTIME_LORA_UPDATING', value: 'True' }] }),
    ],
    [],
  ],
  ['two sides of one KV layout', [pdServer, side('prefill'), side('decode')], []],
  [
    'two sides with unlike KV blocks',
    [pdServer, side('prefill', '--block-size', '16'), side('decode', '--block-size', '32')],
    ['error routing/kv-layout ModelServer models/chat spec.workloadSelector.pdGroup'],
  ],
  [
    'two sides with unlike KV types',
    [pdServer, side('prefill', '--kv-cache-dtype', 'fp8'), side('decode')],
    ['error routing/kv-layout ModelServer models/chat spec.workloadSelector.pdGroup'],
  ],
  ['a metric of the engine', [policy({ name: 'vllm:num_requests_running', port: 8000 }), engine()], []],
  [
    'a metrics port that no container exposes',
    [policy({ name: 'vllm:num_requests_running', port: 8100 }), engine()],
    ['warning scaling/metric-port AutoscalingPolicy models/chat spec.homogeneousTarget.target.metricSources.running.pod.port'],
  ],
  [
    'a metrics port of another container',
    [
      policy({ name: 'vllm:num_requests_running', port: 8100 }),
      engine([], { 'spec.template.spec.containers[1]': { name: 'agent', image: 'agent:1', ports: [{ containerPort: 8100 }] } }),
    ],
    [],
  ],
  [
    "a metric under an older version's name",
    [policy({ name: 'vllm:gpu_cache_usage_perc', port: 8000 }), engine()],
    ['error scaling/metric-renamed AutoscalingPolicy models/chat spec.homogeneousTarget.target.metricSources.running.pod.name'],
  ],
  [
    "a metric under a newer version's name",
    [
      policy({ name: 'vllm:kv_cache_usage_perc', port: 8000 }),
      engine([], { 'spec.template.spec.containers[0].image': 'vllm/vllm-openai:v0.8.5' }),
    ],
    ['error scaling/metric-renamed AutoscalingPolicy models/chat spec.homogeneousTarget.target.metricSources.running.pod.name'],
  ],
  [
    'a metric of another engine',
    [policy({ name: 'sglang:num_running_reqs', port: 8000 }), engine()],
    ['error scaling/metric-engine AutoscalingPolicy models/chat spec.homogeneousTarget.target.metricSources.running.pod.name'],
  ],
  ["a metric of the pod's own", [policy({ name: 'queue_depth', port: 8000 }), engine()], []],
  [
    'a claim of one node under two replicas',
    [claim('ReadWriteOnce'), mounting()],
    ['error volumes/single-node PersistentVolumeClaim models/weights spec.accessModes'],
  ],
  [
    'a claim of one node under a policy',
    [
      claim('ReadWriteOncePod'),
      mounting({ 'spec.replicas': undefined }),
      policy({ name: 'vllm:num_requests_running', port: 8000 }),
    ],
    ['error volumes/single-node PersistentVolumeClaim models/weights spec.accessModes'],
  ],
  [
    'a claim of one node under two workloads',
    [claim('ReadWriteOnce'), mounting({ 'spec.replicas': 1 }), mounting({ 'spec.replicas': 1, 'metadata.name': 'b' })],
    ['error volumes/single-node PersistentVolumeClaim models/weights spec.accessModes'],
  ],
  ['a claim of one node under one pod', [claim('ReadWriteOnce'), mounting({ 'spec.replicas': 1 })], []],
  ['a claim of many nodes', [claim('ReadWriteOnce', 'ReadWriteMany'), mounting()], []],
  ['a claim that somebody else made', [mounting()], []],
  [
    'an image without tag',
    [engine([], { 'spec.template.spec.initContainers': [{ name: 'i', image: 'tools' }] })],
    ['warning images/mutable-tag Deployment models/chat spec.template.spec.initContainers[0].image'],
  ],
  [
    'a Secret in plain sight',
    [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'models' }, data: { a: 'Yg==' } }],
    ['error secrets/in-output Secret models/s data'],
  ],
  [
    'a Secret that something else fills',
    [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'models' }, data: {} }],
    [],
  ],
  [
    'a model that does not fit',
    [engine(['--max-model-len', '999999'])],
    ['error fit/context Deployment models/chat', 'error fit/kv-capacity Deployment models/chat'],
  ],
];

describe('checkObjects', () => {
  it.each(TABLE)('%s', (_, objects, expected) => {
    expect(found(objects)).toEqual(expected);
  });

  it('finds references to nothing too', () => {
    expect(found([modelRoute])).toEqual([
      'error routing/missing-server ModelRoute models/chat spec.rules[0].targetModels[0].modelServerName',
    ]);
  });

  it('tells files apart as systems do that ignore case, each once', () => {
    const placed = (name: string, file: string) => ({
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
      file,
    });
    const findings = checkObjects([
      placed('a', 'x/A.yaml:1'),
      placed('b', 'x/A.yaml:9'),
      placed('c', 'x/a.yaml:1'),
      placed('d', 'x/a.yaml:7'),
      placed('e', 'y/a.yaml:1'),
    ]);
    expect(findings.map(findingLine)).toEqual([
      "x/a.yaml:1: ConfigMap default/c: its file differs from x/A.yaml in letters' case only; rename one of the files [manifest/file-case]",
    ]);
  });

  it('says in one line what differs and what to do, with the file', () => {
    const lines = checkObjects([
      { object: decoded(server), file: 'a.yaml' },
      { object: engine(['--port', '9000']) as unknown as KubeObject, file: 'b.yaml' },
    ]).map(findingLine);
    expect(lines).toEqual([
      'a.yaml: ModelServer models/chat: spec.workloadPort.port: 8000, and the engine of Deployment chat listens on 9000; make them the same [routing/engine-port]',
    ]);
  });

  it('looks into the roles of a ModelServing, each on its own GPUs', () => {
    const { objects } = readManifests(
      `
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: { name: v3, namespace: models }
spec:
  replicas: 1
  template:
    roles:
      - name: serve
        replicas: 2
        workerReplicas: 1
        entryTemplate: &pod
          metadata: { annotations: { kvasir.dev/accelerator: H100-SXM-80GB } }
          spec:
            containers:
              - name: engine
                image: vllm/vllm-openai:v0.32.0
                command: [vllm, serve, deepseek-ai/DeepSeek-V3, --tensor-parallel-size, "8", --pipeline-parallel-size, "SIZE"]
                resources: { limits: { nvidia.com/gpu: "8" } }
        workerTemplate: *pod
`,
      'v3.yaml',
    );
    const withStages = (stages: string) => JSON.parse(JSON.stringify(objects[0]!.object).replace('SIZE', stages)) as object;
    expect(found([withStages('2')])).toEqual([]);
    expect(found([withStages('1')])).toEqual([
      'warning fit/ranks ModelServing models/v3',
      'error fit/weights ModelServing models/v3',
    ]);
  });
});
