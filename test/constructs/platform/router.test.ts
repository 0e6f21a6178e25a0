import { Chart } from 'cdk8s';
import { parse } from 'yaml';
import { GitOpsApp, KubeExternalModelProvider, Redis, Router, type RouterProps, SecretRef } from '../../../constructs';
import { synth } from '../../../constructs/testing';
import type { PodTemplate } from '../../../constructs/workload/pod-template';
import { decodeRouterConfig } from '../../../src/config/router-config';
import { coreObjectProblems } from '../../helpers/core-object-problems';

const ISSUER = { issuer: 'https://id.example.com/', jwksUri: 'https://id.example.com/jwks' };

function routerOf(props: RouterProps) {
  const app = new GitOpsApp();
  const chart = new Chart(app, 'c', { namespace: 'system' });
  const made = new Router(chart, 'r', { image: 'router:1.0', ...props });
  const objects = synth(chart);
  const { data } = objects.get('ConfigMap', made.name) as unknown as { readonly data: Readonly<Record<string, string>> };
  const { template } = objects.get('Deployment', made.name).spec as { readonly template: PodTemplate };
  const document = parse(data['routerConfiguration.yaml']!) as { readonly auth?: unknown };
  return { made, chart, objects, template, document };
}

describe('who may ask a Router', () => {
  it('is everybody, and it may read no Secret, unless something is said', () => {
    const { objects, document, made } = routerOf({});
    expect([document.auth, made.config.auth]).toEqual([undefined, undefined]);
    expect(objects.ofKind('Role')).toEqual([]);
  });

  it('is who has a token of the issuer', () => {
    const { document, made } = routerOf({ jwt: { ...ISSUER, audiences: ['llm'], claims: { tenant: 'org', models: 'models' } } });
    expect(document.auth).toEqual({ ...ISSUER, audiences: ['llm'], claims: { tenant: 'org', models: 'models' } });
    expect(made.config.auth).toMatchObject({ required: true, claims: { user: 'sub' }, jwks: { minRefreshMs: 30_000 } });
    expect(decodeRouterConfig(document)).toEqual({ kind: 'valid', config: made.config });
  });

  it('is who has a key of the Secrets that are named, on which alone it has rights', () => {
    const { document, objects } = routerOf({ apiKeys: { secrets: ['team-a', 'team-b'], header: 'x-team-key' } });
    expect(document.auth).toEqual({ apiKeys: { secrets: ['system/team-a', 'system/team-b'], header: 'x-team-key' } });
    expect(objects.get('Role', 'kvasir-router')).toMatchObject({
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['team-a', 'team-b'], verbs: ['get', 'list', 'watch'] }],
    });
    expect(objects.get('RoleBinding', 'kvasir-router')).toMatchObject({
      roleRef: { kind: 'Role', name: 'kvasir-router' },
      subjects: [{ kind: 'ServiceAccount', name: 'kvasir-router', namespace: 'system' }],
    });
    expect(JSON.stringify(objects.get('ClusterRole', 'system:kvasir-router'))).not.toContain('secrets');
    expect(objects.ofKind('Secret')).toEqual([]);
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
    expect(Router.apiKeySecretLabels).toEqual({ 'kvasir.dev/api-keys': 'true' });
  });

  it('may be said in the configuration too, which props add to', () => {
    const { document } = routerOf({
      config: { auth: { ...ISSUER, required: false, clockSkewMs: 0 } },
      apiKeys: { secrets: ['keys'] },
    });
    expect(document.auth).toEqual({ ...ISSUER, required: false, clockSkewMs: 0, apiKeys: { secrets: ['system/keys'] } });
  });

  it('is told by an issuer with a certificate of its own, whose authorities are mounted and may change', () => {
    const { document, template } = routerOf({ jwt: { ...ISSUER, caCertificate: SecretRef.existing('corp-ca', 'ca.pem') } });
    expect(document.auth).toMatchObject({ jwks: { caFile: '/etc/jwks/ca.crt' } });
    expect(template.spec.volumes).toContainEqual({
      name: 'jwks',
      projected: { sources: [{ secret: { name: 'corp-ca', items: [{ key: 'ca.pem', path: 'ca.crt' }] } }] },
    });
    expect(template.spec.containers[0]?.volumeMounts).toContainEqual({ name: 'jwks', mountPath: '/etc/jwks', readOnly: true });
  });

  it.each<[string, RouterProps, string, RegExp]>([
    [
      'an issuer without keys',
      { config: { auth: { issuer: 'me' } } },
      'config/auth-incomplete',
      /^config\.auth\.issuer asks for tokens/,
    ],
    [
      'keys without an issuer',
      { config: { auth: { jwksUri: 'https://x/y' } } },
      'config/auth-incomplete',
      /^config\.auth\.jwksUri/,
    ],
    ['keys at no URL', { config: { auth: { issuer: 'me', jwksUri: 'id' } } }, 'config/invalid-value', /"id" is no URL/],
    ['keys without TLS', { jwt: { ...ISSUER, jwksUri: 'http://id/x' } }, 'config/auth-plain-http', /without TLS/],
    ['no Secret by name', { config: { auth: { apiKeys: {} } } }, 'router/unreadable-secrets', /is empty/],
    [
      'Secrets of others',
      { config: { auth: { apiKeys: { secrets: ['a/b', 'system/c'] } } } },
      'router/unreadable-secrets',
      /names a\/b, which the router in namespace system/,
    ],
    ['a field that does not exist', { config: { auth: { audience: 'x' } as object } }, 'config/unknown-field', /audience/],
  ])('is not %s', (_name, props, code, text) => {
    const app = new GitOpsApp({ outdir: '/nonexistent/never-written' });
    new Router(new Chart(app, 'c', { namespace: 'system' }), 'r', { image: 'router:1.0', ...props });
    const found = app.check().open.filter((each) => each.code === code);
    expect(found.map(({ field, message }) => `${field} ${message}`)).toEqual([expect.stringMatching(text)]);
  });
});

describe('Secrets of providers that no construct made', () => {
  function routerBeside(props: RouterProps) {
    const app = new GitOpsApp({ outdir: '/nonexistent/never-written' });
    const system = new Chart(app, 'system', { namespace: 'system' });
    new Router(system, 'r', { image: 'router:1.0', ...props });
    new KubeExternalModelProvider(new Chart(app, 'models', { namespace: 'llm' }), 'cloud', {
      metadata: { name: 'cloud' },
      spec: { baseURL: 'https://api.example.com', auth: { secretRef: { name: 'cloud', key: 'token' } } },
    });
    const found = app.check().open.filter(({ code }) => code === 'router/unreadable-secrets');
    return { objects: synth(system), found };
  }

  it('may not be read, which is said', () => {
    const { objects, found } = routerBeside({});
    expect(found.map(({ field, message }) => `${field} ${message}`)).toEqual([
      expect.stringMatching(/^secretNamespaces lacks llm, .* ExternalModelProvider llm\/cloud/),
    ]);
    expect(objects.ofKind('Role')).toEqual([]);
  });

  it('may be read with all others of a namespace that is named', () => {
    const { objects, found } = routerBeside({ secretNamespaces: ['llm'] });
    expect(found).toEqual([]);
    const [role] = objects.ofKind('Role');
    expect(role).toMatchObject({
      metadata: { name: 'kvasir-router-secrets', namespace: 'llm' },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] }],
    });
    expect(role).not.toHaveProperty('rules.0.resourceNames');
    expect(objects.ofKind('RoleBinding')).toMatchObject([
      { metadata: { namespace: 'llm' }, subjects: [{ kind: 'ServiceAccount', name: 'kvasir-router', namespace: 'system' }] },
    ]);
  });
});

describe('copies of a Router that decide as one', () => {
  const replication = { secret: SecretRef.existing('router-siblings', 'secret') };

  it('find each other by a headless Service, before they are ready too', () => {
    const { document, objects, template, made } = routerOf({ replication });
    const address = 'kvasir-router-siblings.system.svc:9091';
    expect(document).toEqual({
      replication: { secretFile: '/etc/replication/secret', siblings: [address], listen: '0.0.0.0:9091' },
    });
    expect(decodeRouterConfig(document)).toEqual({ kind: 'valid', config: made.config });
    expect(objects.get('Service', 'kvasir-router-siblings').spec).toEqual({
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: { app: 'kvasir-router' },
      ports: [{ name: 'replication', port: 9091, targetPort: 9091, protocol: 'TCP' }],
    });
    expect(JSON.stringify(template.spec)).toContain(
      '"secret":{"items":[{"key":"secret","path":"secret"}],"name":"router-siblings"}',
    );
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
  });

  it('meet in Redis where there is one, and need no Service', () => {
    const { document, objects, made } = routerOf({ replication, redis: Redis.external({ address: 'redis.example.com:6379' }) });
    expect(document).toMatchObject({ replication: { secretFile: '/etc/replication/secret' } });
    expect(made.config.replication?.siblings).toBeUndefined();
    expect(objects.ofKind('Service').map(({ metadata }) => metadata.name)).toEqual(['kvasir-router']);
  });

  it('are none without it', () => {
    const { document, objects } = routerOf({ replicas: 4 });
    expect(document).not.toHaveProperty('replication');
    expect(objects.ofKind('Service')).toHaveLength(1);
  });
});

describe('a Router with a guardrail', () => {
  it('asks it with what lies in Secrets', () => {
    const { document, objects, template, made } = routerOf({
      guardrail: {
        url: 'https://guard.safety.svc/check',
        phases: ['after'],
        models: ['chat'],
        token: SecretRef.existing('guard', 'token'),
        caCertificate: SecretRef.existing('guard-ca', 'bundle'),
      },
    });
    expect(document).toEqual({
      guardrail: {
        url: 'https://guard.safety.svc/check',
        phases: ['after'],
        models: ['chat'],
        tokenFile: '/etc/guardrail/token',
        caFile: '/etc/guardrail/ca.crt',
      },
    });
    expect(made.config.guardrail).toMatchObject({ onFailure: 'refuse', timeoutMs: 2_000, streamWindowCharacters: 400 });
    expect(JSON.stringify(template.spec!.volumes)).toContain('{"key":"bundle","path":"ca.crt"}');
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
  });

  it('names the field of a URL that is none', () => {
    const app = new GitOpsApp({ outdir: '/nonexistent/never-written' });
    new Router(new Chart(app, 'c', { namespace: 'system' }), 'r', { image: 'router:1.0', guardrail: { url: 'guard:8080' } });
    expect(app.check().open.map(({ code, field }) => [code, field])).toContainEqual([
      'config/invalid-value',
      'config.guardrail.url',
    ]);
  });
});

describe('a Router with a certificate', () => {
  const tls = { certificate: 'router-tls', clientAuthorities: SecretRef.existing('clients', 'ca.crt') };
  const engineTls = {
    caCertificate: SecretRef.existing('engines', 'ca.crt'),
    clientCertificate: 'router-client',
    serverName: 'engine',
  };

  it('serves port 443 with the Secrets that are named, and is probed where no certificate is needed', () => {
    const { document, objects, template, made } = routerOf({ tls, engineTls });
    expect(document).toEqual({
      tls: { certFile: '/etc/tls/tls.crt', keyFile: '/etc/tls/tls.key', clientCaFile: '/etc/tls/ca.crt' },
      engineTls: {
        caFile: '/etc/engine-tls/ca.crt',
        certFile: '/etc/engine-tls/tls.crt',
        keyFile: '/etc/engine-tls/tls.key',
        serverName: 'engine',
      },
    });
    expect(decodeRouterConfig(document)).toEqual({ kind: 'valid', config: made.config });
    const { ports } = objects.get('Service', 'kvasir-router').spec as { readonly ports: readonly object[] };
    expect(ports[0]).toEqual({ name: 'https', port: 443, targetPort: 'https', protocol: 'TCP', appProtocol: 'https' });
    const [container] = template.spec!.containers!;
    expect(container).toMatchObject({
      readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' } },
      livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' } },
    });
    const volumes = JSON.stringify(template.spec!.volumes);
    expect(volumes).toContain('"secret":{"items":[{"key":"tls.crt","path":"tls.crt"}],"name":"router-tls"}');
    expect(volumes).toContain('"secret":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"clients"}');
    expect(volumes).toContain('"secret":{"items":[{"key":"tls.key","path":"tls.key"}],"name":"router-client"}');
    expect(objects.all.flatMap(coreObjectProblems)).toEqual([]);
  });

  it('keeps the limits that its configuration sets', () => {
    const { made } = routerOf({ tls, config: { tls: { minVersion: 'TLSv1.3', http2: { maxConcurrentStreams: 9 } } } });
    expect(made.config.tls).toMatchObject({
      certFile: '/etc/tls/tls.crt',
      minVersion: 'TLSv1.3',
      http2: { maxConcurrentStreams: 9, initialWindowBytes: 2 ** 20 },
    });
  });

  it('is not one with half a pair for engines', () => {
    const app = new GitOpsApp({ outdir: '/nonexistent/never-written' });
    const config = { engineTls: { certFile: '/x/tls.crt' } };
    new Router(new Chart(app, 'c', { namespace: 'system' }), 'r', { image: 'router:1.0', config });
    expect(app.check().open.map(({ code, field }) => [code, field])).toContainEqual([
      'config/invalid-value',
      'config.engineTls.keyFile',
    ]);
  });
});
