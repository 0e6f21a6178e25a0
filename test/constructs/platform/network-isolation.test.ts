import { ApiObject, Chart } from 'cdk8s';
import {
  Accelerator,
  Engine,
  GitOpsApp,
  InferencePlatform,
  KubeAutoscalingPolicy,
  KubeModelServer,
  ModelBooster,
  ModelCache,
  type ModelDownload,
  ModelSource,
  NetworkIsolation,
  type NetworkIsolationProps,
  type NetworkPolicySpec,
  Redis,
  SecretRef,
} from '../../../constructs';
import { type SynthesizedObjects, synth } from '../../../constructs/testing';
import { coreObjectProblems } from '../../helpers/core-object-problems';

const L40S = Accelerator.L40S_48GB;
const HUB = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' });
const CLAIM = ModelSource.pvc('weights', 'qwen', { shape: 'Qwen/Qwen3-8B' });

interface Options {
  readonly engine?: Engine;
  readonly source?: ModelSource;
  readonly props?: NetworkIsolationProps;
  readonly before?: (models: Chart, system: Chart) => void;
  readonly after?: (models: Chart, system: Chart) => void;
}

/** A platform in namespace `kvasir` and a model `chat` in namespace `llm`, both isolated. */
function stack({ engine = Engine.vllm('0.32.0'), source = HUB, props, before, after }: Options = {}) {
  const app = new GitOpsApp({ images: { registry: 'r.example.com', tag: '1' } });
  const system = new Chart(app, 'system', { namespace: 'kvasir' });
  new InferencePlatform(system, 'platform', { crds: 'external' });
  const models = new Chart(app, 'models', { namespace: 'llm' });
  const chat = new ModelBooster(models, 'chat', { source, engine, pools: { l4: { accelerator: L40S } } });
  before?.(models, system);
  const isolations = [system, models].map((chart) => new NetworkIsolation(chart, 'isolation', props));
  after?.(models, system);
  return { app, chat, isolations, system, models };
}

const policies = ({ isolations }: ReturnType<typeof stack>): readonly SynthesizedObjects[] =>
  isolations.map((each) => synth(each));
const specOf = (objects: SynthesizedObjects, name: string) => objects.get('NetworkPolicy', name).spec as NetworkPolicySpec;
const pods = (namespace: string, labels: Readonly<Record<string, string>>) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  podSelector: { matchLabels: labels },
});
const tcp = (...ports: number[]) => ports.map((port) => ({ protocol: 'TCP', port }));

const ROUTER = pods('kvasir', { app: 'kvasir-router' });
const AUTOSCALER = pods('kvasir', { app: 'kvasir-autoscaler' });
const PROMETHEUS = pods('monitoring', { 'app.kubernetes.io/name': 'prometheus' });
const CHAT = { 'kvasir.dev/model': 'chat' };
const INTERNET = {
  ipBlock: {
    cidr: '0.0.0.0/0',
    except: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16'],
  },
};
const API_SERVER = {
  to: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'].map((cidr) => ({ ipBlock: { cidr } })),
  ports: tcp(443, 6443),
};

describe('NetworkIsolation', () => {
  const [system, models] = policies(stack()) as [SynthesizedObjects, SynthesizedObjects];

  it('closes both namespaces, each with a policy for what runs there, of the core API', () => {
    const names = (objects: SynthesizedObjects) => objects.all.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(names(system)).toEqual([
      'kvasir/kvasir-default-deny',
      'kvasir/kvasir-kvasir-router',
      'kvasir/kvasir-kvasir-autoscaler',
    ]);
    expect(names(models)).toEqual(['llm/kvasir-default-deny', 'llm/kvasir-server-chat']);
    expect([...system.all, ...models.all].flatMap(coreObjectProblems)).toEqual([]);
  });

  it('leaves every pod the resolution of names, and nothing else', () => {
    for (const objects of [system, models]) {
      expect(specOf(objects, 'kvasir-default-deny')).toEqual({
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
        egress: [
          {
            to: [pods('kube-system', { 'k8s-app': 'kube-dns' }), { ipBlock: { cidr: '169.254.20.10/32' } }],
            ports: [
              { protocol: 'UDP', port: 53 },
              { protocol: 'TCP', port: 53 },
            ],
          },
        ],
      });
    }
  });

  it('lets the router take requests from everybody, show its metrics, and reach API server and engines', () => {
    expect(specOf(system, 'kvasir-kvasir-router')).toEqual({
      podSelector: { matchLabels: { app: 'kvasir-router' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: tcp(8080) }, { from: [PROMETHEUS, AUTOSCALER], ports: tcp(9090) }],
      egress: [API_SERVER, { to: [pods('llm', CHAT)], ports: tcp(8000) }],
    });
  });

  it('lets the autoscaler show its metrics, and reach API server and the metrics of engines and routers', () => {
    expect(specOf(system, 'kvasir-kvasir-autoscaler')).toEqual({
      podSelector: { matchLabels: { app: 'kvasir-autoscaler' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [PROMETHEUS], ports: tcp(9090) }],
      egress: [API_SERVER, { to: [pods('llm', CHAT)], ports: tcp(8000) }, { to: [ROUTER], ports: tcp(9090) }],
    });
  });

  it('lets engines be asked by router, autoscaler and Prometheus, and download their model', () => {
    expect(specOf(models, 'kvasir-server-chat')).toEqual({
      podSelector: { matchLabels: CHAT },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [ROUTER, AUTOSCALER, PROMETHEUS], ports: tcp(8000) }],
      egress: [{ to: [INTERNET], ports: tcp(443) }],
    });
  });

  it.each<[string, Options, number]>([
    ['a flag of vLLM', { engine: Engine.vllm('0.32.0', { port: 8123 }) }, 8123],
    ['the default of SGLang', { engine: Engine.sglang('0.5.23') }, 30_000],
    ['the port of a custom engine', { engine: Engine.custom({ image: 'r.example.com/own:1', port: 9000 }) }, 9000],
  ])('opens the port that engines have by %s, on both sides', (_, options, port) => {
    const [platform, engines] = policies(stack(options)) as [SynthesizedObjects, SynthesizedObjects];
    expect(specOf(engines, 'kvasir-server-chat').ingress![0]!.ports).toEqual(tcp(port));
    expect(specOf(platform, 'kvasir-kvasir-router').egress!.at(-1)!.ports).toEqual(tcp(port));
  });

  it.each<[string, Options, readonly unknown[] | undefined]>([
    ['none for a model on a claim', { source: CLAIM }, undefined],
    [
      'none for a custom engine with its model on a claim',
      { source: CLAIM, engine: Engine.custom({ image: 'r.example.com/own:1', argv: ['serve'], port: 9000 }) },
      undefined,
    ],
    ['none when none may be', { props: { downloads: 'none' } }, undefined],
    [
      'those to a mirror',
      { props: { downloads: ['10.1.0.0/16'] } },
      [{ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: tcp(443) }],
    ],
  ])('allows of downloads %s', (_, options, egress) => {
    expect(specOf(policies(stack(options))[1]!, 'kvasir-server-chat').egress).toEqual(egress);
  });

  it.each<[string, ModelCache, ModelDownload | undefined, boolean]>([
    ['the engine keeps what it downloads in a claim', ModelCache.existingClaim('cache'), undefined, true],
    ['an init container fills the claim', ModelCache.existingClaim('cache'), { image: 'r.example.com/downloader:1' }, true],
    ['a Job fills the claim', ModelCache.existingClaim('cache'), { image: 'r.example.com/downloader:1', by: 'job' }, false],
  ])('lets engines download, or the Job alone, when %s', (_, cache, download, byEngine) => {
    const cached = (chart: Chart) => {
      new ModelBooster(chart, 'kept', {
        source: HUB,
        engine: Engine.vllm('0.32.0'),
        pools: { l40s: { accelerator: L40S } },
        cache,
        download,
      });
    };
    const [, engines] = policies(stack({ before: cached })) as [SynthesizedObjects, SynthesizedObjects];
    const outside = [{ to: [INTERNET], ports: tcp(443) }];
    expect(specOf(engines, 'kvasir-server-kept').egress).toEqual(byEngine ? outside : undefined);
    const job = engines.all.find(({ metadata }) => metadata.name.startsWith('kvasir-job-kept-download-'));
    expect(job?.spec).toEqual(
      download?.by === 'job'
        ? { podSelector: { matchLabels: { app: 'kept-download' } }, policyTypes: ['Ingress', 'Egress'], egress: outside }
        : undefined,
    );
  });

  it('takes clients, Prometheus and API server as they are', () => {
    const clients = [pods('edge', { app: 'gateway' })];
    const apiServer = { cidrs: ['203.0.113.7/32'], ports: [443] };
    const [platform, engines] = policies(stack({ props: { clients, apiServer, prometheus: false } })) as [
      SynthesizedObjects,
      SynthesizedObjects,
    ];
    expect(specOf(platform, 'kvasir-kvasir-router')).toMatchObject({
      ingress: [
        { from: clients, ports: tcp(8080) },
        { from: [AUTOSCALER], ports: tcp(9090) },
      ],
      egress: [{ to: [{ ipBlock: { cidr: '203.0.113.7/32' } }], ports: tcp(443) }, {}],
    });
    expect(specOf(engines, 'kvasir-server-chat').ingress![0]!.from).toEqual([ROUTER, AUTOSCALER]);
  });

  it('lets others ask engines when they are named', () => {
    const kthena = pods('kthena-system', { app: 'kthena-router' });
    const [, engines] = policies(stack({ props: { engineClients: [kthena] } })) as [SynthesizedObjects, SynthesizedObjects];
    expect(specOf(engines, 'kvasir-server-chat').ingress![0]!.from).toEqual([ROUTER, AUTOSCALER, PROMETHEUS, kthena]);
  });

  it('knows who was made after it in other namespaces, and sees it anew in each synth', () => {
    const { app, isolations } = stack();
    const redis = () =>
      specOf(synth(isolations[0]!), 'kvasir-kvasir-router').egress!.filter(({ ports }) => ports![0]!.port === 6379);
    expect(redis()).toEqual([]);
    new Redis(new Chart(app, 'other', { namespace: 'other' }), 'redis', { password: SecretRef.existing('r', 'p') });
    expect(redis()).toEqual([{ to: [pods('other', { app: 'kvasir-redis' })], ports: tcp(6379) }]);
  });

  it('opens Redis to routers only', () => {
    const redis = (_: Chart, chart: Chart) => {
      new Redis(chart, 'redis', { password: SecretRef.existing('r', 'p') });
    };
    const [platform] = policies(stack({ before: redis })) as [SynthesizedObjects];
    expect(specOf(platform, 'kvasir-kvasir-redis')).toEqual({
      podSelector: { matchLabels: { app: 'kvasir-redis' } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [ROUTER], ports: tcp(6379) }],
    });
    expect(specOf(platform, 'kvasir-kvasir-router').egress!.at(-1)).toEqual({
      to: [pods('kvasir', { app: 'kvasir-redis' })],
      ports: tcp(6379),
    });
  });

  it('lets the autoscaler query a Prometheus that a policy names', () => {
    const serverURL = 'http://prometheus.monitoring.svc:9090';
    const byQuery = (chart: Chart) =>
      new KubeAutoscalingPolicy(chart, 'policy', {
        metadata: { name: 'policy' },
        spec: {
          metrics: [{ name: 'load', targetValue: 1 }],
          homogeneousTarget: {
            target: {
              targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat-l4' },
              metricSources: { load: { prometheus: { serverURL, query: 'load' } } },
            },
            minReplicas: 1,
            maxReplicas: 2,
          },
        },
      });
    const [platform] = policies(stack({ before: byQuery })) as [SynthesizedObjects];
    expect(specOf(platform, 'kvasir-kvasir-autoscaler').egress!.at(-1)).toEqual({ to: [PROMETHEUS], ports: tcp(9090) });
  });

  it('lets leader, workers, prefill and decode talk to each other, the pods that no router asks too', () => {
    const workload = (chart: Chart) => {
      const template = (role: string) => ({
        metadata: { labels: { app: 'big', role } },
        spec: { containers: [{ name: 'engine', image: 'r.example.com/engine:1' }] },
      });
      new ApiObject(chart, 'lws', {
        apiVersion: 'leaderworkerset.x-k8s.io/v1',
        kind: 'LeaderWorkerSet',
        metadata: { name: 'big' },
        spec: { leaderWorkerTemplate: { size: 2, leaderTemplate: template('leader'), workerTemplate: template('worker') } },
      });
      new KubeModelServer(chart, 'big', {
        metadata: { name: 'big' },
        spec: {
          inferenceEngine: 'vLLM',
          workloadSelector: { matchLabels: { app: 'big', role: 'leader' } },
          workloadPort: { port: 8000 },
        },
      });
    };
    const [, engines] = policies(stack({ before: workload })) as [SynthesizedObjects, SynthesizedObjects];
    const group = { app: 'big', 'leaderworkerset.sigs.k8s.io/name': 'big' };
    expect(specOf(engines, 'kvasir-server-big')).toMatchObject({
      podSelector: { matchLabels: { app: 'big', role: 'leader' } },
      ingress: [{ ports: tcp(8000) }],
    });
    expect(specOf(engines, 'kvasir-group-big')).toEqual({
      podSelector: { matchLabels: group },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ podSelector: { matchLabels: group } }] }],
      egress: [{ to: [{ podSelector: { matchLabels: group } }] }, { to: [INTERNET], ports: tcp(443) }],
    });
  });

  it('takes prefill and decode for one group, before and after a rollout, though each is a Deployment', () => {
    const disaggregated = (chart: Chart) => {
      for (const role of ['prefill', 'decode']) {
        new ApiObject(chart, role, {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: role },
          spec: {
            selector: { matchLabels: { app: role } },
            template: {
              metadata: { labels: { app: role, model: 'pd', 'kvasir.dev/kv-revision': 'abc' } },
              spec: { containers: [{ name: 'engine', image: 'r.example.com/engine:1' }] },
            },
          },
        });
      }
      new KubeModelServer(chart, 'pd', {
        metadata: { name: 'pd' },
        spec: {
          inferenceEngine: 'vLLM',
          workloadSelector: {
            matchLabels: { model: 'pd' },
            pdGroup: { groupKey: 'model', prefillLabels: { app: 'prefill' }, decodeLabels: { app: 'decode' } },
          },
          workloadPort: { port: 8000 },
        },
      });
    };
    const [, engines] = policies(stack({ before: disaggregated })) as [SynthesizedObjects, SynthesizedObjects];
    expect(specOf(engines, 'kvasir-group-pd').podSelector).toEqual({ matchLabels: { model: 'pd' } });
  });
});

describe('the checks of NetworkIsolation', () => {
  const tools = (chart: Chart) =>
    new ApiObject(chart, 'tools', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'tools', labels: { app: 'tools' } },
      spec: { containers: [{ name: 'a', image: 'r.example.com/tools:1' }] },
    });
  const late = (chart: Chart) => {
    new ModelBooster(chart, 'late', { source: HUB, engine: Engine.vllm('0.32.0'), pools: { l4: { accelerator: L40S } } });
  };

  it.each<[string, Options, string, RegExp]>([
    ['what came too late', { after: late }, 'isolation/made-too-early', /late came after it/],
    ['pods that no policy opens', { before: tools }, 'isolation/uncovered', /Pod tools may only resolve names/],
  ])('name %s', (_, options, code, message) => {
    const found = stack(options)
      .app.check()
      .open.filter((finding) => finding.code.startsWith('isolation/'));
    expect(found).toMatchObject([{ code, object: 'models/isolation' }]);
    expect(found[0]!.message).toMatch(message);
  });

  it('name pods on the network of their node', () => {
    const { app, chat } = stack();
    chat.pools.l4!.pod.merge({ hostNetwork: true });
    const found = app.check().open.filter(({ code }) => code.startsWith('isolation/'));
    expect(found).toMatchObject([{ code: 'isolation/host-network', severity: 'warning', object: 'models/isolation' }]);
    expect(found[0]!.message).toContain('Deployment chat-l4');
  });

  it('find nothing in a sound stack', () => {
    expect(stack().app.check().open).toEqual([]);
  });
});
