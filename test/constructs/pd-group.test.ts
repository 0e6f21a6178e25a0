import { Chart } from 'cdk8s';
import { stringify } from 'yaml';
import {
  Accelerator,
  between,
  Cluster,
  type ClusterFacts,
  Engine,
  FindingsError,
  GitOpsApp,
  KvConnector,
  LoraAdapter,
  Metric,
  ModelBooster,
  ModelCache,
  ModelSource,
  PDGroup,
  type PDGroupProps,
  SecretRef,
} from '../../constructs';
import { findingsOf } from '../../constructs/check';
import { type AnyObject, matchers, synth } from '../../constructs/testing';
import { structuralProblems } from '../../constructs/testing/structural-schema';
import type { PodContainer, PodTemplate } from '../../constructs/workload/pod-template';
import { decodeObject } from '../../src/api/decode-object';
import { checkReferences } from '../../src/checks/references';
import { expandWorkload, planEngine } from '../../src/expand';
import { coreObjectProblems } from '../helpers/core-object-problems';
import { fixtureDefinition } from '../helpers/fixture-definition';

expect.extend(matchers);

const H100 = Accelerator.H100_SXM_80GB;
const revision = 'b968826d9c46dd6066d109eabc6255188de91218';
const source = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision });
const network = { resource: 'rdma/hca' };
const everything: ClusterFacts = { kubernetes: '1.31', volcano: true, leaderWorkerSet: { gang: 'volcano' } };

function pdGroup(props: Partial<PDGroupProps> = {}, facts: ClusterFacts = everything) {
  const app = new GitOpsApp({ cluster: Cluster.of(facts) });
  const chart = new Chart(app, 'c', { namespace: 'llm' });
  const made = new PDGroup(chart, 'm', {
    source,
    engine: Engine.vllm('0.32.0'),
    prefill: { accelerator: H100 },
    decode: { accelerator: H100 },
    connector: KvConnector.nixl(),
    ...props,
  });
  return { made, objects: () => synth(chart) };
}

const objectsOf = (props?: Partial<PDGroupProps>, facts?: ClusterFacts) => pdGroup(props, facts).objects();
const names = ({ all }: ReturnType<typeof synth>) => all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
const templateOf = (object: AnyObject) => (object.spec as { readonly template: PodTemplate }).template;
const template = (objects: ReturnType<typeof synth>, name: string) => templateOf(objects.get('Deployment', name));
const engineOf = (pods: PodTemplate) => pods.spec.containers[0]! as PodContainer & { readonly args: readonly string[] };
const argOf = (args: readonly string[], flag: string) => args[args.indexOf(flag) + 1];

function codes(props: Partial<PDGroupProps>, facts?: ClusterFacts): readonly string[] {
  const { objects } = pdGroup(props, facts);
  try {
    objects();
  } catch (error) {
    if (error instanceof FindingsError) return error.findings.map(({ code }) => code);
    throw error;
  }
  return [];
}

const DEFINITIONS: Readonly<Record<string, string>> = {
  PodGroup: 'volcano/scheduling.volcano.sh_podgroups.yaml',
  LeaderWorkerSet: 'lws/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
  DisaggregatedSet: 'lws/disaggregatedset.x-k8s.io_disaggregatedsets.yaml',
  ModelServing: 'kthena/workload.serving.volcano.sh_modelservings.yaml',
  ModelServer: 'kthena/networking.serving.volcano.sh_modelservers.yaml',
  ModelRoute: 'kthena/networking.serving.volcano.sh_modelroutes.yaml',
  AutoscalingPolicy: 'kthena/workload.serving.volcano.sh_autoscalingpolicies.yaml',
};

const read = new Map<string, ReturnType<typeof fixtureDefinition>>();

function problems(object: AnyObject): readonly string[] {
  const file = DEFINITIONS[object.kind];
  if (file === undefined) return coreObjectProblems(object);
  if (!read.has(file)) read.set(file, fixtureDefinition(file));
  return structuralProblems(read.get(file)!, object);
}

describe('a PDGroup', () => {
  it('makes a workload, a Service and a disruption budget per role, one server, one route', () => {
    expect(names(objectsOf())).toEqual([
      'Deployment m-0-decode',
      'Deployment m-0-prefill',
      'ModelRoute m',
      'ModelServer m',
      'PodDisruptionBudget m-0-decode',
      'PodDisruptionBudget m-0-prefill',
      'Service m-0-decode',
      'Service m-0-prefill',
    ]);
    expect(objectsOf().get('Service', 'm-0-prefill').spec).toMatchObject({ clusterIP: 'None' });
  });

  it('tells the router how to tell roles and groups apart, and how requests are handed over', () => {
    expect(objectsOf().get('ModelServer', 'm').spec).toEqual({
      model: 'm',
      inferenceEngine: 'vLLM',
      workloadPort: { port: 8000, protocol: 'http' },
      trafficPolicy: { retry: { attempts: 2, retryInterval: '100ms' } },
      workloadSelector: {
        matchLabels: { 'kvasir.dev/model': 'm' },
        pdGroup: {
          groupKey: 'modelserving.volcano.sh/group-name',
          prefillLabels: { 'modelserving.volcano.sh/role': 'prefill' },
          decodeLabels: { 'modelserving.volcano.sh/role': 'decode' },
        },
      },
      kvConnector: { type: 'nixl' },
    });
  });

  it("leaves the type out for SGLang, whose own protocol the router knows by the engine's name", () => {
    const { spec } = objectsOf({ engine: Engine.sglang('0.5.23'), connector: KvConnector.mooncake() }).get('ModelServer', 'm');
    expect(spec).not.toHaveProperty('kvConnector');
    expect(spec.inferenceEngine).toBe('SGLang');
  });

  it('starts each engine for its role, with the pod of the other one reachable', () => {
    const objects = objectsOf({ connector: KvConnector.nixl({ network }) });
    for (const [role, kvRole] of [
      ['prefill', 'kv_producer'],
      ['decode', 'kv_consumer'],
    ] as const) {
      const engine = engineOf(template(objects, `m-0-${role}`));
      expect(JSON.parse(argOf(engine.args, '--kv-transfer-config')!)).toEqual({
        kv_connector: 'NixlConnector',
        kv_role: kvRole,
      });
      expect(engine.env).toEqual(
        expect.arrayContaining([
          { name: 'UCX_TLS', value: 'rc,sm,cuda_ipc,cuda_copy,tcp' },
          { name: 'VLLM_NIXL_SIDE_CHANNEL_HOST', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
        ]),
      );
      expect(engine.resources).toMatchObject({
        limits: { 'nvidia.com/gpu': '1', 'rdma/hca': '1' },
        requests: { 'nvidia.com/gpu': '1', 'rdma/hca': '1' },
      });
    }
  });

  it('may pin memory where a network card must read it, which needs root and a home that can be written', () => {
    const { spec } = template(objectsOf({ connector: KvConnector.nixl({ network }) }), 'm-0-decode');
    expect(spec.securityContext).not.toHaveProperty('runAsNonRoot');
    expect(spec.containers[0]).toMatchObject({
      securityContext: { capabilities: { add: ['IPC_LOCK'], drop: ['ALL'] }, readOnlyRootFilesystem: true },
      env: expect.arrayContaining([{ name: 'HOME', value: '/home/engine' }]),
    });
    const plain = template(objectsOf(), 'm-0-decode').spec;
    expect(plain.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(plain.containers[0]!.securityContext).toMatchObject({ capabilities: { drop: ['ALL'] } });
    expect(plain.containers[0]!.securityContext).not.toHaveProperty('capabilities.add');
  });

  it('does as its user says where connector and user disagree about environment and security', () => {
    const prefill = {
      accelerator: H100,
      env: { UCX_TLS: 'all' },
      security: { runAsImageUser: false, addCapabilities: ['IPC_LOCK', 'SYS_NICE'] },
    };
    const { spec } = template(objectsOf({ prefill, connector: KvConnector.nixl({ network }) }), 'm-0-prefill');
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(spec.containers[0]).toMatchObject({ securityContext: { capabilities: { add: ['IPC_LOCK', 'SYS_NICE'] } } });
    expect((spec.containers[0]!.env as { name: string }[]).filter(({ name }) => name === 'UCX_TLS')).toEqual([
      { name: 'UCX_TLS', value: 'all' },
    ]);
  });

  it('makes groups that never pair with each other, and a second one changes nothing of the first', () => {
    const gang = { scheduler: 'volcano' } as const;
    const [one, two] = [objectsOf({ gang }), objectsOf({ gang, groups: 2 })];
    for (const object of one.all) expect(two.get(object.kind, object.metadata.name)).toEqual(object);
    const groupOf = (name: string) => template(two, name).metadata.labels['modelserving.volcano.sh/group-name'];
    expect(['m-0-prefill', 'm-0-decode', 'm-1-prefill', 'm-1-decode'].map(groupOf)).toEqual(['m-0', 'm-0', 'm-1', 'm-1']);
    expect(two.ofKind('PodGroup').map(({ metadata }) => metadata.name)).toEqual(['m-0', 'm-1']);
  });

  it('starts the fewest replicas of both roles together, with every resource that they ask for', () => {
    const objects = objectsOf({
      gang: { scheduler: 'volcano', queue: 'llm', topology: { highestTierAllowed: 1 } },
      prefill: { accelerator: H100, gpusPerPod: 2, replicas: between(1, 4) },
      decode: { accelerator: H100, gpusPerPod: 4, replicas: between(2, 8) },
      connector: KvConnector.nixl({ network }),
    });
    expect(objects.get('PodGroup', 'm-0').spec).toMatchObject({
      minMember: 3,
      minResources: { 'nvidia.com/gpu': '10', 'rdma/hca': '3' },
      queue: 'llm',
      networkTopology: { mode: 'hard', highestTierAllowed: 1 },
      subGroupPolicy: [
        { name: 'prefill', labelSelector: { matchLabels: { app: 'm-0-prefill' } }, subGroupSize: 1 },
        { name: 'decode', labelSelector: { matchLabels: { app: 'm-0-decode' } }, subGroupSize: 2 },
      ],
    });
    for (const role of ['prefill', 'decode']) {
      const pods = template(objects, `m-0-${role}`);
      expect(pods.spec.schedulerName).toBe('volcano');
      expect(pods.metadata.annotations['scheduling.k8s.io/group-name']).toBe('m-0');
    }
  });

  it('leaves the gang of a role with several pods per replica to its controller', () => {
    const objects = objectsOf({
      gang: { scheduler: 'volcano' },
      decode: { accelerator: H100, gpusPerPod: 8, podsPerReplica: 2, parallelism: { tensor: 16 } },
      prefill: { accelerator: H100, gpusPerPod: 8 },
    });
    expect(objects.get('PodGroup', 'm-0').spec).toMatchObject({ minMember: 1 });
    expect(objects.ofKind('LeaderWorkerSet').map(({ metadata }) => metadata.name)).toEqual(['m-0-decode']);
  });

  it('is a gang of nothing when a role may go to zero, which is an error', () => {
    expect(codes({ gang: { scheduler: 'coscheduling' }, prefill: { accelerator: H100, replicas: between(0, 1) } })).toContain(
      'pd/scale-to-zero',
    );
  });

  it('writes the same bytes twice', () => {
    const text = () => stringify(objectsOf({ groups: 2, gang: { scheduler: 'volcano' } }).all);
    expect(text()).toBe(text());
  });

  it.each([
    ['Deployments', {}],
    ['several groups in gangs', { groups: 2, gang: { scheduler: 'volcano' } }],
    ['replicas of several pods', { decode: { accelerator: H100, gpusPerPod: 8, podsPerReplica: 2 } }],
    ['a DisaggregatedSet', { workload: 'DisaggregatedSet', groups: 2, gang: { scheduler: 'volcano' } }],
    [
      'a scaled DisaggregatedSet',
      {
        workload: 'DisaggregatedSet',
        prefill: { accelerator: H100, replicas: between(1, 4) },
        decode: { accelerator: H100, replicas: between(1, 8) },
      },
    ],
    ['SGLang with a network', { engine: Engine.sglang('0.5.23'), connector: KvConnector.mooncake({ network }) }],
    ['a shared folder', { connector: KvConnector.http({ sharedFolder: { claim: 'kv' } }) }],
  ] as const)('of %s makes objects that the API server takes, and that refer to each other', (_, props) => {
    expect(objectsOf(props).all.flatMap(problems)).toEqual([]);
    expect(references(objectsOf(props))).toEqual([]);
  });
});

function references({ all }: ReturnType<typeof synth>) {
  const decoded = all.map((object) => {
    const result = decodeObject(object);
    return { object: result.kind === 'valid' ? result.value : object };
  });
  return checkReferences(decoded);
}

describe('a PDGroup as roles of one ModelServing', () => {
  const kthena: ClusterFacts = { volcano: true, kthena: 'both' };
  const props: Partial<PDGroupProps> = {
    workload: 'ModelServing',
    groups: 2,
    gang: { scheduler: 'volcano' },
    prefill: { accelerator: H100, replicas: between(1, 4) },
    decode: { accelerator: H100, replicas: between(1, 8) },
    ratio: { min: 0.25, max: 1 },
  };

  it('leaves group names to the controller, and every object is valid', () => {
    const objects = objectsOf(props, kthena);
    expect(objects.all.flatMap(problems)).toEqual([]);
    const serving = objects.get('ModelServing', 'm');
    expect(serving.spec.replicas).toBe(2);
    expect(serving.spec.template.roles.map(({ name }) => name)).toEqual(['prefill', 'decode']);
    const { pods } = expandWorkload(serving)!;
    const labels = pods.map(({ pod }) => pod.metadata.labels!);
    expect(new Set(labels.map((own) => own['modelserving.volcano.sh/group-name']))).toEqual(new Set(['m-0', 'm-1']));
    const { workloadSelector } = objects.get('ModelServer', 'm').spec;
    expect(workloadSelector.pdGroup!.groupKey).toBe('modelserving.volcano.sh/group-name');
    for (const own of labels) expect(own).toMatchObject(workloadSelector.matchLabels!);
  });

  it('has one policy that scales both roles by metrics of their own and keeps the ratio', () => {
    const [policy, ...others] = objectsOf(props, kthena).ofKind('AutoscalingPolicy');
    expect(others).toEqual([]);
    expect(policy!.spec.disaggregatedTarget).toMatchObject({
      targetRef: { apiVersion: 'workload.serving.volcano.sh/v1alpha1', kind: 'ModelServing', name: 'm' },
      roles: {
        prefill: {
          minReplicas: 1,
          maxReplicas: 4,
          metrics: [{ name: 'waiting-requests', targetValue: '5' }],
          metricSources: { 'waiting-requests': { pod: { name: 'vllm:num_requests_waiting', port: 8000 } } },
        },
        decode: {
          minReplicas: 1,
          maxReplicas: 8,
          metrics: [
            { name: 'running-requests', targetValue: '128' },
            { name: 'kv-cache-usage', targetValue: '800m' },
          ],
        },
      },
      ratioConstraint: { numeratorRole: 'prefill', denominatorRole: 'decode', minRatio: '250m', maxRatio: '1' },
    });
    expect(decodeObject(policy!)).toMatchObject({ kind: 'valid' });
  });

  it('finds a metric that the engine does not have, though a role names it', () => {
    const engine = Engine.custom({ image: 'i:1', port: 1, metrics: { runningRequests: 'own_running' } });
    const prefill = { accelerator: H100, replicas: between(1, 4), scaleOn: [Metric.kvCacheUsage(0.5)] };
    expect(codes({ ...props, engine, connector: KvConnector.http(), prefill }, kthena)).toContain('scaling/metric-missing');
  });

  it('scales one role alone where the other is fixed and no ratio binds them', () => {
    const { ratio: _, ...free } = props;
    const [policy] = objectsOf({ ...free, decode: { accelerator: H100, replicas: 2 } }, kthena).ofKind('AutoscalingPolicy');
    expect(Object.keys(policy!.spec.disaggregatedTarget!.roles)).toEqual(['prefill']);
    const fixed = { prefill: { accelerator: H100 }, decode: { accelerator: H100 }, workload: 'ModelServing' } as const;
    expect(objectsOf(fixed, kthena).ofKind('AutoscalingPolicy')).toEqual([]);
  });
});

describe('the scaling of a PDGroup', () => {
  const scaled = {
    prefill: { accelerator: H100, replicas: between(1, 4) },
    decode: { accelerator: H100, replicas: between(1, 8) },
  };

  it('is one policy per role and group where roles are workloads of their own', () => {
    const objects = objectsOf({ ...scaled, groups: 2 });
    const targets = objects
      .ofKind('AutoscalingPolicy')
      .map(({ metadata, spec }) => [metadata.name, spec.homogeneousTarget!.target!.targetRef.name]);
    expect(targets.sort()).toEqual(['m-0-decode', 'm-0-prefill', 'm-1-decode', 'm-1-prefill'].map((name) => [name, name]));
    expect(objects.get('Deployment', 'm-1-decode').spec).not.toHaveProperty('replicas');
  });

  it('is by the scalers of a DisaggregatedSet, whose ratio nobody keeps', () => {
    const { made, objects } = pdGroup({ ...scaled, workload: 'DisaggregatedSet', ratio: { min: 0.25, max: 1 } });
    const refs = objects()
      .ofKind('AutoscalingPolicy')
      .map(({ spec }) => spec.homogeneousTarget!.target!.targetRef);
    expect(refs.map(({ kind, name }) => [kind, name])).toEqual([
      ['DisaggregatedSetRoleScaler', 'm-prefill'],
      ['DisaggregatedSetRoleScaler', 'm-decode'],
    ]);
    expect(findingsOf(made).map(({ code, severity }) => [code, severity])).toEqual([['pd/ratio-not-kept', 'warning']]);
  });

  it('is by what the role says, and by what its engine has', () => {
    const own = Engine.custom({ image: 'i:1', port: 1, metrics: { runningRequests: 'own_running' } });
    const objects = objectsOf({
      ...scaled,
      engine: own,
      connector: KvConnector.http(),
      prefill: { ...scaled.prefill, scaleOn: [Metric.custom({ family: 'own_queue', target: 3 })] },
    });
    expect(objects.get('AutoscalingPolicy', 'm-0-prefill').spec.metrics).toEqual([{ name: 'own_queue', targetValue: '3' }]);
    expect(objects.get('AutoscalingPolicy', 'm-0-decode').spec.metrics).toEqual([
      { name: 'running-requests', targetValue: '128' },
    ]);
  });
});

describe('the KV revision of a PDGroup', () => {
  const revisionOf = (props: Partial<PDGroupProps> = {}, role = 'decode') =>
    template(objectsOf(props), `m-0-${role}`).metadata.labels['kvasir.dev/kv-revision'];
  const vllm = (options: Parameters<typeof Engine.vllm>[1], version = '0.32.0') => ({ engine: Engine.vllm(version, options) });

  it('is the same for both roles', () => {
    expect(revisionOf({}, 'prefill')).toBe(revisionOf({}, 'decode'));
    expect(revisionOf()).toMatch(/^[0-9a-f]{10}$/);
  });

  it.each([
    ['the model', { source: ModelSource.huggingFace('Qwen/Qwen3-32B', { revision }) }],
    ['its revision', { source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: '0'.repeat(40) }) }],
    ['the dtype', vllm({ dtype: 'float16' })],
    ['the dtype of the cache', vllm({ kvCacheDtype: 'fp8' })],
    ['the block size', vllm({ blockSize: 64 })],
    ['a block size among extra arguments', vllm({ extraArgs: ['--block-size=64'] })],
    ['the connector', { connector: KvConnector.mooncake() }],
    ["the engine's version", vllm({}, '0.20.2')],
  ])('changes with %s', (_, props) => {
    expect(revisionOf(props)).not.toBe(revisionOf());
  });

  it.each([
    ['batch sizes', vllm({ maxNumSeqs: 64, gpuMemoryUtilization: 0.8 })],
    ['the image of the same version', vllm({ image: 'mirror.example.com/vllm:v0.32.0' })],
    ['GPUs and replicas', { decode: { accelerator: H100, gpusPerPod: 2, replicas: 3 } }],
    ['network cards', { connector: KvConnector.nixl({ network }) }],
  ])('stays with %s', (_, props) => {
    expect(revisionOf(props)).toBe(revisionOf());
  });
});

describe('what is wrong with a PDGroup', () => {
  const vllm = Engine.vllm('0.32.0');
  const decode = (engine: Engine, more: object = {}) => ({ decode: { accelerator: H100, engine, ...more } });

  it.each<readonly [string, Partial<PDGroupProps>, string]>([
    ['a connector that the engine does not know', { connector: KvConnector.sglang() }, 'pd/connector-engine'],
    ['plain HTTP on vLLM, over which no KV travels', { connector: KvConnector.http() }, 'pd/connector-engine'],
    ['another engine version', decode(Engine.vllm('0.20.2')), 'pd/unlike-engines'],
    ['another engine', decode(Engine.sglang('0.5.23')), 'pd/unlike-engines'],
    ['another port', decode(Engine.vllm('0.32.0', { port: 9000 })), 'pd/unlike-engines'],
    ['another block size', decode(Engine.vllm('0.32.0', { blockSize: 32 })), 'pd/kv-layout'],
    ['another dtype', decode(Engine.vllm('0.32.0', { dtype: 'float16' })), 'pd/kv-layout'],
    ['another dtype of the cache', decode(Engine.vllm('0.32.0', { extraArgs: ['--kv-cache-dtype', 'fp8'] })), 'pd/kv-layout'],
    [
      'splits that do not divide each other',
      { prefill: { accelerator: H100, gpusPerPod: 2 }, decode: { accelerator: H100, gpusPerPod: 3 } },
      'pd/tensor-parallel',
    ],
    [
      'unequal splits with LMCache',
      { connector: KvConnector.lmcache({ remoteUrl: 'redis://r:6379' }), ...decode(vllm, { gpusPerPod: 2 }) },
      'pd/tensor-parallel',
    ],
    [
      'any split with a shared folder',
      {
        connector: KvConnector.http({ sharedFolder: { claim: 'kv' } }),
        prefill: { accelerator: H100, gpusPerPod: 2 },
        decode: { accelerator: H100, gpusPerPod: 2 },
      },
      'pd/tensor-parallel',
    ],
    ['a ratio that no replicas have', { ratio: { min: 2, max: 3 } }, 'pd/ratio-impossible'],
    ['one role at zero', { prefill: { accelerator: H100, replicas: between(0, 2) } }, 'pd/scale-to-zero'],
  ])('%s is an error', (_, props, code) => {
    expect(codes(props)).toContain(code);
  });

  it.each<readonly [string, Partial<PDGroupProps>]>([
    ['options that KV does not depend on', decode(Engine.vllm('0.32.0', { maxNumSeqs: 512, maxNumBatchedTokens: 2048 }))],
    ['a decode split finer than prefill', decode(vllm, { gpusPerPod: 4 })],
    ['a ratio that fixed replicas have', { ratio: { min: 1, max: 1 } }],
  ])('%s are fine', (_, props) => {
    expect(codes(props)).toEqual([]);
  });

  it('names a connector that works', () => {
    expect(() => objectsOf({ connector: KvConnector.sglang() })).toThrow(
      /c\/m: connector: vLLM 0\.32\.0 does not work with the connector sglang; use KvConnector\.nixl\(\) \[pd\/connector-engine\]/,
    );
  });

  it.each([
    ['a bootstrap port that it does not ask at', Engine.sglang('0.5.23'), { bootstrapPort: 9998 }, ['pd/bootstrap-port']],
    ["vLLM's own Mooncake protocol", Engine.vllm('0.32.0'), {}, ['pd/foreign-router']],
    ["SGLang's protocol on the usual port", Engine.sglang('0.5.23'), {}, []],
  ])("%s, with Kthena's router in front and with ours", (_, engine, options, expected) => {
    const props = { engine, connector: KvConnector.mooncake(options) };
    expect(codes(props, { kthena: 'networking' }).filter((code) => code.startsWith('pd/'))).toEqual(expected);
    expect(codes(props)).toEqual([]);
  });

  it.each([
    [{ groups: 0 }, /groups 0/],
    [{ ratio: { min: 2, max: 1 } }, /is no range/],
  ])('is refused at once where it is no value at all: %j', (props, message) => {
    expect(() => pdGroup(props)).toThrow(message);
  });
});

describe('the files of a PDGroup', () => {
  const bucket = ModelSource.s3('s3://models/own/Qwen3-8B', {
    credentials: { accessKey: SecretRef.existing('bucket', 'access'), secretKey: SecretRef.existing('bucket', 'secret') },
  });
  const cached = { source: bucket, cache: ModelCache.newClaim({ storageClass: 'files' }) } as const;
  const image = 'r.example.com/downloader:1';
  const roles = ['prefill', 'decode'];

  it('lie in one claim that the pods of all groups and roles share', () => {
    const objects = objectsOf({ source, cache: ModelCache.newClaim(), groups: 2 });
    expect(objects.get('PersistentVolumeClaim', 'm-cache').spec).toMatchObject({ accessModes: ['ReadWriteMany'] });
    for (const name of ['m-0-prefill', 'm-0-decode', 'm-1-prefill', 'm-1-decode']) {
      const { spec } = template(objects, name);
      expect(spec.volumes).toContainEqual({ name: 'model-cache', persistentVolumeClaim: { claimName: 'm-cache' } });
      expect(spec.containers[0]!.env).toContainEqual({ name: 'HF_HOME', value: '/m-cache/huggingface' });
    }
  });

  it.each(roles)('are downloaded by an init container before %s starts from them', (role) => {
    const { spec } = template(objectsOf({ ...cached, download: { image } }), `m-0-${role}`);
    const [download] = spec.initContainers as unknown as { args: string[]; image: string }[];
    expect(download).toMatchObject({ image, args: ['--source', 's3://models/own/Qwen3-8B', '--output-dir', expect.any(String)] });
    expect(engineOf({ spec } as PodTemplate).args).toEqual(expect.arrayContaining([download!.args[3]]));
  });

  it.each<readonly [PDGroupProps['workload'], readonly string[]]>([
    [undefined, ['Deployment m-0-prefill', 'Deployment m-0-decode']],
    ['DisaggregatedSet', ['DisaggregatedSet m']],
    ['ModelServing', ['ModelServing m']],
  ])('are downloaded once by a Job, before the pods of %s', (workload, users) => {
    const objects = objectsOf(
      { ...cached, workload, download: { image, by: 'job' } },
      workload === 'ModelServing' ? { kthena: 'workload' } : everything,
    );
    const waveOf = ({ metadata }: AnyObject) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
    const [job, ...others] = objects.ofKind('Job');
    expect(others).toEqual([]);
    for (const user of users) {
      const [kind, name] = user.split(' ') as [string, string];
      expect(waveOf(objects.get(kind, name))).toBeGreaterThan(waveOf(job!));
      expect(JSON.stringify(objects.get(kind, name))).not.toContain('initContainers');
    }
  });

  it('bring adapters into the engines of both roles and onto the route', () => {
    const adapters = [
      LoraAdapter.of('sql', ModelSource.huggingFace('a/sql')),
      LoraAdapter.of('law', ModelSource.huggingFace('a/law')),
    ];
    const decode = { accelerator: H100, engine: Engine.vllm('0.32.0', { maxNumSeqs: 512 }) };
    const objects = objectsOf({ adapters, maxLoras: 1, decode, route: { loraAdapters: ['old', 'sql'] } });
    for (const role of roles) {
      const { args } = engineOf(template(objects, `m-0-${role}`));
      expect(args).toEqual(expect.arrayContaining(['--enable-lora', '--lora-modules', 'sql=a/sql', 'law=a/law']));
      expect(argOf(args, '--max-loras')).toBe('1');
    }
    expect(objects.get('ModelRoute', 'm').spec.loraAdapters).toEqual(['old', 'sql', 'law']);
  });

  it.each<readonly [string, Partial<PDGroupProps>, string]>([
    ['a bucket without download', { source: bucket }, 'model/needs-download'],
    ['a claim that one node mounts', { cache: ModelCache.newClaim({ accessMode: 'ReadWriteOncePod' }) }, 'volumes/single-node'],
    ['a download without cache', { download: { image } }, 'cache/none-to-fill'],
    ['an adapter with the name of the model', { adapters: [LoraAdapter.of('m', source)] }, 'lora/name-taken'],
  ])('are an error with %s', (_, props, code) => {
    expect(codes(props)).toContain(code);
  });
});

describe('recovery of a PDGroup', () => {
  const policies = (recovery?: PDGroupProps['recovery']) => {
    const role = { accelerator: H100, podsPerReplica: 2, gpusPerPod: 1 };
    const props = { prefill: role, decode: role, workload: 'DisaggregatedSet' as const };
    const objects = objectsOf({ ...props, ...(recovery === undefined ? {} : { recovery }) });
    const spec = objects.get('DisaggregatedSet', 'm').spec as { readonly roles: unknown };
    return (spec.roles as { spec: { leaderWorkerTemplate: { restartPolicy: string } } }[]).map(
      (each) => each.spec.leaderWorkerTemplate.restartPolicy,
    );
  };

  it('is that of each role of the set', () => {
    expect(policies()).toEqual(['RecreateGroupOnPodRestart', 'RecreateGroupOnPodRestart']);
    expect(policies('pod')).toEqual(['None', 'None']);
  });
});

describe('a disaggregated ModelBooster', () => {
  const chartOf = (more: object = {}) => {
    const chart = new Chart(new GitOpsApp({ cluster: Cluster.of(everything) }), 'c', { namespace: 'llm' });
    const roles = { prefill: { accelerator: H100 }, decode: { accelerator: H100 }, connector: KvConnector.nixl() };
    const made = new ModelBooster(chart, 'm', { source, engine: Engine.vllm('0.32.0'), disaggregation: roles, ...more });
    return { chart, made };
  };

  it('makes what a PDGroup of its name makes', () => {
    const { chart, made } = chartOf({ route: { modelName: 'qwen' } });
    const objects = synth(chart);
    expect(objects.all).toEqual(objectsOf({ route: { modelName: 'qwen' } }).all);
    expect(made.disaggregated!.decode[0]!.name).toBe('m-0-decode');
    expect(made.server).toBe(made.disaggregated!.server);
    expect(made.route!.modelName).toBe('qwen');
    expect(
      planEngine(expandWorkload(objects.get('Deployment', 'm-0-decode'))!.pods[0]!.pod, { modelServers: [], modelRoutes: [] }),
    ).toMatchObject({ engine: 'vllm', servedModelNames: ['m'] });
  });

  it('loads adapters into both roles, also where one has an engine of its own', () => {
    const adapters = [LoraAdapter.of('sql', ModelSource.huggingFace('a/sql'))];
    const decode = { accelerator: H100, engine: Engine.vllm('0.32.0', { maxNumSeqs: 512 }) };
    const disaggregation = { prefill: { accelerator: H100 }, decode, connector: KvConnector.nixl() };
    const objects = synth(chartOf({ adapters, disaggregation }).chart);
    for (const role of ['prefill', 'decode']) {
      expect(engineOf(template(objects, `m-0-${role}`)).args).toEqual(expect.arrayContaining(['--lora-modules', 'sql=a/sql']));
    }
    expect(objects.get('ModelRoute', 'm').spec.loraAdapters).toEqual(['sql']);
  });

  it.each([
    ['pools', { pools: { a: { accelerator: H100 } } }, /\[model\/pools-and-roles\]/],
    ['metrics of pools', { scaleOn: [Metric.runningRequests(8)] }, /\[model\/scale-on-of-roles\]/],
  ])('has no %s', (_, more, message) => {
    expect(() => synth(chartOf(more).chart)).toThrow(message);
  });
});
