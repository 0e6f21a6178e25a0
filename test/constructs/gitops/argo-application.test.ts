import { ApiObject, Chart } from 'cdk8s';
import { ArgoApplication, ArgoHealth, FluxKustomization, GitOpsApp } from '../../../constructs';
import { matchers, synth } from '../../../constructs/testing';
import { fixtureDefinition } from '../../helpers/fixture-definition';
import { sampleStack } from '../../helpers/sample-stack';

expect.extend(matchers);

const application = fixtureDefinition('argo/application-crd.yaml');
const kustomization = fixtureDefinition('flux/kustomize.toolkit.fluxcd.io_kustomizations.yaml');
const source = { repoUrl: 'https://git.example.com/platform.git', path: 'prod' };
const replicasOf = (name: string) => ({
  group: 'apps',
  kind: 'Deployment',
  namespace: 'llm',
  name,
  jsonPointers: ['/spec/replicas'],
});

/** Workloads that everything else than an AutoscalingPolicy on a Deployment scales. */
function addOtherScalers(chart: Chart): void {
  const object = (id: string, apiVersion: string, kind: string, spec: object) =>
    new ApiObject(chart, id, { apiVersion, kind, metadata: { name: id }, spec });
  object('hpa', 'autoscaling/v2', 'HorizontalPodAutoscaler', {
    scaleTargetRef: { apiVersion: 'leaderworkerset.x-k8s.io/v1', kind: 'LeaderWorkerSet', name: 'big' },
  });
  object('keda', 'keda.sh/v1alpha1', 'ScaledObject', { scaleTargetRef: { name: 'web' } });
  object('pd', 'workload.serving.volcano.sh/v1alpha1', 'ModelServing', {
    template: { roles: [{ name: 'prefill' }, { name: 'decode' }] },
  });
  object('roles', 'workload.serving.volcano.sh/v1alpha1', 'AutoscalingPolicyBinding', {
    policyRef: { name: 'p' },
    disaggregatedTarget: { targetRef: { name: 'pd' }, roles: { decode: {}, elsewhere: {} } },
  });
}

function applicationOf(spec: object): Readonly<Record<string, unknown>> {
  return spec as Readonly<Record<string, unknown>>;
}

describe('ArgoApplication', () => {
  it('fits the definition of Argo CD, compares on the server, and never empties a cluster', () => {
    const { app } = sampleStack();
    new ArgoApplication(new Chart(app, 'argocd', { namespace: 'argocd' }), 'platform', { source });
    const objects = synth(app);
    expect(objects).toBeValidFor(application);
    expect(objects).toContainObject({
      kind: 'Application',
      metadata: {
        name: 'platform',
        namespace: 'argocd',
        annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' },
      },
      spec: {
        project: 'default',
        source: {
          repoURL: 'https://git.example.com/platform.git',
          path: 'prod',
          targetRevision: 'HEAD',
          directory: { recurse: true },
        },
        destination: { server: 'https://kubernetes.default.svc' },
        syncPolicy: {
          automated: { prune: true, selfHeal: true, allowEmpty: false },
          syncOptions: ['ServerSideApply=true', 'RespectIgnoreDifferences=true'],
        },
      },
    });
  });

  it('ignores the replicas of every workload that a policy of the stack scales, and of no other', () => {
    const { app, models } = sampleStack();
    const chart = new Chart(app, 'argocd', { namespace: 'argocd' });
    new ArgoApplication(chart, 'all', { source });
    new ArgoApplication(chart, 'models', { source, manages: [models] });
    new ArgoApplication(chart, 'nothing', { source, manages: [chart] });
    const objects = synth(app);
    const ignored = (name: string) => applicationOf(objects.get('Application', name).spec as object).ignoreDifferences;
    const expected = ['own-mi300x', 'qwen3-8b-h100', 'qwen3-8b-l40s'].map(replicasOf);
    expect(ignored('all')).toEqual(expected);
    expect(ignored('models')).toEqual(expected);
    expect(ignored('nothing')).toEqual([]);
  });

  it('mistake 57, Argo CD resets autoscaled replicas: they are not written, ignored in the comparison, and left alone by a sync', () => {
    const { app } = sampleStack();
    const argo = new ArgoApplication(new Chart(app, 'argocd', { namespace: 'argocd' }), 'platform', { source });
    const { ignoreDifferences, syncPolicy } = argo.resource.toJson().spec;
    const objects = synth(app);
    const targets = objects
      .ofKind('AutoscalingPolicy')
      .flatMap(({ spec }) => [spec.homogeneousTarget, ...(spec.heterogeneousTarget?.params ?? [])])
      .flatMap((scaled) => scaled?.target?.targetRef.name ?? []);
    expect(targets.length).toBeGreaterThan(2);
    for (const name of targets) {
      expect(objects.get('Deployment', name).spec).not.toHaveProperty('replicas');
      expect(ignoreDifferences).toContainEqual(replicasOf(name));
    }
    expect(syncPolicy.syncOptions).toContain('RespectIgnoreDifferences=true');
  });

  it('ignores what other scalers write: HPA, KEDA, and roles of a ModelServing by their names', () => {
    const app = new GitOpsApp({ report: () => undefined });
    const chart = new Chart(app, 'c', { namespace: 'n' });
    addOtherScalers(chart);
    const argo = new ArgoApplication(chart, 'app', { source });
    expect(applicationOf(argo.resource.toJson().spec).ignoreDifferences).toEqual([
      { group: 'apps', kind: 'Deployment', namespace: 'n', name: 'web', jsonPointers: ['/spec/replicas'] },
      {
        group: 'leaderworkerset.x-k8s.io',
        kind: 'LeaderWorkerSet',
        namespace: 'n',
        name: 'big',
        jsonPointers: ['/spec/replicas'],
      },
      ...['decode', 'elsewhere'].map((role) => ({
        group: 'workload.serving.volcano.sh',
        kind: 'ModelServing',
        namespace: 'n',
        name: 'pd',
        jqPathExpressions: [`.spec.template.roles[] | select(.name == "${role}") | .replicas`],
      })),
    ]);
  });

  it('syncs by hand, to another cluster, with further options when told so', () => {
    const app = new GitOpsApp();
    const argo = new ArgoApplication(new Chart(app, 'c'), 'app', {
      source: { ...source, targetRevision: 'release' },
      destination: { name: 'gpu-west' },
      project: 'serving',
      automated: false,
      syncOptions: ['CreateNamespace=true'],
      ignoreDifferences: [{ kind: 'Secret', name: 'hf', jsonPointers: ['/data'] }],
    });
    const object = argo.resource.toJson();
    expect(object).toBeValidFor(application);
    expect(object.spec).toMatchObject({
      project: 'serving',
      source: { targetRevision: 'release' },
      destination: { name: 'gpu-west' },
      ignoreDifferences: [{ kind: 'Secret', name: 'hf', jsonPointers: ['/data'] }],
    });
    expect(object.spec.syncPolicy.automated).toBeUndefined();
    expect(object.spec.syncPolicy.syncOptions).toContain('CreateNamespace=true');
  });
});

describe('FluxKustomization', () => {
  it('fits the definition of Flux and ignores the replicas that scalers own, roles by their place', () => {
    const app = new GitOpsApp({ report: () => undefined });
    const chart = new Chart(app, 'c', { namespace: 'n' });
    addOtherScalers(chart);
    const flux = new FluxKustomization(chart, 'platform', {
      sourceRef: { kind: 'GitRepository', name: 'platform' },
      path: './prod',
    });
    const object = flux.resource.toJson();
    expect(object).toBeValidFor(kustomization);
    expect(object.spec).toMatchObject({ path: './prod', interval: '10m', prune: true, force: false });
    expect(object.spec.ignore).toEqual([
      { paths: ['/spec/replicas'], target: { group: 'apps', kind: 'Deployment', name: 'web', namespace: 'n' } },
      {
        paths: ['/spec/replicas'],
        target: { group: 'leaderworkerset.x-k8s.io', kind: 'LeaderWorkerSet', name: 'big', namespace: 'n' },
      },
      {
        paths: ['/spec/template/roles/1/replicas'],
        target: { group: 'workload.serving.volcano.sh', kind: 'ModelServing', name: 'pd', namespace: 'n' },
      },
    ]);
  });
});

describe('ArgoHealth', () => {
  it('writes only its own entries into the ConfigMap that Argo CD reads, and is never removed with the stack', () => {
    const chart = new Chart(new GitOpsApp(), 'argocd', { namespace: 'argocd' });
    new ArgoHealth(chart, 'health');
    const object = synth(chart).get('ConfigMap', 'argocd-cm');
    expect(object.metadata.labels).toEqual({ 'app.kubernetes.io/part-of': 'argocd' });
    expect(object.metadata.annotations?.['argocd.argoproj.io/sync-options']).toBe(
      'ServerSideApply=true,Prune=false,Delete=false',
    );
    expect(object.data).toEqual(ArgoHealth.entries);
    const ignored = 'resource.customizations.ignoreResourceUpdates.workload.serving.volcano.sh_AutoscalingPolicy';
    expect(ArgoHealth.entries[ignored]).toBe('jsonPointers:\n- /status\n');
  });
});
