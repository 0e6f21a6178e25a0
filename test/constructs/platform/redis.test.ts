import { Chart } from 'cdk8s';
import {
  GitOpsApp,
  ModelRoute,
  ModelServer,
  Redis,
  type RedisProps,
  type RedisServer,
  Router,
  type RouterProps,
  SecretRef,
} from '../../../constructs';
import { synth } from '../../../constructs/testing';
import type { PodTemplate } from '../../../constructs/workload/pod-template';
import { parseRouterConfig } from '../../../src/config/router-config';
import { coreObjectProblems } from '../../helpers/core-object-problems';

function redis(props: Partial<RedisProps> = {}) {
  const app = new GitOpsApp({ images: { mirrors: { 'docker.io/library/': 'mirror.example.com/' } } });
  const chart = new Chart(app, 'c', { namespace: 'system' });
  const made = new Redis(chart, 'redis', { password: SecretRef.existing('redis', 'password'), ...props });
  const objects = synth(chart);
  const { template } = objects.get('Deployment', made.name).spec as { readonly template: PodTemplate };
  return { made, objects, container: template.spec.containers[0]! as unknown as Record<string, unknown>, template };
}

describe('Redis', () => {
  it('asks every client for a password that no manifest holds', () => {
    const { container, objects } = redis();
    expect(container.args).toEqual(expect.arrayContaining(['--requirepass', '$(REDIS_PASSWORD)']));
    expect(container.env).toEqual([{ name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: 'redis', key: 'password' } } }]);
    expect(objects.ofKind('Secret')).toEqual([]);
  });

  it('makes a Deployment and a Service of the core API, with the least rights', () => {
    const { objects, template, container } = redis();
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
    expect(objects.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Deployment kvasir-redis',
      'Service kvasir-redis',
    ]);
    expect(template.spec).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } });
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
  });

  it('bounds its data below the memory of its container', () => {
    const { container } = redis({ memoryMiB: 100 });
    expect(container.args).toEqual(expect.arrayContaining(['--maxmemory', '100mb']));
    expect(container.resources).toMatchObject({ limits: { memory: '182Mi' } });
  });

  it('comes from the mirror of its registry, and may be changed like any pod', () => {
    const { made, container } = redis();
    expect(container.image).toBe('mirror.example.com/redis:7.2.5');
    made.pod.merge({ priorityClassName: 'system' });
    expect(JSON.stringify(synth(made).get('Deployment', 'kvasir-redis'))).toContain('"priorityClassName":"system"');
  });

  it('is where routers of any namespace count tokens together', () => {
    const app = new GitOpsApp();
    const shared = new Redis(new Chart(app, 'system', { namespace: 'system' }), 'r', { password: SecretRef.existing('r', 'p') });
    const models = new Chart(app, 'models', { namespace: 'llm' });
    const server = new ModelServer(models, 's', { engine: 'vLLM', podLabels: { app: 's' }, port: 8000 });
    new ModelRoute(models, 'm').splitTraffic([{ server }]).limitTokens({ inputTokens: 5, per: 'second', sharedIn: shared });
    expect(synth(models).get('ModelRoute', 'm').spec.rateLimit).toMatchObject({
      global: { redis: { address: 'kvasir-redis.system.svc:6379' } },
    });
  });
});

describe('Redis.external', () => {
  it.each(['redis', 'redis:0', 'redis:70000', 'redis://r:6379', 'u:p@r:6379', 'a b:1', '[r]:1', 'fd00::7:6379'])(
    'is refused at %s',
    (address) => {
      expect(() => Redis.external({ address })).toThrow(/^Redis\.external: address ".*" is no host:port; write it like /);
    },
  );

  it('creates nothing', () => {
    expect(Redis.external({ address: '[fd00::7]:6379', tls: true })).toMatchObject({ address: '[fd00::7]:6379', tls: {} });
    expect(Redis.external({ address: 'r:1', tls: false }).tls).toBeUndefined();
  });
});

describe('a router with a Redis', () => {
  const PASSWORD = SecretRef.existing('redis-login', 'password');
  const app = () => new GitOpsApp({ images: { registry: 'r.example.com', tag: '1' } });

  function routed(server: RedisServer, root = app()) {
    const chart = new Chart(root, 'system', { namespace: 'system' });
    const router = new Router(chart, 'router', { config: { retry: { attempts: 1 } }, redis: server });
    const objects = synth(chart);
    const text = (objects.get('ConfigMap', 'kvasir-router').data as Record<string, string>)['routerConfiguration.yaml']!;
    const decoded = parseRouterConfig(text);
    if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
    const { spec } = (objects.get('Deployment', 'kvasir-router').spec as { readonly template: PodTemplate }).template;
    const mounted = (spec.containers[0]!.volumeMounts as { mountPath: string }[]).map(({ mountPath }) => mountPath);
    const volume = (spec.volumes as { name: string }[]).find(({ name }) => name === 'redis');
    return { router, root, config: decoded.config, volume, mounted, objects, text };
  }
  it('tells each copy how many share the limits, unless the configuration says so', () => {
    expect(routed(Redis.external({ address: 'r:6379' })).config.rateLimit.replicas).toBe(2);
    const replicasOf = (props: RouterProps) => {
      const chart = new Chart(app(), 'system');
      return new Router(chart, 'router', { redis: Redis.external({ address: 'r:6379' }), ...props }).config.rateLimit.replicas;
    };
    expect(replicasOf({ replicas: 5 })).toBe(5);
    expect(replicasOf({ replicas: 5, config: { rateLimit: { replicas: 9 } } })).toBe(9);
    expect(new Router(new Chart(app(), 'alone'), 'router', { replicas: 5 }).config.rateLimit.replicas).toBe(1);
  });

  const item = (name: string, key: string, path: string) => ({ secret: { name, items: [{ key, path }] } });

  it.each<[string, RedisServer, object, readonly object[] | undefined]>([
    ['an address', Redis.external({ address: 'r:6379' }), { address: 'r:6379' }, undefined],
    [
      'a user and a password',
      Redis.external({ address: 'r:6379', username: 'kvasir', password: PASSWORD }),
      { address: 'r:6379', username: 'kvasir', passwordFile: '/etc/redis/password' },
      [item('redis-login', 'password', 'password')],
    ],
    ['TLS by public authorities', Redis.external({ address: 'r:6379', tls: true }), { address: 'r:6379', tls: {} }, undefined],
    [
      'TLS by an authority of its own, and a password',
      Redis.external({
        address: '10.0.0.7:6380',
        password: PASSWORD,
        tls: { caCertificate: SecretRef.existing('redis-ca', 'tls.crt'), serverName: 'redis.example.com' },
      }),
      {
        address: '10.0.0.7:6380',
        passwordFile: '/etc/redis/password',
        tls: { caFile: '/etc/redis/ca.crt', serverName: 'redis.example.com' },
      },
      [item('redis-login', 'password', 'password'), item('redis-ca', 'tls.crt', 'ca.crt')],
    ],
  ])('is told of %s, and reads its secrets from files', (_, server, section, sources) => {
    const { config, volume, mounted, objects, text } = routed(server);
    expect(config.redis).toEqual(section);
    expect(config.retry.attempts).toBe(1);
    expect(volume).toEqual(sources === undefined ? undefined : { name: 'redis', projected: { sources } });
    expect(mounted).toEqual(sources === undefined ? ['/etc/config'] : ['/etc/config', '/etc/redis']);
    expect(text).not.toMatch(/redis-login|redis-ca/);
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
  });

  it('takes the construct as it takes an external one', () => {
    const root = app();
    const own = new Redis(new Chart(root, 'data', { namespace: 'data' }), 'redis', { password: PASSWORD });
    const { config, volume } = routed(own, root);
    expect(config.redis).toEqual({ address: 'kvasir-redis.data.svc:6379', passwordFile: '/etc/redis/password' });
    expect(volume).toEqual({ name: 'redis', projected: { sources: [item('redis-login', 'password', 'password')] } });
    expect(root.check().open).toMatchObject([
      {
        code: 'redis/secret-elsewhere',
        severity: 'info',
        object: 'system/router',
        message: expect.stringContaining('namespace system'),
      },
    ]);
  });

  it('is warned of routes that count in another one, with a password that it does not have', () => {
    const found = (shared: RedisServer, own: RedisServer) => {
      const { root } = routed(own);
      const models = new Chart(root, 'models', { namespace: 'llm' });
      const server = new ModelServer(models, 's', { engine: 'vLLM', podLabels: { app: 's' }, port: 8000 });
      new ModelRoute(models, 'm').splitTraffic([{ server }]).limitTokens({ inputTokens: 5, per: 'second', sharedIn: shared });
      return root.check().open.filter(({ code }) => code === 'routing/redis-not-given');
    };
    const [locked, open] = [Redis.external({ address: 'a:1', password: PASSWORD }), Redis.external({ address: 'b:1' })];
    expect(found(locked, open)).toMatchObject([{ severity: 'warning', object: 'system/router', field: 'redis' }]);
    expect(found(locked, locked)).toEqual([]);
    expect(found(open, locked)).toEqual([]);
  });
});
