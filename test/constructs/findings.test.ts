import { ApiObject, Chart } from 'cdk8s';
import {
  Accelerator,
  AdmissionPolicies,
  AutoscalingPolicy,
  between,
  Cluster,
  Engine,
  GatewayRoute,
  GitOpsApp,
  type GitOpsAppProps,
  InferencePlatform,
  InferencePool,
  Metric,
  ModelBooster,
  ModelRoute,
  ModelServer,
  ModelSource,
  NetworkIsolation,
  Router,
  ServingGroup,
  type ServingGroupProps,
} from '../../constructs';
import { Findings } from '../../constructs/findings';

const L4 = Accelerator.L4_24GB;
const revision = 'b968826d9c46dd6066d109eabc6255188de91218';
const source = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision });
const engine = Engine.vllm('0.32.0', { maxModelLen: 8192 });
const unpriced = Accelerator.of({ name: 'own', resourceName: 'example.com/gpu', memoryGiB: 64 });
const group = (chart: Chart, id: string, props: Partial<ServingGroupProps> = {}) =>
  new ServingGroup(chart, id, { source, engine, accelerator: L4, ...props });
const withFlags = (...extraArgs: string[]) => Engine.vllm('0.32.0', { maxModelLen: 4096, extraArgs });
const pod = (chart: Chart, image: string) =>
  new ApiObject(chart, 'pod', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ image }] } });
const someServer = (chart: Chart) =>
  new ModelServer(chart, 'some-server', { engine: 'vLLM', podLabels: { app: 'some' }, port: 8000 });
const configMap = (chart: Chart, name: string, namespace?: string) =>
  new ApiObject(chart, namespace === undefined ? name : `${name}-${namespace}`, {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: namespace === undefined ? { name } : { name, namespace } },
  });
const claim = (chart: Chart, annotations: Record<string, string>) =>
  new ApiObject(chart, 'claim', { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'claim', annotations } });
const claimPod = (chart: Chart) =>
  new ApiObject(chart, 'pod', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ image: 'r/tools:1' }], volumes: [{ persistentVolumeClaim: { claimName: 'claim' } }] },
  });
const kthena = (presence: 'workload' | 'networking'): GitOpsAppProps => ({
  cluster: Cluster.of({ kthena: presence }),
  images: { registry: 'r.example.com', tag: '1' },
});

type Row = readonly [code: string, severity: string, stack: (chart: Chart) => void, line: RegExp, props?: GitOpsAppProps];

/** Every finding: its code and severity, the stack that has it, and how its line begins. */
const TABLE: readonly Row[] = [
  [
    'engine/unknown-flag',
    'warning',
    (c) => group(c, 'g', { engine: withFlags('--max-model-length', '1') }),
    /^c\/g: engine\.extraArgs: vLLM 0\.32\.0 has no flag --max-model-length; write --max-model-len/,
  ],
  [
    'engine/flag-twice',
    'error',
    (c) => group(c, 'g', { engine: withFlags('--max_model_len=1') }),
    /^c\/g: .*--max_model_len is already set/,
  ],
  [
    'engine/no-flag-table',
    'info',
    (c) => group(c, 'g', { engine: Engine.vllm('0.25.1', { maxModelLen: 8192 }) }),
    /^c\/g: engine: the catalogue has no flags of vLLM 0\.25\.1; those of 0\.20\.2 are used/,
  ],
  [
    'model/mutable-revision',
    'info',
    (c) => group(c, 'g', { source: ModelSource.huggingFace('a/b') }),
    /^c\/g: source\.revision: the model follows the default branch/,
  ],
  [
    'model/short-revision',
    'warning',
    (c) => group(c, 'g', { source: ModelSource.huggingFace('a/b', { revision: '9c925d64' }) }),
    /^c\/g: .*9c925d64 is part of a commit id/,
  ],
  ['model/no-pool', 'error', (c) => new ModelBooster(c, 'm', { source, engine, pools: {} }), /^c\/m: pools: is empty/],
  [
    'workload/cannot-express',
    'error',
    (c) => group(c, 'g', { podsPerReplica: 2, workload: 'Deployment', parallelism: { tensor: 1, pipeline: 1 } }),
    /^c\/g: podsPerReplica: podsPerReplica is 2, which a Deployment cannot do; a LeaderWorkerSet can/,
  ],
  [
    'scaling/no-scaler',
    'warning',
    (c) => group(c, 'g', { replicas: between(1, 2) }),
    /^c\/g: replicas: between\(1, 2\), and nothing scales it/,
  ],
  [
    'scaling/no-cost',
    'error',
    (c) =>
      new ModelBooster(c, 'm', {
        source,
        engine,
        pools: { a: { accelerator: L4, replicas: between(1, 2) }, b: { accelerator: unpriced, replicas: 1 } },
        scaleOn: [Metric.waitingRequests(1)],
      }),
    /^c\/m\/Policy: costPerReplicaHour: the price of a replica of m-b is not known/,
  ],
  [
    'scaling/metric-missing',
    'error',
    (c) =>
      new ModelBooster(c, 'm', {
        source,
        engine: Engine.custom({ image: 'i:1', port: 1 }),
        pools: { a: { accelerator: L4, replicas: between(1, 2) } },
        scaleOn: [Metric.waitingRequests(1)],
      }),
    /^c\/m\/Policy: metrics: the custom engine i:1, .* names no metric for waiting-requests/,
  ],
  [
    'images/not-given',
    'error',
    (c) => new Router(c, 'r'),
    /^c\/r: image: nothing says where the image kvasir-router is/,
    { images: {} },
  ],
  [
    'images/mutable-tag',
    'warning',
    (c) => pod(c, 'tools'),
    /^c\/pod \(Pod default\/p\): spec\.containers\[0\]\.image: tools has no tag/,
  ],
  ['images/mutable-tag', 'warning', (c) => pod(c, 'r.example.com:5000/tools:latest'), /the moving tag latest/],
  [
    'secrets/in-output',
    'error',
    (c) => new ApiObject(c, 's', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } }),
    /^c\/s \(Secret default\/s\): stringData/,
  ],
  [
    'gitops/file-case',
    'error',
    (c) => [configMap(c, 'a'), configMap(c, 'A')],
    /^c\/A \(ConfigMap default\/A\): would overwrite c\/ConfigMap\.a\.yaml of c\/a .* where letters' case/,
  ],
  [
    'gitops/duplicate-file',
    'error',
    (c) => ['x', 'y'].map((namespace) => configMap(c, 'a', namespace)),
    /^c\/a-y \(ConfigMap y\/a\): would overwrite c\/ConfigMap\.a\.yaml of c\/a-x \(ConfigMap x\/a\); /,
  ],
  [
    'references/duplicate',
    'error',
    (c) => [configMap(c, 'a'), configMap(new Chart(c, 'd'), 'a')],
    /^c\/d\/a \(ConfigMap default\/a\)/,
  ],
  [
    'routing/missing-server',
    'error',
    (c) => new ModelRoute(c, 'r').splitTraffic([{ server: 'nobody' }]),
    /^c\/r\/Resource \(ModelRoute default\/r\): spec\.rules\[0\].*"?nobody"?/,
  ],
  [
    'routing/no-pods',
    'warning',
    (c) => new ModelServer(c, 's', { engine: 'vLLM', podLabels: { app: 'x' }, port: 8000 }),
    /^c\/s\/Resource \(ModelServer default\/s\): .*app=x/,
  ],
  [
    'autoscaling/min-above-max',
    'error',
    (c) =>
      new ModelBooster(c, 'm', {
        source,
        engine,
        pools: { a: { accelerator: L4, replicas: between(3, 2) } },
        scaleOn: [Metric.waitingRequests(1)],
      }),
    /^c\/m\/Policy\/Resource \(AutoscalingPolicy default\/m\): .*3.*2/,
  ],
  [
    'autoscaling/two-scalers',
    'error',
    (c) => {
      const target = group(c, 'g', { replicas: between(1, 2) });
      for (const id of ['a', 'b'])
        new AutoscalingPolicy(c, id, { target, replicas: target.replicas, metrics: [Metric.waitingRequests(1)] });
    },
    /^c\/b\/Resource \(AutoscalingPolicy default\/b\)/,
  ],
  [
    'config/unknown-field',
    'error',
    (c) => new Router(c, 'r', { image: 'i:1', config: { drain: { timeout: 1 } as object } }),
    /^c\/r: config\.drain\.timeout: is no field/,
  ],
  [
    'sync-wave/deadlock',
    'error',
    (c) => {
      claim(c, { 'argocd.argoproj.io/sync-wave': '-1' });
      claimPod(c);
    },
    /^c\/claim \(PersistentVolumeClaim default\/claim\): metadata\.annotations: is in sync wave -1, and c\/pod \(Pod default\/p\), .* in wave 0/,
  ],
  [
    'coexistence/two-autoscalers',
    'error',
    (c) => new InferencePlatform(c, 'p', { router: false, autoscaler: {} }),
    /^c\/p\/Autoscaler: Kthena's controllers scale by the same policies/,
    kthena('workload'),
  ],
  [
    'coexistence/leader-worker-set',
    'error',
    (c) =>
      new ApiObject(c, 'lws', { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', metadata: { name: 'l' } }),
    /^c\/lws \(LeaderWorkerSet default\/l\): Kthena's controllers make a ModelServing/,
    kthena('workload'),
  ],
  [
    'coexistence/definition',
    'error',
    (c) =>
      new ApiObject(c, 'crd', {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'modelroutes.networking.serving.volcano.sh' },
      }),
    /^c\/crd .*: Kthena installs this definition/,
    kthena('networking'),
  ],
  [
    'config/auth-incomplete',
    'error',
    (c) => new Router(c, 'r', { image: 'i:1', config: { auth: { jwksUri: 'https://id.example.com/keys' } } }),
    /^c\/r: config\.auth\.jwksUri: has keys, and issuer does not say whose tokens are taken; /,
  ],
  [
    'config/auth-plain-http',
    'warning',
    (c) => new Router(c, 'r', { image: 'i:1', jwt: { issuer: 'me', jwksUri: 'http://id.example.com/keys' } }),
    /^c\/r: config\.auth\.jwksUri: "http:\/\/id\.example\.com\/keys" is fetched without TLS/,
  ],
  [
    'router/unreadable-secrets',
    'warning',
    (c) => new Router(c, 'r', { image: 'i:1', config: { auth: { apiKeys: {} } } }),
    /^c\/r: config\.auth\.apiKeys\.secrets: is empty, and the router has no rights on Secrets /,
  ],
  [
    'routing/gateways-not-served',
    'info',
    (c) => new ModelRoute(c, 'r', { parentRefs: [{ name: 'g' }] }).splitTraffic([{ server: someServer(c) }]),
    /^c\/r: spec\.parentRefs: this version of the router serves no Gateway/,
  ],
  [
    'gateway/foreign-backend',
    'error',
    (c) => {
      const other = new Chart(c.node.root, 'other', { namespace: 'other' });
      const pool = new InferencePool(other, 'pool', { podLabels: { a: 'b' }, port: 1, picker: { name: 'p' } });
      new GatewayRoute(c, 'r', { gateways: [{ name: 'g' }], backends: [{ service: 'x' }, { pool }] });
    },
    /^c\/r: backends\[1\]: other\/pool is in namespace other, and the route in default/,
  ],
  [
    'admission/cluster-too-old',
    'error',
    (c) => new AdmissionPolicies(c, 'a'),
    /^c\/a: the cluster is older than Kubernetes 1\.30/,
  ],
  [
    'isolation/made-too-early',
    'error',
    (c) => {
      new NetworkIsolation(c, 'i');
      new Router(c, 'r', { image: 'i:1' });
    },
    /^c\/i: kvasir-router came after it/,
  ],
  [
    'isolation/host-network',
    'warning',
    (c) => {
      new Router(c, 'r', { image: 'i:1' }).pod.merge({ hostNetwork: true });
      new NetworkIsolation(c, 'i');
    },
    /^c\/i: the pods of Deployment kvasir-router use the network of their node/,
  ],
  [
    'isolation/uncovered',
    'info',
    (c) => {
      pod(c, 'r.example.com/tools:1');
      new NetworkIsolation(c, 'i');
    },
    /^c\/i: the pods of Pod p may only resolve names/,
  ],
  ['construct/validation', 'error', (c) => c.node.addValidation({ validate: () => ['odd'] }), /^c: odd/],
  [
    'coexistence/router',
    'error',
    (c) => new InferencePlatform(c, 'p'),
    /^c\/p\/Router: Kthena's router serves every ModelRoute/,
    kthena('networking'),
  ],
  [
    'coexistence/policy-target',
    'error',
    (c) =>
      new ModelBooster(c, 'm', {
        source,
        engine,
        pools: { a: { accelerator: L4, replicas: between(1, 2) } },
        scaleOn: [Metric.waitingRequests(1)],
      }),
    /^c\/m\/Policy: Kthena's admission refuses a policy on a Deployment/,
    kthena('workload'),
  ],
];

describe('what synth finds', () => {
  it.each(TABLE.map((row) => [row[0], row[1], row] as const))('%s is %s', (code, severity, [, , stack, line, props]) => {
    const lines: string[] = [];
    const app = new GitOpsApp({ outdir: '/nonexistent/never-written', report: (text) => lines.push(text), ...props });
    stack(new Chart(app, 'c'));
    const { open } = app.check();
    const found = open.filter((finding) => finding.code === code);
    expect(found.map((finding) => finding.severity)).toEqual([severity]);
    expect(
      `${found[0]!.object}${found[0]!.field === undefined ? '' : `: ${found[0]!.field}`}: ${found[0]!.message}; ${found[0]!.remedy}`,
    ).toMatch(line);
    expect(open.filter((finding) => finding.severity === 'error' && finding.code !== code)).toEqual([]);
  });

  it.each([
    ['workload/parallelism', (c: Chart) => group(c, 'g', { parallelism: { tensor: 2 } })],
    ['gitops/file-case', (c: Chart) => [configMap(c, 'a'), configMap(c, 'A')]],
  ])('says %s once, not once more about the objects', (code, stack) => {
    const app = new GitOpsApp();
    stack(new Chart(app, 'c'));
    expect(app.check().open.map((finding) => finding.code)).toEqual([code]);
  });

  it('does not call an invalid object missing as well', () => {
    const app = new GitOpsApp();
    const chart = new Chart(app, 'c');
    const server = new ModelServer(chart, 's', { engine: 'vLLM', podLabels: { app: 'x' }, port: 0 });
    new ModelRoute(chart, 'r').splitTraffic([{ server }]);
    const { open } = app.check();
    expect(open.filter(({ severity }) => severity === 'error').map(({ object }) => object)).toEqual([
      'c/s/Resource (ModelServer default/s)',
    ]);
  });

  it('finds nothing in a sound stack', () => {
    const app = new GitOpsApp({ images: { registry: 'r.example.com', tag: '1' }, strict: true });
    new InferencePlatform(new Chart(app, 'system', { namespace: 'system' }), 'p');
    new ModelBooster(new Chart(app, 'models'), 'm', {
      source,
      engine,
      pools: { a: { accelerator: L4, replicas: between(1, 2) } },
      scaleOn: [Metric.waitingRequests(1)],
    });
    expect(app.check()).toEqual({ open: [], acknowledged: [] });
  });
});

describe('Findings.acknowledge', () => {
  const app = new GitOpsApp();
  const chart = new Chart(app, 'c');
  pod(chart, 'tools');

  it('covers everything under the construct, and nothing beside it', () => {
    const findings = new Findings();
    findings.acknowledge('images/mutable-tag', chart, 'a sandbox');
    const finding = { code: 'images/mutable-tag', severity: 'warning', message: 'm', remedy: 'r' } as const;
    expect(findings.sort([{ construct: chart.node.children[0]!, finding }]).open).toEqual([]);
    expect(findings.sort([{ construct: app, finding }]).open.map(({ code }) => code)).toEqual([
      'images/mutable-tag',
      'findings/unused-acknowledgement',
    ]);
  });

  it.each([
    ['no reason', 'images/mutable-tag', ' ', /needs a reason/],
    ['a finding that protects the folder', 'gitops/duplicate-file', 'why not', /cannot be acknowledged/],
  ])('refuses %s', (_, code, reason, message) => {
    expect(() => new Findings().acknowledge(code, chart, reason)).toThrow(message);
  });
});
