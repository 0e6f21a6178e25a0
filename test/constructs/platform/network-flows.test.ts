import { ApiObject, Chart } from 'cdk8s';
import {
  Accelerator,
  Cluster,
  Engine,
  ExternalModelProvider,
  GitOpsApp,
  InferencePlatform,
  KubeAutoscalingPolicy,
  KvConnector,
  ModelBooster,
  ModelCache,
  ModelRoute,
  ModelSource,
  NetworkIsolation,
  type NetworkIsolationProps,
  PDGroup,
  Redis,
  type RouterProps,
  SecretRef,
} from '../../../constructs';
import type { KubeObject } from '../../../src/api/meta';
import { expandWorkload } from '../../../src/expand';
import { mayConnect, type NetworkEnd, type PlacedPolicy } from '../../helpers/network-policies';

const H100 = Accelerator.H100_SXM_80GB;
const HUB = ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' });
const CLAIM = ModelSource.pvc('weights', 'qwen', { shape: 'Qwen/Qwen3-8B' });
const JWKS = 'https://id.example.com/keys';

interface Options {
  readonly isolation?: NetworkIsolationProps;
  readonly router?: RouterProps;
  /** More in the system's chart and in the models'. */
  readonly more?: (system: Chart, models: Chart) => void;
}

/** Two namespaces with everything that talks, isolated. */
function stack({ isolation = {}, router = {}, more }: Options = {}) {
  const app = new GitOpsApp({
    cluster: Cluster.of({ leaderWorkerSet: true }),
    images: { registry: 'r.example.com', tag: '1' },
  });
  const system = new Chart(app, 'system', { namespace: 'kvasir' });
  new InferencePlatform(system, 'platform', { crds: 'external', router });
  new Redis(system, 'redis', { password: SecretRef.existing('r', 'p') });
  const models = new Chart(app, 'models', { namespace: 'llm' });
  const engine = Engine.vllm('0.32.0');
  const roles = { source: CLAIM, prefill: { accelerator: H100 }, decode: { accelerator: H100 } };
  new ModelBooster(models, 'chat', { source: HUB, engine, pools: { h100: { accelerator: H100 } } });
  new ModelBooster(models, 'big', { source: CLAIM, engine, pools: { h100: { accelerator: H100, podsPerReplica: 2 } } });
  new ModelBooster(models, 'bucket', {
    source: ModelSource.s3('s3://b/Qwen3-8B', { endpoint: 'http://minio.storage.svc:9000' }),
    engine,
    pools: { h100: { accelerator: H100 } },
    cache: ModelCache.existingClaim('cache'),
    download: { image: 'r.example.com/downloader:1', by: 'job' },
  });
  new PDGroup(models, 'nixl', { ...roles, engine, connector: KvConnector.nixl() });
  new PDGroup(models, 'mooncake', { ...roles, engine, connector: KvConnector.mooncake({ bootstrapPort: 8999 }) });
  new PDGroup(models, 'sglang', { ...roles, engine: Engine.sglang('0.5.23'), connector: KvConnector.sglang() });
  new PDGroup(models, 'lmcache', {
    ...roles,
    engine,
    connector: KvConnector.lmcache({ remoteUrl: 'redis://kv.stores.svc:6379' }),
  });
  more?.(system, models);
  for (const chart of [system, models]) new NetworkIsolation(chart, 'isolation', isolation);
  const objects = [system, models].flatMap((chart) => chart.toJson() as KubeObject[]);
  const policies = objects
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map((object): PlacedPolicy => ({ namespace: object.metadata.namespace!, spec: (object as unknown as PlacedPolicy).spec }));
  return { app, policies, ends: endsOf(objects) };
}

/** Pods of all workloads, by the workload's name; those of one with workers with their index. */
function endsOf(objects: readonly KubeObject[]): Readonly<Record<string, NetworkEnd>> {
  const ends: Record<string, NetworkEnd> = { ...OUTSIDE };
  for (const object of objects) {
    const pods = expandWorkload(object)?.pods ?? [];
    for (const [index, { pod }] of pods.entries()) {
      const ports = pod.spec.containers.flatMap((container) => container.ports ?? []);
      ends[object.kind === 'LeaderWorkerSet' ? `${object.metadata.name}/${index}` : object.metadata.name] = {
        namespace: object.metadata.namespace!,
        labels: pod.metadata.labels ?? {},
        portNames: Object.fromEntries(ports.map(({ name = '', containerPort }) => [name, containerPort])),
      };
    }
    if (object.kind !== 'Job') continue;
    const { template } = (
      object as unknown as { readonly spec: { readonly template: { readonly metadata: { labels: object } } } }
    ).spec;
    ends.job = { namespace: object.metadata.namespace!, labels: template.metadata.labels as Record<string, string> };
  }
  return ends;
}

const pod = (namespace: string, labels: Readonly<Record<string, string>>): NetworkEnd => ({ namespace, labels });
const OUTSIDE: Readonly<Record<string, NetworkEnd>> = {
  dns: pod('kube-system', { 'k8s-app': 'kube-dns' }),
  prometheus: pod('monitoring', { 'app.kubernetes.io/name': 'prometheus' }),
  stranger: pod('other', { app: 'stranger' }),
  neighbour: pod('llm', { app: 'neighbour' }),
  minio: pod('storage', { app: 'minio' }),
  'kv store': pod('stores', { app: 'kv' }),
  'issuer in the cluster': pod('auth', { app: 'issuer' }),
  'API server': { address: '10.96.0.1' },
  internet: { address: '93.184.215.14' },
  'cloud metadata': { address: '169.254.169.254' },
  'private network': { address: '10.1.2.3' },
  'Redis at 10.9.0.5': { address: '10.9.0.5' },
};

/** sentence, from, to, port, whether it may */
type Row = readonly [flow: string, from: string, to: string, port: number, may: boolean];

const check = ({ policies, ends }: ReturnType<typeof stack>, [, from, to, port]: Row): boolean => {
  const [source, target] = [ends[from], ends[to]];
  if (source === undefined || target === undefined) throw new Error(`no ${from} or ${to} among ${Object.keys(ends).join(', ')}`);
  return mayConnect(policies, source, target, port);
};

const YES = true;
const NO = false;

describe('flows through NetworkIsolation', () => {
  const plain = stack();

  it.each<Row>([
    ['names', 'chat-h100', 'dns', 53, YES],
    ['names', 'neighbour', 'dns', 53, YES],
    ['API server', 'kvasir-router', 'API server', 443, YES],
    ['API server', 'kvasir-autoscaler', 'API server', 6443, YES],
    ['API server', 'chat-h100', 'API server', 443, NO],
    ['own Redis', 'kvasir-router', 'kvasir-redis', 6379, YES],
    ['own Redis', 'kvasir-autoscaler', 'kvasir-redis', 6379, NO],
    ['own Redis', 'chat-h100', 'kvasir-redis', 6379, NO],
    ['requests', 'stranger', 'kvasir-router', 8080, YES],
    ['requests', 'kvasir-router', 'chat-h100', 8000, YES],
    ['requests', 'kvasir-router', 'sglang-0-decode', 30_000, YES],
    ['requests', 'stranger', 'chat-h100', 8000, NO],
    ['requests', 'neighbour', 'chat-h100', 8000, NO],
    ['another port of an engine', 'kvasir-router', 'chat-h100', 22, NO],
    ['metrics', 'prometheus', 'kvasir-router', 9090, YES],
    ['metrics', 'prometheus', 'kvasir-autoscaler', 9090, YES],
    ['metrics', 'prometheus', 'nixl-0-prefill', 8000, YES],
    ['metrics', 'kvasir-autoscaler', 'nixl-0-decode', 8000, YES],
    ['metrics', 'kvasir-autoscaler', 'kvasir-router', 9090, YES],
    ['metrics', 'stranger', 'kvasir-router', 9090, NO],
    ['debug port', 'stranger', 'kvasir-router', 15_000, NO],
    ['leader and worker', 'big-h100/0', 'big-h100/1', 29_500, YES],
    ['leader and worker', 'big-h100/1', 'big-h100/0', 29_500, YES],
    ['a worker asked for answers', 'kvasir-router', 'big-h100/1', 8000, NO],
    ['side channel of NIXL', 'nixl-0-decode', 'nixl-0-prefill', 5600, YES],
    ['side channel of a second rank', 'nixl-0-decode', 'nixl-0-prefill', 5601, YES],
    ['transfer of NIXL', 'nixl-0-decode', 'nixl-0-prefill', 41_234, YES],
    ['notifications of NIXL', 'nixl-0-prefill', 'nixl-0-decode', 41_234, YES],
    ['side channel, from outside of the group', 'mooncake-0-decode', 'nixl-0-prefill', 5600, NO],
    ['side channel, from the router', 'kvasir-router', 'nixl-0-prefill', 5600, NO],
    ['bootstrap of Mooncake', 'mooncake-0-decode', 'mooncake-0-prefill', 8999, YES],
    ['bootstrap of Mooncake, which the router asks', 'kvasir-router', 'mooncake-0-prefill', 8999, YES],
    ['bootstrap of Mooncake', 'kvasir-autoscaler', 'mooncake-0-prefill', 8999, NO],
    ['transfer of Mooncake', 'mooncake-0-prefill', 'mooncake-0-decode', 15_428, YES],
    ['bootstrap of SGLang', 'sglang-0-decode', 'sglang-0-prefill', 8998, YES],
    ['bootstrap of SGLang', 'kvasir-router', 'sglang-0-prefill', 8998, YES],
    ['bootstrap of SGLang', 'stranger', 'sglang-0-prefill', 8998, NO],
    ['bootstrap where there is none', 'kvasir-router', 'nixl-0-prefill', 8998, NO],
    ['store of LMCache', 'lmcache-0-prefill', 'kv store', 6379, YES],
    ['store of LMCache', 'lmcache-0-decode', 'kv store', 6379, YES],
    ['store of LMCache', 'nixl-0-decode', 'kv store', 6379, NO],
    ['downloads', 'chat-h100', 'internet', 443, YES],
    ['downloads', 'chat-h100', 'internet', 80, NO],
    ['downloads', 'chat-h100', 'cloud metadata', 443, NO],
    ['downloads of what lies on a claim', 'big-h100/0', 'internet', 443, NO],
    ['downloads by a Job', 'job', 'internet', 443, YES],
    ['downloads from a bucket in the cluster', 'job', 'minio', 9000, YES],
    ['downloads from a bucket in the cluster', 'chat-h100', 'minio', 9000, NO],
    ['what a Job has downloaded', 'bucket-h100', 'internet', 443, NO],
    ['providers that are not there', 'kvasir-router', 'internet', 443, NO],
    ['replication without a Service for it', 'kvasir-router', 'kvasir-router', 15_100, NO],
  ])('%s: %s to %s, port %i: %p', (...row) => {
    expect(check(plain, row)).toBe(row[4]);
  });

  it.each<readonly [string, Options, readonly Row[]]>([
    [
      'routers that replicate by a headless Service',
      {
        more: (system) => {
          new ApiObject(system, 'siblings', {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: { name: 'kvasir-router-siblings' },
            spec: {
              clusterIP: 'None',
              selector: { app: 'kvasir-router' },
              ports: [{ name: 'sync', port: 15_100, protocol: 'TCP' }],
            },
          });
        },
      },
      [
        ['replication', 'kvasir-router', 'kvasir-router', 15_100, YES],
        ['replication', 'kvasir-autoscaler', 'kvasir-router', 15_100, NO],
        ['replication', 'stranger', 'kvasir-router', 15_100, NO],
      ],
    ],
    [
      'a Router with replication',
      { router: { replication: { secret: SecretRef.existing('router-siblings', 'secret') } } },
      [
        ['replication', 'kvasir-router', 'kvasir-router', 9091, YES],
        ['replication', 'kvasir-autoscaler', 'kvasir-router', 9091, NO],
        ['replication', 'stranger', 'kvasir-router', 9091, NO],
      ],
    ],
    [
      'an ExternalModelProvider',
      { more: (_, models) => void new ExternalModelProvider(models, 'cloud', { baseUrl: 'https://api.example.com:8443/v1' }) },
      [
        ['providers', 'kvasir-router', 'internet', 8443, YES],
        ['providers', 'kvasir-router', 'internet', 443, NO],
        ['providers', 'kvasir-router', 'private network', 8443, NO],
        ['providers', 'kvasir-autoscaler', 'internet', 8443, NO],
        ['providers', 'nixl-0-prefill', 'internet', 8443, NO],
      ],
    ],
    [
      'a provider within a company',
      {
        isolation: { outside: ['10.1.0.0/16'] },
        more: (_, models) => void new ExternalModelProvider(models, 'own', { baseUrl: 'https://llm.corp.example' }),
      },
      [
        ['providers', 'kvasir-router', 'private network', 443, YES],
        ['providers', 'kvasir-router', 'internet', 443, NO],
      ],
    ],
    [
      'an issuer of tokens',
      { router: { config: { auth: { issuer: 'https://id.example.com', jwksUri: JWKS } } } },
      [
        ['JWKS', 'kvasir-router', 'internet', 443, YES],
        ['JWKS', 'kvasir-autoscaler', 'internet', 443, NO],
      ],
    ],
    [
      'an issuer in the cluster',
      { router: { config: { auth: { issuer: 'http://issuer', jwksUri: 'http://issuer.auth.svc/keys' } } } },
      [
        ['JWKS', 'kvasir-router', 'issuer in the cluster', 8080, YES],
        ['JWKS', 'kvasir-router', 'internet', 80, NO],
      ],
    ],
    [
      'a guardrail',
      { router: { guardrail: { url: 'https://guard.example.com/check' } } },
      [
        ['guardrail', 'kvasir-router', 'internet', 443, YES],
        ['guardrail', 'kvasir-autoscaler', 'internet', 443, NO],
      ],
    ],
    [
      'an external Redis at an address',
      { router: { redis: Redis.external({ address: '10.9.0.5:6380', tls: true }) } },
      [
        ['external Redis', 'kvasir-router', 'Redis at 10.9.0.5', 6380, YES],
        ['external Redis', 'kvasir-router', 'private network', 6380, NO],
        ['external Redis', 'kvasir-autoscaler', 'Redis at 10.9.0.5', 6380, NO],
      ],
    ],
    [
      'an external Redis by name',
      { router: { redis: Redis.external({ address: 'redis.example.com:6380' }) } },
      [
        ['external Redis', 'kvasir-router', 'private network', 6380, YES],
        ['external Redis', 'kvasir-router', 'internet', 6380, NO],
      ],
    ],
    [
      'an external Redis that a route alone names',
      {
        more: (_, models) => {
          const sharedIn = Redis.external({ address: 'redis.example.com:6380', cidrs: ['10.9.0.0/16'] });
          new ModelRoute(models, 'limited')
            .splitTraffic([{ server: 'chat' }])
            .limitTokens({ inputTokens: 1, per: 'day', sharedIn });
        },
      },
      [
        ['external Redis', 'kvasir-router', 'Redis at 10.9.0.5', 6380, YES],
        ['external Redis', 'kvasir-router', 'private network', 6380, NO],
      ],
    ],
    [
      'agents beside the engines',
      {
        more: (_, models) => {
          const chat = models.node.findChild('chat') as ModelBooster;
          chat.pools.h100!.pod.merge({
            containers: [{ name: 'agent', image: 'r/a:1', ports: [{ name: 'agent', containerPort: 9100 }] }],
          });
        },
      },
      [
        ['agents', 'kvasir-router', 'chat-h100', 9100, YES],
        ['agents', 'kvasir-autoscaler', 'chat-h100', 9100, YES],
        ['agents', 'prometheus', 'chat-h100', 9100, YES],
        ['agents', 'stranger', 'chat-h100', 9100, NO],
        ['agents', 'kvasir-router', 'big-h100/0', 9100, NO],
      ],
    ],
    [
      'a policy that reads another port',
      {
        more: (_, models) => {
          const targetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat-h100' };
          const target = { targetRef, metricSources: { load: { pod: { port: 9400 } } } };
          const homogeneousTarget = { target, minReplicas: 1, maxReplicas: 2 };
          new KubeAutoscalingPolicy(models, 'p', {
            metadata: { name: 'p' },
            spec: { metrics: [{ name: 'load', targetValue: 1 }], homogeneousTarget },
          });
        },
      },
      [
        ['metrics', 'kvasir-autoscaler', 'chat-h100', 9400, YES],
        ['metrics', 'kvasir-router', 'chat-h100', 9400, NO],
      ],
    ],
    [
      'a store of LMCache whose URL is a secret',
      {
        isolation: { kvStores: [{ to: [{ ipBlock: { cidr: '10.1.2.0/24' } }], ports: [7000] }] },
        more: (_, models) => {
          const roles = { source: CLAIM, prefill: { accelerator: H100 }, decode: { accelerator: H100 } };
          const connector = KvConnector.lmcache({ remoteUrl: SecretRef.existing('kv', 'url') });
          new PDGroup(models, 'secret', { ...roles, engine: Engine.vllm('0.32.0'), connector });
        },
      },
      [
        ['store of LMCache', 'secret-0-decode', 'private network', 7000, YES],
        ['store of LMCache', 'nixl-0-decode', 'private network', 7000, NO],
      ],
    ],
  ])('know %s', (_, options, rows) => {
    const made = stack(options);
    expect(rows.map((row) => [...row.slice(0, 4), check(made, row)])).toEqual(rows.map((row) => [...row]));
  });

  it('tell of a store that they do not know', () => {
    const more = (_: Chart, models: Chart) => {
      const roles = { source: CLAIM, prefill: { accelerator: H100 }, decode: { accelerator: H100 } };
      const connector = KvConnector.lmcache({ remoteUrl: SecretRef.existing('kv', 'url') });
      new PDGroup(models, 'secret', { ...roles, engine: Engine.vllm('0.32.0'), connector });
    };
    const found = (isolation?: NetworkIsolationProps) =>
      stack({ more, ...(isolation === undefined ? {} : { isolation }) })
        .app.check()
        .open.filter(({ code }) => code.startsWith('isolation/'));
    expect(found()).toMatchObject([{ code: 'isolation/unknown-store', severity: 'warning', object: 'models/isolation' }]);
    expect(found({ kvStores: [] })).toEqual([]);
  });
});
