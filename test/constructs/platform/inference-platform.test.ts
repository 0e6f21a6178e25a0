import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Chart } from 'cdk8s';
import {
  Cluster,
  GitOpsApp,
  type GitOpsAppProps,
  InferencePlatform,
  type InferencePlatformProps,
  type KthenaPresence,
} from '../../../constructs';
import { type AnyObject, matchers, synth } from '../../../constructs/testing';
import type { PodTemplate } from '../../../constructs/workload/pod-template';
import { customResourceDefinitions } from '../../../src/api/custom-resource-definitions';
import { parseAutoscalerConfig } from '../../../src/config/autoscaler-config';
import { parseRouterConfig } from '../../../src/config/router-config';

expect.extend(matchers);

function platform(props: InferencePlatformProps = {}, app: GitOpsAppProps = {}) {
  const root = new GitOpsApp({ images: { registry: 'r.example.com/k', tag: '0.1.0' }, ...app });
  const chart = new Chart(root, 'system', { namespace: 'system' });
  const made = new InferencePlatform(chart, 'platform', props);
  return { made, objects: synth(chart) };
}

const template = (object: AnyObject) => (object.spec as { readonly template: PodTemplate }).template;
const argsOf = (object: AnyObject) => (template(object).spec.containers[0] as unknown as { args: string[] }).args.join(' ');
const data = (object: AnyObject) => object.data as Readonly<Record<string, string>>;

describe('an InferencePlatform', () => {
  const { objects } = platform();

  it('installs the definitions of the kinds, which are never pruned', () => {
    const made = objects.ofKind('CustomResourceDefinition');
    expect(made.map(({ metadata }) => metadata.name)).toEqual(customResourceDefinitions.map(({ metadata }) => metadata.name));
    for (const { metadata } of made)
      expect(metadata.annotations).toMatchObject({ 'argocd.argoproj.io/sync-options': 'Prune=false' });
    expect(made.map(({ spec }) => spec)).toEqual(customResourceDefinitions.map(({ spec }) => spec));
  });

  it('starts the images as their command lines are', () => {
    expect(argsOf(objects.get('Deployment', 'kvasir-router'))).toBe(
      '--cluster kubernetes --listen 0.0.0.0:8080 --metrics-listen 0.0.0.0:9090 --debug-listen 127.0.0.1:15000 --config /etc/config/routerConfiguration.yaml',
    );
    expect(argsOf(objects.get('Deployment', 'kvasir-autoscaler'))).toBe(
      '--cluster kubernetes --metrics-listen 0.0.0.0:9090 --debug-listen 127.0.0.1:15000 --config /etc/config/autoscalerConfiguration.yaml',
    );
  });

  it('takes its images from registry and tag', () => {
    const images = objects.ofKind('Deployment').map((object) => template(object).spec.containers[0]!.image);
    expect(images).toEqual(['r.example.com/k/kvasir-router:0.1.0', 'r.example.com/k/kvasir-autoscaler:0.1.0']);
  });

  it('serves requests on port 80', () => {
    expect(objects).toContainObject({
      kind: 'Service',
      metadata: { name: 'kvasir-router' },
      spec: {
        ports: [
          { name: 'http', port: 80, targetPort: 'http' },
          { name: 'metrics', port: 9090 },
        ],
      },
    });
  });

  it('writes configuration that the images read as it was given, and nothing else', () => {
    const config = { drain: { timeoutMs: 60_000 }, retry: { statuses: [503] } };
    const given = platform({ router: { config }, autoscaler: { config: { syncPeriodMs: 5000 } } }).objects;
    expect(parseRouterConfig(data(given.get('ConfigMap', 'kvasir-router'))['routerConfiguration.yaml']!)).toMatchObject({
      kind: 'valid',
      config,
    });
    expect(
      parseAutoscalerConfig(data(given.get('ConfigMap', 'kvasir-autoscaler'))['autoscalerConfiguration.yaml']!),
    ).toMatchObject({ kind: 'valid', config: { syncPeriodMs: 5000 } });
    expect(data(given.get('ConfigMap', 'kvasir-autoscaler'))['autoscalerConfiguration.yaml']).toBe('syncPeriodMs: 5000\n');
    expect(parseRouterConfig(data(objects.get('ConfigMap', 'kvasir-router'))['routerConfiguration.yaml']!).kind).toBe('valid');
  });

  it('restarts pods only when what they read at their start changes, and lets them drain as it says', () => {
    const changed = platform({
      router: { config: { drain: { timeoutMs: 60_000, announceMs: 2500 }, sessions: { maxEntries: 10 } } },
    }).objects;
    const hash = (from: typeof objects, name: string) =>
      template(from.get('Deployment', name)).metadata.annotations['kvasir.dev/config-hash'];
    expect(hash(changed, 'kvasir-router')).not.toBe(hash(objects, 'kvasir-router'));
    expect(hash(changed, 'kvasir-autoscaler')).toBe(hash(objects, 'kvasir-autoscaler'));
    expect(template(changed.get('Deployment', 'kvasir-router')).spec.terminationGracePeriodSeconds).toBe(73);
    const taken = platform({ router: { config: { retry: { attempts: 5 } } } }).objects;
    expect(hash(taken, 'kvasir-router')).toBe(hash(objects, 'kvasir-router'));
    expect(taken.get('ConfigMap', 'kvasir-router').data).not.toEqual(objects.get('ConfigMap', 'kvasir-router').data);
  });

  it('may be changed like any pod', () => {
    const { made } = platform();
    made.router!.pod.merge({ priorityClassName: 'system' });
    expect(synth(made)).toContainObject({
      kind: 'Deployment',
      metadata: { name: 'kvasir-router' },
      spec: { template: { spec: { priorityClassName: 'system' } } },
    });
  });

  it('runs two autoscalers, of which the new one stands by before the old one goes', () => {
    const { objects } = platform();
    const spec = (made: typeof objects) => made.get('Deployment', 'kvasir-autoscaler').spec;
    expect(spec(objects)).toMatchObject({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    expect(objects.get('PodDisruptionBudget', 'kvasir-autoscaler').spec).toMatchObject({
      maxUnavailable: 1,
      selector: { matchLabels: { app: 'kvasir-autoscaler' } },
    });
    expect(spec(platform({ autoscaler: { replicas: 1 } }).objects)).toMatchObject({ replicas: 1 });
  });

  it.each<[string, InferencePlatformProps, GitOpsAppProps, readonly string[]]>([
    ['the router alone', { autoscaler: false, crds: 'external' }, {}, ['kvasir-router']],
    ['the autoscaler alone', { router: false, crds: 'external' }, {}, ['kvasir-autoscaler']],
  ])('makes %s', (_, props, app, deployments) => {
    const made = platform(props, app).objects;
    expect(made.ofKind('Deployment').map(({ metadata }) => metadata.name)).toEqual(deployments);
    expect(made.ofKind('CustomResourceDefinition')).toEqual([]);
  });
});

describe('definitions', () => {
  const groups = (kthena: KthenaPresence) =>
    new Set(
      platform({ router: false }, { cluster: Cluster.of({ kthena }) })
        .objects.ofKind('CustomResourceDefinition')
        .map(({ spec }) => (spec as { group: string }).group),
    );

  it.each<[KthenaPresence, readonly string[]]>([
    ['absent', ['networking.serving.volcano.sh', 'workload.serving.volcano.sh']],
    ['workload', ['networking.serving.volcano.sh']],
    ['networking', ['workload.serving.volcano.sh']],
    ['both', []],
  ])('that Kthena (%s) did not install are installed', (kthena, expected) => {
    expect([...groups(kthena)]).toEqual(expected);
  });
});

describe('rights', () => {
  const { objects } = platform();
  const rules = (kind: string, name: string) =>
    (
      objects.get(kind, name) as unknown as { rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[] }
    ).rules.flatMap(({ apiGroups, resources, verbs }) =>
      resources.map((resource) => `${apiGroups[0]}/${resource}: ${[...verbs].sort().join(' ')}`),
    );

  const workloads = [
    'apps/deployments: get list watch',
    'apps/statefulsets: get list watch',
    'workload.serving.volcano.sh/modelservings: get list watch',
    'leaderworkerset.x-k8s.io/leaderworkersets: get list watch',
  ];

  it('of the router are to read, and to write leases that wake', () => {
    expect(rules('ClusterRole', 'system:kvasir-router')).toEqual([
      'networking.serving.volcano.sh/modelroutes: get list watch',
      'networking.serving.volcano.sh/modelservers: get list watch',
      'networking.serving.volcano.sh/externalmodelproviders: get list watch',
      '/pods: get list watch',
      ...workloads,
      'coordination.k8s.io/leases: create patch',
    ]);
    expect(objects.ofKind('Role').map(({ metadata }) => metadata.name)).toEqual(['kvasir-autoscaler']);
  });

  it('of the autoscaler never reach Secrets, deletion, or what Deployments and StatefulSets run', () => {
    const all = rules('ClusterRole', 'system:kvasir-autoscaler');
    expect(all.filter((rule) => /\/(secrets|\*)|delete|create/.test(rule))).toEqual(['/events: create patch']);
    expect(all.filter((rule) => rule.startsWith('apps/'))).toEqual([
      'apps/deployments: get list watch',
      'apps/statefulsets: get list watch',
      'apps/deployments/scale: get update',
      'apps/statefulsets/scale: get update',
      // For the mark of a leader, which is an annotation.
      'apps/deployments/status: patch',
      'apps/statefulsets/status: patch',
    ]);
  });

  it('of the autoscaler change one Lease of its namespace, that of its configuration', () => {
    const made = platform({ autoscaler: { config: { leaseName: 'mine' } } }).objects;
    const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
    expect((made.get('Role', 'kvasir-autoscaler') as unknown as { rules: object[] }).rules).toEqual([
      { ...leases, verbs: ['create'] },
      { ...leases, resourceNames: ['mine'], verbs: ['get', 'update'] },
    ]);
  });

  it.each(['router', 'autoscaler'])('of the %s cover every kind that its source asks the cluster for', (part) => {
    const folder = join(__dirname, '../../../runtime', part);
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
    const text = sources.map((path) => readFileSync(join(folder, path), 'utf8')).join('\n');
    const kinds = new Set([...text.matchAll(/objects\.(?:list|get)\(\s*'(\w+)'/g)].map(([, kind]) => kind!));
    const granted = rules('ClusterRole', `system:kvasir-${part}`).filter((rule) => rule.endsWith(': get list watch'));
    expect(kinds.size).toBeGreaterThan(3);
    for (const kind of kinds) expect(granted.join('\n')).toContain(`/${kind.toLowerCase().replace(/y$/, 'ie')}s:`);
  });

  it('are bound to the accounts that the pods use', () => {
    for (const name of ['kvasir-router', 'kvasir-autoscaler']) {
      expect(template(objects.get('Deployment', name)).spec.serviceAccountName).toBe(name);
      expect(objects.get('ServiceAccount', name).metadata.namespace).toBe('system');
      expect(objects).toContainObject({
        kind: 'ClusterRoleBinding',
        metadata: { name: `system:${name}` },
        roleRef: { kind: 'ClusterRole', name: `system:${name}` },
        subjects: [{ kind: 'ServiceAccount', name, namespace: 'system' }],
      });
    }
  });
});

describe('under a stock cdk8s App', () => {
  it('errors are node validations', () => {
    const chart = new Chart(new App(), 'system');
    new InferencePlatform(chart, 'platform');
    expect(() => synth(chart)).toThrow(/kvasir-router is.*\[images\/not-given\]/);
    expect(() => chart.toJson()).toThrow(/\[system\/platform\/Router\].*images\/not-given/s);
  });
});
