import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Chart } from 'cdk8s';
import {
  Accelerator,
  ArgoApplication,
  between,
  Cluster,
  Engine,
  Gang,
  GitOpsApp,
  InferencePool,
  KvConnector,
  Metric,
  ModelBooster,
  type ModelBoosterProps,
  ModelSource,
  PDGroup,
  type PDGroupProps,
  Rollout,
} from '../../constructs';
import { type AnyObject, matchers, synth } from '../../constructs/testing';
import type { PodTemplate } from '../../constructs/workload/pod-template';

expect.extend(matchers);

const H100 = Accelerator.H100_SXM_80GB;
const source = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' });
const engine = Engine.vllm('0.32.0', { maxModelLen: 8192 });

function newChart() {
  const cluster = Cluster.of({ kubernetes: '1.31', volcano: true, leaderWorkerSet: true });
  const app = new GitOpsApp({ cluster, images: { registry: 'registry.example.com', tag: '1.0.0' } });
  return { app, chart: new Chart(app, 'models', { namespace: 'llm' }) };
}

function booster(props: Partial<ModelBoosterProps<string>> = {}) {
  const made = newChart();
  new ModelBooster(made.chart, 'm', {
    source,
    engine,
    pools: { a: { accelerator: H100, replicas: between(1, 4) } },
    scaleOn: [Metric.runningRequests(8)],
    ...props,
  });
  return { ...made, objects: synth(made.chart) };
}

function disaggregated(props: Partial<PDGroupProps> = {}) {
  const made = newChart();
  const role = { accelerator: H100, replicas: between(1, 4) };
  new PDGroup(made.chart, 'pd', { source, engine, prefill: role, decode: role, connector: KvConnector.nixl(), ...props });
  return { ...made, objects: synth(made.chart) };
}

type Fields = Readonly<Record<string, unknown>>;
const specOf = (object: AnyObject): Fields => object.spec as Fields;
const podOf = (object: AnyObject) => (specOf(object).template as PodTemplate).spec;

interface Target {
  readonly target: { readonly targetRef: { readonly kind: string; readonly name: string } };
  readonly minReplicas: number;
  readonly maxReplicas: number;
}
const targetsOf = (objects: ReturnType<typeof synth>): readonly Target[] =>
  objects.ofKind('AutoscalingPolicy').map(({ spec }) => spec.homogeneousTarget as unknown as Target);

/** What each test shows, by the number of the mistake in docs/mistakes.md. */
const SHOWN: Readonly<Record<number, () => void>> = {
  46: () => {
    const { objects } = disaggregated({ groups: 2 });
    const targets = targetsOf(objects);
    expect(targets.map(({ target }) => target.targetRef.name).sort()).toEqual([
      'pd-0-decode',
      'pd-0-prefill',
      'pd-1-decode',
      'pd-1-prefill',
    ]);
    expect(targets.map(({ minReplicas, maxReplicas }) => [minReplicas, maxReplicas])).toEqual(Array(4).fill([1, 4]));
  },

  50: () => {
    for (const made of [engine, Engine.sglang('0.5.23', { maxModelLen: 8192 })]) {
      const [deployment] = booster({ engine: made }).objects.ofKind('Deployment');
      const pod = podOf(deployment!);
      const { seconds } = (pod.containers[0]!.lifecycle as { preStop: { sleep: { seconds: number } } }).preStop.sleep;
      const args = pod.containers[0]!.args as readonly string[];
      const drain = args.includes('--shutdown-timeout') ? Number(args[args.indexOf('--shutdown-timeout') + 1]) : 0;
      // 4096 tokens at the pace of a busy pod take minutes.
      expect(seconds + drain).toBeGreaterThan(60);
      expect(pod.terminationGracePeriodSeconds as number).toBeGreaterThan(seconds + drain);
    }
  },

  51: () => {
    const stable = (props: Partial<ModelBoosterProps<string>>) => {
      const { objects } = booster(props);
      const [deployment] = objects.ofKind('Deployment');
      return [deployment!.metadata.name, specOf(deployment!).selector, targetsOf(objects)[0]!.target.targetRef];
    };
    const before = stable({});
    expect(stable({ engine: Engine.vllm('0.20.2', { maxModelLen: 4096, extraArgs: ['--enforce-eager'] }) })).toEqual(before);
    expect(stable({ pools: { a: { accelerator: H100, gpusPerPod: 2, replicas: between(1, 4) } } })).toEqual(before);
  },

  52: () => {
    const { objects } = booster({
      source: ModelSource.huggingFace('deepseek-ai/DeepSeek-V3'),
      pools: { a: { accelerator: H100, gpusPerPod: 8, podsPerReplica: 2, replicas: 2 } },
    });
    const [set] = objects.ofKind('LeaderWorkerSet');
    expect(specOf(set!)).toMatchObject({ leaderWorkerTemplate: { size: 2, restartPolicy: 'RecreateGroupOnPodRestart' } });
    expect(specOf(objects.get('PodDisruptionBudget', 'm-a'))).toMatchObject({
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    });
  },

  53: () => {
    const codesOf = (min: number, minReplicas?: number) => {
      const { app, chart } = newChart();
      const { pools } = new ModelBooster(chart, 'm', {
        source,
        engine,
        pools: { a: { accelerator: H100, replicas: between(min, 4) } },
        scaleOn: [Metric.runningRequests(8)],
      });
      new Gang(chart, 'gang', { scheduler: 'volcano', members: [{ group: pools.a, minReplicas }] });
      return app
        .check()
        .open.filter(({ severity }) => severity === 'error')
        .map(({ code }) => code);
    };
    expect(codesOf(2, 3)).toEqual(['gang/more-than-minimum']);
    expect(codesOf(0)).toEqual(['gang/empty']);
    expect(codesOf(2)).toEqual([]);
  },

  54: () => {
    const members = (count: number) => {
      const { chart } = newChart();
      const groups = ['a', 'b', 'c'].slice(0, count).map((name) => {
        const { pools } = new ModelBooster(chart, name, { source, engine, pools: { p: { accelerator: H100, replicas: 2 } } });
        return { group: pools.p, role: name };
      });
      new Gang(chart, 'gang', { scheduler: 'volcano', members: groups });
      const [podGroup] = synth(chart).ofKind('PodGroup');
      const { minMember, subGroupPolicy } = specOf(podGroup!) as { minMember: number; subGroupPolicy: { name: string }[] };
      return { minMember, roles: subGroupPolicy.map(({ name }) => name) };
    };
    expect(members(3)).toEqual({ minMember: 6, roles: ['a', 'b', 'c'] });
    expect(members(2)).toEqual({ minMember: 4, roles: ['a', 'b'] });
  },

  55: () => {
    const [deployment] = booster().objects.ofKind('Deployment');
    const { strategy, progressDeadlineSeconds } = specOf(deployment!) as { strategy: object; progressDeadlineSeconds: number };
    expect(strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
    const { failureThreshold, periodSeconds } = podOf(deployment!).containers[0]!.startupProbe as {
      failureThreshold: number;
      periodSeconds: number;
    };
    expect(progressDeadlineSeconds).toBeGreaterThan(failureThreshold * periodSeconds);
    const { app, chart } = newChart();
    new ModelBooster(chart, 'm', {
      source,
      engine: Engine.vllm('0.32.0', { maxModelLen: 8192, image: 'own/vllm:latest' }),
      pools: { a: { accelerator: H100 } },
    });
    expect(app.check().open.map(({ code }) => code)).toEqual(['images/mutable-tag']);
  },

  56: () => {
    const pools = { a: { accelerator: H100, replicas: 2, rollout: Rollout.surge(1) } };
    const { objects } = booster({ pools });
    expect(objects).toContainObject({
      kind: 'Deployment',
      spec: { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
    });
    expect(objects).toContainObject({ kind: 'PodDisruptionBudget', spec: { maxUnavailable: 1 } });
  },

  57: () => {
    const { app, chart } = newChart();
    new ModelBooster(chart, 'm', {
      source,
      engine,
      pools: { a: { accelerator: H100, replicas: between(1, 4) } },
      scaleOn: [Metric.runningRequests(8)],
    });
    const folder = { repoUrl: 'https://git.example.com/platform.git', path: 'prod' };
    new ArgoApplication(new Chart(app, 'argocd', { namespace: 'argocd' }), 'platform', { source: folder });
    const objects = synth(app);
    expect(specOf(objects.get('Deployment', 'm-a'))).not.toHaveProperty('replicas');
    const application = specOf(objects.get('Application', 'platform'));
    expect(application.ignoreDifferences).toContainEqual({
      group: 'apps',
      kind: 'Deployment',
      name: 'm-a',
      namespace: 'llm',
      jsonPointers: ['/spec/replicas'],
    });
    expect((application.syncPolicy as Fields).syncOptions).toContain('RespectIgnoreDifferences=true');
  },

  58: () => {
    const { chart } = newChart();
    new InferencePool(chart, 'pool', { podLabels: { app: 'm' }, port: 8000, picker: { name: 'picker' } });
    expect(synth(chart).get('InferencePool', 'pool').apiVersion).toBe('inference.networking.k8s.io/v1');
  },

  59: () => {
    const { chart } = newChart();
    const { pools } = new ModelBooster(chart, 'm', {
      source,
      engine,
      pools: { a: { accelerator: H100, replicas: between(1, 4), memoryGiB: 2048 } },
      scaleOn: [Metric.runningRequests(8)],
    });
    pools.a.pod.merge({
      containers: [{ name: 'engine', resources: { requests: { cpu: '8000m' } }, ports: [{ containerPort: 9100 }] }],
    });
    const objects = synth(chart);
    const { resources, ports } = podOf(objects.get('Deployment', 'm-a')).containers[0]!;
    expect(resources!.requests).toEqual({ cpu: '8', memory: '2Ti', 'nvidia.com/gpu': '1' });
    expect((ports as { protocol: string }[]).map(({ protocol }) => protocol)).toEqual(['TCP', 'TCP']);
    expect(objects.get('AutoscalingPolicy', 'm').spec).toMatchObject({
      tolerancePercent: 10,
      behavior: { scaleUp: { stablePolicy: { selectPolicy: 'Or' } }, scaleDown: { stabilizationWindow: '5m' } },
    });
  },
};

const rows = [
  ...readFileSync(join(__dirname, '../../docs/mistakes.md'), 'utf8').matchAll(/^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm),
].map(([, number, mistake, kind]) => ({ number: Number(number), mistake: mistake!, kind: kind! }));

describe('docs/mistakes.md', () => {
  it('lists the sixteen mistakes, each of one kind', () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 16 }, (_, i) => 44 + i));
    for (const { kind } of rows) expect(['synth error', 'emitted safeguard', 'run-time matter']).toContain(kind);
  });

  it('has a test for each that synth prevents, and for no other', () => {
    const prevented = rows.filter(({ kind }) => kind !== 'run-time matter').map(({ number }) => number);
    expect(Object.keys(SHOWN).map(Number)).toEqual(prevented);
  });
});

describe('does not happen:', () => {
  it.each(rows.filter(({ number }) => SHOWN[number] !== undefined))('$number, $mistake ($kind)', ({ number }) => {
    SHOWN[number]!();
  });
});
