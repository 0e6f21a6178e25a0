import { Chart } from 'cdk8s';
import {
  Accelerator,
  between,
  Engine,
  GitOpsApp,
  KvConnector,
  Metric,
  ModelBooster,
  type ModelBoosterProps,
  ModelCache,
  ModelSource,
  SecretRef,
} from '../../constructs';
import { cacheFolder } from '../../constructs/model-weights';
import { type AnyObject, synth } from '../../constructs/testing';
import type { PodContainer, PodTemplate } from '../../constructs/workload/pod-template';
import { expandWorkload, planEngine } from '../../src/expand';
import { coreObjectProblems } from '../helpers/core-object-problems';

const revision = 'b968826d9c46dd6066d109eabc6255188de91218';
const source = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision, token: SecretRef.existing('hf', 'token') });
const image = 'registry.example.com/kvasir/kvasir-downloader:0.1.0';

function stack(props: Partial<ModelBoosterProps<string>>) {
  const app = new GitOpsApp();
  const chart = new Chart(app, 'c', { namespace: 'llm' });
  const made = new ModelBooster(chart, 'm', {
    source,
    engine: Engine.vllm('0.32.0', { maxModelLen: 8192 }),
    pools: { a: { accelerator: Accelerator.L4_24GB, replicas: 2 } },
    ...props,
  });
  return { app, chart, made };
}

const template = (object: AnyObject) => (object.spec as { readonly template: PodTemplate }).template;
const engineOf = ({ spec }: PodTemplate) =>
  spec.containers[0]! as PodContainer & { readonly args: string[]; readonly env: object[] };
const codes = ({ app }: ReturnType<typeof stack>) =>
  app
    .check()
    .open.filter(({ code }) => !code.startsWith('model/mutable') && !code.startsWith('fit/'))
    .map(({ severity, code }) => `${severity} ${code}`);

describe('ModelSource', () => {
  it.each([
    [ModelSource.huggingFace('a/b'), 'hf://a/b', 'a/b'],
    [ModelSource.modelScope('a/b'), 'ms://a/b', 'a/b'],
    [ModelSource.s3('s3://bucket/x/Qwen3-8B/'), 's3://bucket/x/Qwen3-8B', 's3://bucket/x/Qwen3-8B'],
    [ModelSource.obs('obs://bucket/x'), 'obs://bucket/x', 'obs://bucket/x'],
    [ModelSource.pvc('claim', 'x'), 'pvc://claim/x', '/models/x'],
    [ModelSource.folder('/opt/model/'), '/opt/model', '/opt/model'],
  ])('%# has a URI and is found by engines', (made, uri, argument) => {
    expect([made.uri, made.engineArgument]).toEqual([uri, argument]);
  });

  it.each([
    ['a bucket without path', () => ModelSource.s3('s3://bucket')],
    ['another scheme', () => ModelSource.s3('obs://bucket/x')],
    ['a path out of a bucket', () => ModelSource.obs('obs://bucket/../x')],
    ['a relative folder', () => ModelSource.folder('model')],
    ['a repository without organization', () => ModelSource.modelScope('b')],
    ['a folder of the system as cache', () => ModelCache.hostPath('/usr')],
    ['a relative folder as cache', () => ModelCache.hostPath('cache')],
  ])('and ModelCache refuse %s', (_, make) => {
    expect(make).toThrow(RangeError);
  });

  it('knows sizes by the last part of a bucket path, or by the shape that it is told', () => {
    expect(ModelSource.s3('s3://b/models/Qwen3-8B').shapeName).toBe('Qwen3-8B');
    expect(ModelSource.s3('s3://b/x', { shape: 'Qwen/Qwen3-8B' }).shapeName).toBe('Qwen/Qwen3-8B');
  });

  it('of ModelScope has its engine download from there, with its token', () => {
    const { chart } = stack({ source: ModelSource.modelScope('Qwen/Qwen3-8B', { token: SecretRef.existing('ms', 'token') }) });
    const { env, args } = engineOf(template(synth(chart).get('Deployment', 'm-a')));
    expect(env).toContainEqual({ name: 'VLLM_USE_MODELSCOPE', value: 'True' });
    expect(env).toContainEqual({
      name: 'MODELSCOPE_API_TOKEN',
      valueFrom: { secretKeyRef: { name: 'ms', key: 'token' } },
    });
    expect(args[0]).toBe('Qwen/Qwen3-8B');
  });
});

describe('the folder of a model in a cache', () => {
  it.each([
    ['s3://aios_models/deepseek-ai/DeepSeek-V3-W8A8/vllm-ascend', '13a7c4d58031cdc502ca1bb4a592f2b9'],
    ['s3://aios_models/deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', '568a486051fd302c338d84946c4f3d48'],
  ])('is where Kthena has %s', (uri, digest) => {
    expect(cacheFolder('/model-cache', ModelSource.s3(uri))).toBe(`/model-cache/${digest}`);
  });

  it('is where Kthena has a repository, and another one for each revision', () => {
    const folder = (options = {}) => cacheFolder('/c', ModelSource.huggingFace('Qwen/Qwen2.5-0.5B-Instruct', options));
    expect(folder()).toBe('/c/18488ba95d6e1baca4a2755a6748053e');
    expect(new Set([folder(), folder({ revision: 'a' }), folder({ revision: 'b' })]).size).toBe(3);
  });

  it.each([
    [ModelCache.existingClaim('model-cache'), '/model-cache'],
    [ModelCache.hostPath('/cache/'), '/cache'],
    [ModelCache.hostPath('/tmp/test'), '/tmp/test'],
    [ModelCache.existingClaim('tmp'), '/model-cache/tmp'],
    [ModelCache.emptyDir(), '/model-cache'],
  ])('%# is mounted as Kthena does, and hides nothing of the system', (cache, path) => {
    expect(cache.mountPath('unused')).toBe(path);
  });
});

describe('a cache', () => {
  it('of a new claim is sized by the weights and shared by several pods', () => {
    const { chart } = stack({ cache: ModelCache.newClaim({ storageClass: 'fast' }) });
    const objects = synth(chart);
    const claim = objects.get('PersistentVolumeClaim', 'm-cache');
    // 16.4 GB of weights, a tenth of room, one GiB.
    expect(claim.spec).toEqual({
      accessModes: ['ReadWriteMany'],
      storageClassName: 'fast',
      resources: { requests: { storage: '18Gi' } },
    });
    expect(coreObjectProblems(claim)).toEqual([]);
    const { spec } = template(objects.get('Deployment', 'm-a'));
    expect(spec.volumes).toContainEqual({ name: 'model-cache', persistentVolumeClaim: { claimName: 'm-cache' } });
    expect(engineOf({ spec } as PodTemplate).volumeMounts).toContainEqual({ name: 'model-cache', mountPath: '/m-cache' });
    expect(engineOf({ spec } as PodTemplate).env).toContainEqual({ name: 'HF_HOME', value: '/m-cache/huggingface' });
    expect(spec.initContainers).toBeUndefined();
  });

  it('of one pod may be mounted by one node only', () => {
    const pools = { a: { accelerator: Accelerator.L4_24GB, replicas: 1 } };
    const { chart } = stack({ cache: ModelCache.newClaim(), pools });
    expect(synth(chart).get('PersistentVolumeClaim', 'm-cache').spec).toMatchObject({ accessModes: ['ReadWriteOnce'] });
  });

  it.each([
    [ModelCache.hostPath('/mnt/models'), { hostPath: { path: '/mnt/models', type: 'DirectoryOrCreate' } }],
    [ModelCache.emptyDir(), { emptyDir: { sizeLimit: '18Gi' } }],
    [ModelCache.existingClaim('weights'), { persistentVolumeClaim: { claimName: 'weights' } }],
    [
      ModelCache.nodeLocal({ storageClass: 'local-nvme', sizeGiB: 40 }),
      {
        ephemeral: {
          volumeClaimTemplate: {
            spec: {
              accessModes: ['ReadWriteOnce'],
              storageClassName: 'local-nvme',
              resources: { requests: { storage: '40Gi' } },
            },
          },
        },
      },
    ],
  ])('%# is a volume of the pod', (cache, volume) => {
    const deployment = synth(stack({ cache }).chart).get('Deployment', 'm-a');
    expect(template(deployment).spec.volumes).toContainEqual({ name: 'model-cache', ...volume });
    expect(coreObjectProblems(deployment)).toEqual([]);
  });

  it('is there for both roles of a disaggregated model', () => {
    const role = { accelerator: Accelerator.L4_24GB, replicas: 2 };
    const { chart, made } = stack({
      cache: ModelCache.newClaim(),
      pools: undefined,
      disaggregation: { prefill: role, decode: role, connector: KvConnector.nixl() },
    });
    const claims = synth(chart)
      .ofKind('Deployment')
      .map((deployment) => JSON.stringify(template(deployment).spec.volumes).includes('m-cache'));
    expect(claims).toEqual([true, true]);
    expect(made.weights.claim).toBeDefined();
  });

  it.each([
    ['volumes/single-node', { cache: ModelCache.newClaim({ accessMode: 'ReadWriteOnce' }) }, 'error'],
    [
      'volumes/single-node',
      {
        cache: ModelCache.newClaim({ accessMode: 'ReadWriteOncePod' }),
        pools: { a: { accelerator: Accelerator.L4_24GB, replicas: between(0, 2) } },
        scaleOn: [Metric.runningRequests(8)],
      },
      'error',
    ],
    ['cache/no-size', { cache: ModelCache.newClaim(), source: ModelSource.huggingFace('a/b', { revision }) }, 'error'],
    ['cache/unused', { cache: ModelCache.newClaim(), source: ModelSource.pvc('w', 'x', { shape: 'Qwen/Qwen3-8B' }) }, 'warning'],
    ['cache/none-to-fill', { download: { image } }, 'error'],
    ['cache/not-shared', { cache: ModelCache.emptyDir(), download: { image, by: 'job' } }, 'error'],
    ['model/needs-download', { source: ModelSource.s3('s3://b/Qwen3-8B') }, 'error'],
  ] as const)('%s', (code, props, severity) => {
    expect(codes(stack(props))).toEqual([`${severity} ${code}`]);
  });
});

describe('a download', () => {
  const cache = ModelCache.newClaim();
  const bucket = ModelSource.s3('s3://b/Qwen3-8B', {
    endpoint: 'https://s3.example.com',
    credentials: { accessKey: SecretRef.existing('s3', 'access'), secretKey: SecretRef.existing('s3', 'secret') },
  });

  it('runs before the engine with the arguments and settings of Kthena, and the engine reads its folder', () => {
    const { chart, made } = stack({ cache, download: { image, env: { HF_ENDPOINT: 'https://hub.example.com' } } });
    const deployment = synth(chart).get('Deployment', 'm-a');
    const folder = cacheFolder('/m-cache', source);
    expect(template(deployment).spec.initContainers).toMatchObject([
      {
        name: 'model-downloader',
        image,
        args: ['--source', 'hf://Qwen/Qwen3-8B', '--output-dir', folder],
        env: [
          { name: 'HOME', value: '/home/engine' },
          { name: 'HF_REVISION', value: revision },
          { name: 'HF_ENDPOINT', value: 'https://hub.example.com' },
          { name: 'HF_AUTH_TOKEN', valueFrom: { secretKeyRef: { name: 'hf', key: 'token' } } },
        ],
        securityContext: { readOnlyRootFilesystem: true },
      },
    ]);
    const { args, env } = engineOf(template(deployment));
    expect(args[0]).toBe(folder);
    expect(args).not.toContain('--revision');
    expect(JSON.stringify(env)).not.toContain('HF_TOKEN');
    expect(coreObjectProblems(deployment)).toEqual([]);
    const [pod] = expandWorkload(deployment)!.pods;
    expect(planEngine(pod!.pod, { modelServers: [], modelRoutes: [] })).toMatchObject({ model: 'Qwen/Qwen3-8B' });
    expect(made.weights.job).toBeUndefined();
  });

  it('gets the keys of a bucket by reference', () => {
    const deployment = synth(stack({ cache, source: bucket, download: { image } }).chart).get('Deployment', 'm-a');
    expect(template(deployment).spec.initContainers![0]).toMatchObject({
      args: ['--source', 's3://b/Qwen3-8B', '--output-dir', cacheFolder('/m-cache', bucket)],
      env: [
        { name: 'HOME' },
        { name: 'ENDPOINT', value: 'https://s3.example.com' },
        { name: 'ACCESS_KEY', valueFrom: { secretKeyRef: { name: 's3', key: 'access' } } },
        { name: 'SECRET_KEY', valueFrom: { secretKeyRef: { name: 's3', key: 'secret' } } },
      ],
    });
  });

  it('gives a rollout the time that it takes', () => {
    const deadline = (props: object) =>
      (synth(stack(props).chart).get('Deployment', 'm-a').spec as { progressDeadlineSeconds: number }).progressDeadlineSeconds;
    expect(deadline({ cache, download: { image } })).toBeGreaterThanOrEqual(deadline({}));
    expect(deadline({ cache, download: { image, by: 'job' } })).toBeLessThan(deadline({}));
  });

  it('by a Job runs once before the pods, without time to live, under a name that changes with what it does', () => {
    const job = (download: object) => {
      const objects = synth(stack({ cache, download: { image, by: 'job', ...download } }).chart);
      const [made, ...more] = objects.ofKind('Job');
      expect(more).toEqual([]);
      return { made: made!, objects };
    };
    const { made, objects } = job({});
    expect(made.metadata.name).toMatch(/^m-download-[0-9a-f]{8}$/);
    expect(made.spec).not.toHaveProperty('ttlSecondsAfterFinished');
    expect(coreObjectProblems(made)).toEqual([]);
    const wave = (object: AnyObject) => Number(object.metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
    const deployment = objects.get('Deployment', 'm-a');
    expect(wave(made)).toBeLessThan(wave(deployment));
    expect(wave(objects.get('PersistentVolumeClaim', 'm-cache'))).toBe(wave(made));
    expect(template(deployment).spec.initContainers).toBeUndefined();
    expect(job({}).made.metadata.name).toBe(made.metadata.name);
    expect(job({ env: { HF_ENDPOINT: 'https://hub.example.com' } }).made.metadata.name).not.toBe(made.metadata.name);
  });
});
