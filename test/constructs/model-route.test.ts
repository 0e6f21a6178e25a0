import { Chart, Testing } from 'cdk8s';
import {
  Cluster,
  ExternalModelProvider,
  Gateway,
  GitOpsApp,
  type KthenaPresence,
  ModelRoute,
  ModelServer,
} from '../../constructs';
import { matchers, synth } from '../../constructs/testing';

expect.extend(matchers);

function servers(...names: readonly string[]) {
  const chart = new Chart(Testing.app(), 'c');
  return {
    chart,
    made: names.map((name) => new ModelServer(chart, name, { engine: 'vLLM', podLabels: { app: name }, port: 8000 })),
  };
}

describe('a ModelRoute', () => {
  it('keeps rules in the order in which they were added, the split last', () => {
    const { chart, made } = servers('big', 'small');
    new ModelRoute(chart, 'chat', {
      modelName: 'Chat-1',
      rules: [{ name: 'vip', match: { headers: { tier: { exact: 'vip' } } }, targets: [{ server: made[0]! }] }],
    })
      .addRule({ name: 'long', match: { uri: { prefix: '/v1/long' } }, targets: [{ server: 'big' }] })
      .splitTraffic([
        { server: made[0]!, weight: 10 },
        { server: made[1]!, weight: 90 },
      ]);
    expect(synth(chart).get('ModelRoute', 'chat').spec).toEqual({
      modelName: 'Chat-1',
      rules: [
        {
          name: 'vip',
          modelMatch: { headers: { tier: { exact: 'vip' } } },
          targetModels: [{ modelServerName: 'big', weight: 100 }],
        },
        { name: 'long', modelMatch: { uri: { prefix: '/v1/long' } }, targetModels: [{ modelServerName: 'big', weight: 100 }] },
        {
          name: 'split',
          targetModels: [
            { modelServerName: 'big', weight: 10 },
            { modelServerName: 'small', weight: 90 },
          ],
        },
      ],
    });
  });

  it('refers to a server by the name of its object', () => {
    const { chart } = servers();
    const server = new ModelServer(chart, 'id', { name: 'named', engine: 'SGLang', podLabels: { app: 'x' }, port: 30_000 });
    new ModelRoute(chart, 'r').splitTraffic([{ server }]);
    expect(synth(chart)).toContainObject({
      kind: 'ModelRoute',
      spec: { modelName: 'r', rules: [{ targetModels: [{ modelServerName: 'named' }] }] },
    });
  });
});

describe('a canary', () => {
  const rulesOf = (optIn?: { header: string; value: string }, percent = 5) => {
    const { chart, made } = servers('stable', 'next');
    const [stable, canary] = made.map((server) => ({ server }));
    new ModelRoute(chart, 'chat').canary({ stable: stable!, canary: canary!, percent, optIn });
    return synth(chart).get('ModelRoute', 'chat').spec.rules;
  };
  const split = (percent: number) => ({
    name: 'canary',
    targetModels: [
      { modelServerName: 'stable', weight: 100 - percent },
      { modelServerName: 'next', weight: percent },
    ],
  });

  it.each([0, 5, 100])('gets %i of hundred requests', (percent) => {
    expect(rulesOf(undefined, percent)).toEqual([split(percent)]);
  });

  it('always gets the requests that ask for it', () => {
    expect(rulesOf({ header: 'x-canary', value: 'always' })).toEqual([
      {
        name: 'canary-opt-in',
        modelMatch: { headers: { 'x-canary': { exact: 'always' } } },
        targetModels: [{ modelServerName: 'next', weight: 100 }],
      },
      split(5),
    ]);
  });

  it.each([-1, 101, 2.5, Number.NaN])('is refused with %p percent', (percent) => {
    expect(() => rulesOf(undefined, percent)).toThrow(RangeError);
  });
});

describe('limits of a route', () => {
  const specOf = (limits: Parameters<ModelRoute['limitTokens']>[0]) => {
    const { chart, made } = servers('s');
    new ModelRoute(chart, 'r').splitTraffic([{ server: made[0]! }]).limitTokens(limits);
    return synth(chart).get('ModelRoute', 'r').spec.rateLimit;
  };

  it('name what is given and nothing else', () => {
    expect(specOf({ inputTokens: 100_000, outputTokens: 20_000, per: 'minute' })).toEqual({
      inputTokensPerUnit: 100_000,
      outputTokensPerUnit: 20_000,
      unit: 'minute',
    });
    expect(specOf({ outputTokens: 1, per: 'day', sharedIn: { address: 'redis.example.com:6379' } })).toEqual({
      outputTokensPerUnit: 1,
      unit: 'day',
      global: { redis: { address: 'redis.example.com:6379' } },
    });
  });

  it('are refused when they limit nothing, or are given twice', () => {
    const route = new ModelRoute(servers().chart, 'r');
    expect(() => route.limitTokens({ per: 'second' })).toThrow('limitTokens: give inputTokens, outputTokens or requests');
    route.limitTokens({ inputTokens: 1, per: 'second' });
    expect(() => route.limitTokens({ outputTokens: 1, per: 'second' })).toThrow('route r already has limits');
  });
});

describe('a route to somebody else', () => {
  it('names providers beside servers, and Gateways as they are referred to', () => {
    const { chart, made } = servers('s');
    const provider = new ExternalModelProvider(chart, 'id', { name: 'cloud', baseUrl: 'https://api.example.com' });
    const gateway = new Gateway(chart, 'way', { className: 'any' });
    new ModelRoute(chart, 'r', { parentRefs: [gateway.ref('http')] }).splitTraffic([
      { server: made[0]!, weight: 80 },
      { provider, weight: 15 },
      { provider: 'cloud', weight: 5 },
    ]);
    expect(synth(chart).get('ModelRoute', 'r').spec).toEqual({
      modelName: 'r',
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'way', sectionName: 'http' }],
      rules: [
        {
          name: 'split',
          targetModels: [
            { modelServerName: 's', weight: 80 },
            { externalModelProviderName: 'cloud', weight: 15 },
            { externalModelProviderName: 'cloud', weight: 5 },
          ],
        },
      ],
    });
  });

  it.each<[KthenaPresence, readonly string[]]>([
    ['absent', ['routing/gateways-not-served']],
    ['workload', ['routing/gateways-not-served']],
    ['networking', []],
  ])('is told what the router of the cluster (Kthena: %s) does not act on', (kthena, codes) => {
    const app = new GitOpsApp({ cluster: Cluster.of({ kthena }) });
    const chart = new Chart(app, 'c');
    const provider = new ExternalModelProvider(chart, 'cloud', { baseUrl: 'https://api.example.com' });
    new ModelRoute(chart, 'r', { parentRefs: [{ name: 'g' }] })
      .limitTokens({ inputTokens: 1, per: 'second' })
      .splitTraffic([{ provider }]);
    expect(app.check().open.map(({ code }) => code)).toEqual(codes);
  });
});

describe('what Kvasir adds to routes', () => {
  const routeIn = (kthena: KthenaPresence, ttlMs?: number) => {
    const app = new GitOpsApp({ cluster: Cluster.of({ kthena }) });
    const chart = new Chart(app, 'c');
    const [stable, next] = ['stable', 'next'].map(
      (name) => new ModelServer(chart, name, { engine: 'vLLM', podLabels: { app: name }, port: 8000 }),
    );
    const route = new ModelRoute(chart, 'r', {
      stickySession: { source: 'header', name: 'x-session', ttlMs },
      isolateCaches: 'tenant',
    });
    // After the object was made: what it says is asked for at synth.
    route.canary({ stable: { server: stable! }, canary: { server: next! }, percent: 0, shadow: { server: next!, percent: 20 } });
    return { app, made: synth(chart).get('ModelRoute', 'r') };
  };

  it('are fields of its definition', () => {
    const { made } = routeIn('absent', 90_000);
    expect(made.spec.sessionAffinity).toEqual({ source: 'header', name: 'x-session', ttl: '1m30s' });
    expect(made.spec.tenantIsolation).toEqual({ salt: 'tenant' });
    expect(made.spec.rules).toMatchObject([{ name: 'canary', shadow: { modelServerName: 'next', percent: 20 } }]);
    expect(made.metadata.annotations).toBeUndefined();
    expect(routeIn('absent').made.spec.sessionAffinity).toMatchObject({ ttl: '1h' });
  });

  it.each<KthenaPresence>(['networking', 'both'])('are annotations under Kthena’s definition (%s)', (kthena) => {
    const { made } = routeIn(kthena);
    expect(JSON.stringify(made.spec)).not.toMatch(/shadow|sessionAffinity|tenantIsolation/);
    expect(made.metadata.annotations).toEqual({
      'kvasir.dev/session-affinity': '{"source":"header","name":"x-session","ttl":"1h"}',
      'kvasir.dev/tenant-isolation': '{"salt":"tenant"}',
      'kvasir.dev/shadow': '[{"modelServerName":"next","percent":20}]',
    });
  });

  it('leave the annotations out for a route that has none of it', () => {
    const app = new GitOpsApp({ cluster: Cluster.of({ kthena: 'networking' }) });
    const chart = new Chart(app, 'c');
    new ModelServer(chart, 's', { engine: 'vLLM', podLabels: { app: 's' }, port: 8000 });
    new ModelRoute(chart, 'r').splitTraffic([{ server: 's' }]);
    expect(synth(chart).get('ModelRoute', 'r').metadata).toEqual({
      name: 'r',
      labels: { 'app.kubernetes.io/managed-by': 'kvasir', 'kvasir.dev/class': 'kvasir' },
    });
  });

  it.each<[KthenaPresence, readonly string[]]>([
    ['absent', []],
    ['networking', Array(3).fill('warning routing/kthena-extension')],
  ])('are told when the router of the cluster (Kthena: %s) does not act on them', (kthena, found) => {
    const { open } = routeIn(kthena).app.check();
    const said = open.filter(({ object }) => object === 'c/r').map(({ severity, code }) => `${severity} ${code}`);
    expect(said).toEqual(found);
  });

  it('are checked as fields of the kind are', () => {
    const app = new GitOpsApp();
    const chart = new Chart(app, 'c');
    new ModelServer(chart, 's', { engine: 'vLLM', podLabels: { app: 's' }, port: 8000 });
    new ModelRoute(chart, 'r', { stickySession: { source: 'cookie', name: 'a b', ttlMs: 0 } }).addRule({
      targets: [{ server: 's' }],
      shadow: { server: 'gone' },
    });
    const codes = app.check().open.map(({ code }) => code);
    expect(codes).toEqual(expect.arrayContaining(['model-route/affinity-name', 'model-route/affinity-ttl']));
  });
});

describe('a ModelServer', () => {
  it('retries twice and has no deadline, unless it is told', () => {
    const { chart } = servers('s');
    new ModelServer(chart, 't', {
      engine: 'vLLM',
      podLabels: { app: 't' },
      port: 1,
      traffic: { timeoutMs: 90_000, retry: { attempts: 1, intervalMs: 1500 } },
    });
    const objects = synth(chart);
    expect(objects.get('ModelServer', 's').spec.trafficPolicy).toEqual({ retry: { attempts: 2, retryInterval: '100ms' } });
    expect(objects.get('ModelServer', 't').spec.trafficPolicy).toEqual({
      timeout: '1m30s',
      retry: { attempts: 1, retryInterval: '1s500ms' },
    });
  });
});
