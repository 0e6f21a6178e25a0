import { Chart, Testing } from 'cdk8s';
import {
  Accelerator,
  between,
  Cluster,
  Engine,
  GitOpsApp,
  Metric,
  ModelBooster,
  type ModelBoosterProps,
  ModelSource,
  Rollout,
} from '../../constructs';
import { matchers, synth } from '../../constructs/testing';
import type { PodTemplate } from '../../constructs/workload/pod-template';
import type { Pod } from '../../src/api/pod';
import { costPerHourOf, expandWorkload, planEngine } from '../../src/expand';
import { sampleStack } from '../helpers/sample-stack';

expect.extend(matchers);

const L4 = Accelerator.L4_24GB;
const source = ModelSource.huggingFace('Qwen/Qwen3-8B');

function booster(props: Partial<ModelBoosterProps<string>> = {}) {
  const chart = new Chart(Testing.app(), 'c', { namespace: 'llm' });
  const made = new ModelBooster(chart, 'm', {
    source,
    engine: Engine.vllm('0.32.0', { maxModelLen: 8192 }),
    pools: { a: { accelerator: L4 } },
    ...props,
  });
  return { made, objects: synth(chart) };
}

const names = (objects: ReturnType<typeof synth>) => objects.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();

describe('a ModelBooster', () => {
  it('makes a workload, a Service and a disruption budget per pool, one server, one route', () => {
    const pools = { a: { accelerator: L4 }, b: { accelerator: Accelerator.H100_SXM_80GB } };
    expect(names(booster({ pools }).objects)).toEqual([
      'Deployment m-a',
      'Deployment m-b',
      'ModelRoute m',
      'ModelServer m',
      'PodDisruptionBudget m-a',
      'PodDisruptionBudget m-b',
      'Service m-a',
      'Service m-b',
    ]);
  });

  it('routes its name to all of its pools by one server', () => {
    const { objects } = booster();
    expect(objects).toContainObject({
      kind: 'ModelRoute',
      spec: { modelName: 'm', rules: [{ targetModels: [{ modelServerName: 'm', weight: 100 }] }] },
    });
    expect(objects).toContainObject({
      kind: 'ModelServer',
      spec: {
        model: 'm',
        inferenceEngine: 'vLLM',
        workloadPort: { port: 8000 },
        workloadSelector: { matchLabels: { 'kvasir.dev/model': 'm' } },
      },
    });
  });

  it('makes no route when told so, and takes the name that clients use', () => {
    expect(names(booster({ route: false }).objects)).not.toContain('ModelRoute m');
    expect(booster({ route: { modelName: 'Qwen/Qwen3-8B' } }).objects).toContainObject({
      kind: 'ModelRoute',
      metadata: { name: 'm' },
      spec: { modelName: 'Qwen/Qwen3-8B' },
    });
  });

  it('has no policy and writes its replicas when all are fixed', () => {
    const { objects, made } = booster({ pools: { a: { accelerator: L4, replicas: 3 } } });
    expect(made.policy).toBeUndefined();
    expect(objects).toContainObject({ kind: 'Deployment', spec: { replicas: 3 } });
  });

  it('leaves the replicas of one scaled pool to a homogeneous policy on the metric of its engine', () => {
    const { objects } = booster({
      pools: { a: { accelerator: L4, replicas: between(1, 4) } },
      scaleOn: [Metric.kvCacheUsage(0.8)],
    });
    expect(objects.get('Deployment', 'm-a').spec).not.toHaveProperty('replicas');
    expect(objects.get('AutoscalingPolicy', 'm').spec).toMatchObject({
      metrics: [{ name: 'kv-cache-usage', targetValue: '800m' }],
      homogeneousTarget: {
        minReplicas: 1,
        maxReplicas: 4,
        target: {
          targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'm-a' },
          metricSources: { 'kv-cache-usage': { pod: { name: 'vllm:kv_cache_usage_perc', port: 8000, uri: '/metrics' } } },
        },
      },
    });
  });

  it('weighs several pools by their price in cents, from the catalogue where none is given', () => {
    const pools = {
      a: { accelerator: L4, replicas: between(0, 4), costPerReplicaHour: 1.1 },
      b: { accelerator: Accelerator.L40S_48GB, gpusPerPod: 2, replicas: between(1, 2) },
    };
    const { made, objects } = booster({ pools, scaleOn: [Metric.runningRequests(24)] });
    const { params } = objects.get('AutoscalingPolicy', 'm').spec.heterogeneousTarget!;
    expect(params!.map(({ cost, minReplicas, maxReplicas }) => [cost, minReplicas, maxReplicas])).toEqual([
      [110, 0, 4],
      [Math.round(made.pools.b!.costPerReplicaHour! * 100), 1, 2],
    ]);
    expect(made.pools.b!.costPerReplicaHour).toBe(Accelerator.L40S_48GB.facts!.listPricePerHour! * 2);
  });

  it.each(['H100', 'a_b', `a${'-long'.repeat(13)}`])('refuses a pool called %s, which no Service could carry', (pool) => {
    expect(() => booster({ pools: { [pool]: { accelerator: L4 } } })).toThrow(/\[name\/invalid\]/);
  });

  it('tells its bill at fewest and most replicas, with overrides of the GPUs counted', () => {
    const { app, qwen } = sampleStack();
    qwen.pools.h100.pod.merge({
      containers: [{ name: 'engine', resources: { limits: { 'nvidia.com/gpu': 4 }, requests: { 'nvidia.com/gpu': 4 } } }],
    });
    const { lines, models, max } = app.bill();
    expect(lines.slice(0, 2)).toEqual([
      {
        path: 'models/qwen3-8b/h100',
        file: 'models/Deployment.qwen3-8b-h100.yaml',
        model: 'qwen3-8b',
        workload: 'qwen3-8b-h100',
        accelerator: 'H100-SXM-80GB',
        min: { gpus: 0, costPerHour: 0 },
        max: { gpus: 16, costPerHour: 32.8 },
      },
      {
        path: 'models/qwen3-8b/l40s',
        file: 'models/Deployment.qwen3-8b-l40s.yaml',
        model: 'qwen3-8b',
        workload: 'qwen3-8b-l40s',
        accelerator: 'L40S-48GB',
        min: { gpus: 1, costPerHour: 1.2 },
        max: { gpus: 8, costPerHour: 9.6 },
      },
    ]);
    expect(models[0]).toEqual({ model: 'qwen3-8b', min: { gpus: 1, costPerHour: 1.2 }, max: { gpus: 24, costPerHour: 42.4 } });
    expect(lines[3]!.max.costPerHour).toBeUndefined();
    expect(max).toEqual({ gpus: 28, costPerHour: undefined });
  });
});

describe('the bill', () => {
  const app = new GitOpsApp({ cluster: Cluster.of({ leaderWorkerSet: true }) });
  const chart = new Chart(app, 'c');
  const h100 = { accelerator: Accelerator.H100_SXM_80GB, gpusPerPod: 8, costPerReplicaHour: 100 };
  new ModelBooster(chart, 'wide', {
    source: ModelSource.huggingFace('meta-llama/Llama-3.1-405B-Instruct'),
    engine: Engine.vllm('0.32.0', { maxModelLen: 16_384 }),
    pools: { a: { ...h100, podsPerReplica: 2, replicas: between(1, 3) } },
    scaleOn: [Metric.runningRequests(16)],
  });
  new ModelBooster(chart, 'own', {
    source: ModelSource.folder('/model'),
    engine: Engine.custom({ image: 'r.example.com/own:1', port: 9000 }),
    pools: {
      a: {
        accelerator: Accelerator.of({ name: 'own', resourceName: 'example.com/gpu', memoryGiB: 64 }),
        gpusPerPod: 2,
        costPerReplicaHour: 3,
        replicas: 2,
      },
    },
  });

  it('counts all pods of a replica and the price of a replica once', () => {
    expect(app.bill().models[0]).toEqual({
      model: 'wide',
      min: { gpus: 16, costPerHour: 100 },
      max: { gpus: 48, costPerHour: 300 },
    });
  });

  it('counts accelerators that the catalogue does not have', () => {
    expect(app.bill().models[1]).toEqual({ model: 'own', min: { gpus: 4, costPerHour: 6 }, max: { gpus: 4, costPerHour: 6 } });
    expect(app.bill().lines[1]).toMatchObject({ path: 'c/own/a', accelerator: 'own' });
  });
});

describe('the pods of a ModelBooster', () => {
  const podsOf = (objects: ReturnType<typeof synth>, name: string): readonly Pod[] => {
    const plan = expandWorkload(objects.get('Deployment', name));
    return plan!.pods.map(({ pod }) => pod);
  };

  it('are read by the preview as what was asked for', () => {
    const objects = synth(sampleStack().models);
    const context = { modelServers: objects.ofKind('ModelServer'), modelRoutes: objects.ofKind('ModelRoute') };
    const [h100] = podsOf(objects, 'qwen3-8b-h100');
    expect(planEngine(h100!, context)).toMatchObject({
      engine: 'vllm',
      version: '0.32.0',
      model: 'Qwen/Qwen3-8B',
      servedModelNames: ['qwen3-8b'],
      port: 8000,
      maxModelLen: 32_768,
      tensorParallelSize: 2,
      gpus: 2,
      accelerator: 'H100-SXM-80GB',
      reportsCachedTokens: true,
    });
    expect(planEngine(h100!, context)!.shutdownTimeoutSeconds).toBeGreaterThan(0);
    expect(costPerHourOf(h100!)).toBe(8.2);
    const [sglang] = podsOf(objects, 'llama-h100');
    expect(planEngine(sglang!, context)).toMatchObject({
      engine: 'sglang',
      version: '0.5.23',
      model: 'meta-llama/Llama-3.1-8B-Instruct',
      servedModelNames: ['llama'],
      port: 30_000,
      reportsCachedTokens: true,
    });
  });

  const template = (objects: ReturnType<typeof synth>, name = 'm-a') =>
    (objects.get('Deployment', name).spec as { readonly template: PodTemplate }).template;
  const engineOf = (objects: ReturnType<typeof synth>) => template(objects).spec.containers[0]!;

  it('ask for as many GPUs as they are limited to, on nodes that have them', () => {
    const pools = { a: { accelerator: Accelerator.MI300X_192GB, gpusPerPod: 4 } };
    const { objects } = booster({ pools });
    const { limits, requests } = engineOf(objects).resources!;
    expect([limits!['amd.com/gpu'], requests!['amd.com/gpu']]).toEqual(['4', '4']);
    expect(template(objects).spec).toMatchObject({
      nodeSelector: Accelerator.MI300X_192GB.nodeSelector,
      tolerations: [{ key: 'amd.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
    });
  });

  it('may do the least: no token, no root, no capability, no writing outside of their own folders', () => {
    expect(template(booster().objects).spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true } },
      ],
    });
  });

  it('may do more, each by its name', () => {
    const security = {
      runAsImageUser: true,
      writableRootFilesystem: true,
      addCapabilities: ['IPC_LOCK'],
      serviceAccountName: 'engine',
    };
    const { spec } = template(booster({ pools: { a: { accelerator: L4, security } } }).objects);
    expect(spec).not.toHaveProperty('automountServiceAccountToken');
    expect(spec.serviceAccountName).toBe('engine');
    expect(spec.securityContext).not.toHaveProperty('runAsNonRoot');
    expect(spec.containers[0]!.securityContext).toMatchObject({
      capabilities: { add: ['IPC_LOCK'], drop: ['ALL'] },
      readOnlyRootFilesystem: false,
    });
  });

  it('may start as long as the model takes to arrive, and the rollout waits for that', () => {
    const startSeconds = (model: string) => {
      const { objects } = booster({
        source: ModelSource.huggingFace(model),
        pools: { a: { accelerator: Accelerator.MI300X_192GB } },
      });
      const { failureThreshold, periodSeconds } = engineOf(objects).startupProbe as {
        failureThreshold: number;
        periodSeconds: number;
      };
      const { progressDeadlineSeconds } = objects.get('Deployment', 'm-a').spec as { progressDeadlineSeconds: number };
      expect(progressDeadlineSeconds).toBeGreaterThan(failureThreshold * periodSeconds);
      return failureThreshold * periodSeconds;
    };
    const [small, large, unknown] = ['Qwen/Qwen2.5-0.5B-Instruct', 'meta-llama/Llama-3.3-70B-Instruct', 'somebody/something'].map(
      startSeconds,
    );
    expect(small).toBeLessThan(180);
    expect(large).toBeGreaterThan(1200);
    expect(unknown).toBe(1800);
  });

  it('finish their longest answer before they go', () => {
    const pools = { a: { accelerator: L4, longestAnswerTokens: 10_000 } };
    const grace = (objects: ReturnType<typeof synth>) => template(objects).spec.terminationGracePeriodSeconds as number;
    const short = grace(booster().objects);
    const { objects } = booster({ pools });
    expect(grace(objects)).toBeGreaterThan(2 * short - 60);
    const { args } = engineOf(objects) as unknown as { args: string[] };
    expect(Number(args[args.indexOf('--shutdown-timeout') + 1])).toBeLessThan(grace(objects));
    const sglang = booster({ pools, engine: Engine.sglang('0.5.23', { maxModelLen: 8192 }) }).objects;
    const [, seconds] = (engineOf(sglang).lifecycle as { preStop: { exec: { command: [string, string] } } }).preStop.exec.command;
    expect(Number(seconds)).toBeGreaterThan(grace(sglang) / 2);
    expect(Number(seconds)).toBeLessThan(grace(sglang));
  });

  it('wait by the kubelet where it can, without a program in the image', () => {
    const { models } = sampleStack();
    expect(template(synth(models), 'own-mi300x').spec.containers[0]!.lifecycle).toEqual({
      preStop: { sleep: { seconds: expect.any(Number) } },
    });
  });

  it('take tokens by reference and a claim read-only', () => {
    const objects = synth(sampleStack().models);
    expect(template(objects, 'qwen3-8b-h100').spec.containers[0]!.env).toContainEqual({
      name: 'HF_TOKEN',
      valueFrom: { secretKeyRef: { name: 'hf', key: 'token' } },
    });
    expect(template(objects, 'own-mi300x').spec).toMatchObject({
      volumes: expect.arrayContaining([{ name: 'model', persistentVolumeClaim: { claimName: 'weights', readOnly: true } }]),
    });
    expect((template(objects, 'own-mi300x').spec.containers[0] as unknown as { args: string[] }).args).toEqual([
      'serve',
      '--model=/models/own/v3',
      '--name=own',
    ]);
  });

  it('carry no version of this package, so that an upgrade restarts nobody', () => {
    const text = JSON.stringify(synth(sampleStack({ images: { registry: 'r.example.com', tag: '9.9.9' } }).models).all);
    const { version } = jest.requireActual<{ version: string }>('../../package.json');
    expect(text).not.toContain(`"${version}"`);
    expect(text).not.toContain('9.9.9');
  });

  it('keep every field of what is merged into them', () => {
    const app = new GitOpsApp();
    const chart = new Chart(app, 'c');
    const { pools } = new ModelBooster(chart, 'm', {
      source,
      engine: Engine.vllm('0.32.0', { maxModelLen: 8192 }),
      pools: { a: { accelerator: L4 } },
    });
    const toleration = { key: 'gpu', operator: 'Equal', value: 'llm', effect: 'NoSchedule' };
    pools.a.pod.merge({ tolerations: [toleration], containers: [{ name: 'engine', env: [{ name: 'NEW', value: '1' }] }] });
    const { spec } = template(synth(chart));
    expect(spec.tolerations).toContainEqual(toleration);
    expect(spec.containers[0]!.env).toContainEqual({ name: 'NEW', value: '1' });
  });

  it('roll out as the pool says', () => {
    const { objects } = booster({ pools: { a: { accelerator: L4, rollout: Rollout.surge(2) } } });
    expect(objects.get('Deployment', 'm-a').spec).toMatchObject({
      strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } },
    });
  });
});
