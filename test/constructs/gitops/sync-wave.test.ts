import { ApiObject, App, Chart } from 'cdk8s';
import { SYNC_WAVE, syncWaves } from '../../../constructs/gitops/sync-wave';
import { walk } from '../../../constructs/gitops/walk';
import { synth } from '../../../constructs/testing';

function object(chart: Chart, kind: string, name = kind.toLowerCase()): ApiObject {
  return new ApiObject(chart, `${kind}-${name}`, { apiVersion: 'v1', kind, metadata: { name } });
}

function wavesOf(app: App): Readonly<Record<string, number>> {
  const { objects, constructs } = walk(app);
  const waves = syncWaves(objects, constructs);
  return Object.fromEntries(objects.map((entry) => [entry.kind, waves.get(entry) ?? 0]));
}

describe('sync waves', () => {
  it('put what others need first, and pods, claims, routes and policies into one wave', () => {
    const app = new App();
    const chart = new Chart(app, 'c');
    for (const kind of [
      'AutoscalingPolicy',
      'ConfigMap',
      'CustomResourceDefinition',
      'Deployment',
      'ModelRoute',
      'Namespace',
      'PersistentVolumeClaim',
      'Role',
    ]) {
      object(chart, kind);
    }
    expect(wavesOf(app)).toEqual({
      AutoscalingPolicy: 0,
      ConfigMap: -1,
      CustomResourceDefinition: -2,
      Deployment: 0,
      ModelRoute: 0,
      Namespace: -2,
      PersistentVolumeClaim: 0,
      Role: -2,
    });
  });

  it('are raised above those of what a construct depends on, through several steps', () => {
    const app = new App();
    const chart = new Chart(app, 'c');
    const [a, b, c] = ['A', 'B', 'C'].map((kind) => object(chart, kind)) as [ApiObject, ApiObject, ApiObject];
    b.node.addDependency(c);
    a.node.addDependency(b);
    expect(wavesOf(app)).toEqual({ A: 2, B: 1, C: 0 });
  });

  it('name a cycle instead of looping', () => {
    const app = new App();
    const chart = new Chart(app, 'c');
    const [a, b] = ['A', 'B'].map((kind) => object(chart, kind)) as [ApiObject, ApiObject];
    a.node.addDependency(b);
    b.node.addDependency(a);
    expect(() => wavesOf(app)).toThrow(/form a cycle/);
  });

  it('are written as text, wave 0 not at all, and an own annotation stays', () => {
    const chart = new Chart(new App(), 'c');
    object(chart, 'Role');
    object(chart, 'Pod');
    object(chart, 'ConfigMap').metadata.addAnnotation(SYNC_WAVE, '7');
    const wave = (kind: string) => synth(chart).ofKind(kind)[0]!.metadata.annotations?.[SYNC_WAVE];
    expect([wave('Role'), wave('Pod'), wave('ConfigMap')]).toEqual(['-2', undefined, '7']);
  });
});

describe('what pods wait for and what waits for pods', () => {
  const pods = (chart: Chart, id: string, annotations: Record<string, string> = {}) =>
    new ApiObject(chart, id, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: id, annotations },
      spec: {
        template: {
          metadata: { annotations: { 'scheduling.k8s.io/group-name': 'gang' } },
          spec: {
            containers: [{ name: 'a', image: 'r/a:1' }],
            volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'weights' } }],
          },
        },
      },
    });
  const shared = (chart: Chart) => {
    new ApiObject(chart, 'claim', { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'weights' } });
    new ApiObject(chart, 'gang', { apiVersion: 'scheduling.volcano.sh/v1beta1', kind: 'PodGroup', metadata: { name: 'gang' } });
  };
  const wavesIn = (chart: Chart) =>
    Object.fromEntries(synth(chart).all.map((object) => [object.metadata.name, object.metadata.annotations?.[SYNC_WAVE] ?? '0']));

  it('share the wave of the pods that come first, when a dependency raises all of them', () => {
    const chart = new Chart(new App(), 'c');
    shared(chart);
    const base = object(chart, 'Base');
    const [early, late] = [pods(chart, 'early'), pods(chart, 'late')];
    early.node.addDependency(base);
    late.node.addDependency(early);
    expect(wavesIn(chart)).toEqual({ base: '0', early: '1', late: '2', weights: '1', gang: '1' });
  });

  it('share the wave of pods that an annotation of their own moves', () => {
    const chart = new Chart(new App(), 'c');
    shared(chart);
    pods(chart, 'early', { [SYNC_WAVE]: '3' });
    expect(wavesIn(chart)).toEqual({ early: '3', weights: '3', gang: '3' });
  });

  it('are told apart by namespace', () => {
    const app = new App();
    shared(new Chart(app, 'one', { namespace: 'one' }));
    pods(new Chart(app, 'two', { namespace: 'two' }), 'early', { [SYNC_WAVE]: '3' });
    expect(wavesIn(app.node.children[0] as Chart)).toEqual({ weights: '0', gang: '0' });
  });
});

describe('what no sync may remove', () => {
  const annotationsOf = (apiVersion: string, kind: string, annotations: Record<string, string> = {}) => {
    const chart = new Chart(new App(), 'c');
    new ApiObject(chart, 'o', { apiVersion, kind, metadata: { name: 'o', annotations } });
    const { [SYNC_WAVE]: _, ...rest } = synth(chart).all[0]!.metadata.annotations ?? {};
    return rest;
  };
  const kept = {
    'argocd.argoproj.io/sync-options': 'Prune=false',
    'kustomize.toolkit.fluxcd.io/prune': 'disabled',
  };

  it.each([
    ['a claim says so to Argo CD and to Flux', 'v1', 'PersistentVolumeClaim', {}, kept],
    ['a definition too', 'apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}, kept],
    ['anything else says nothing', 'v1', 'ConfigMap', {}, {}],
    [
      'options that are there stay',
      'v1',
      'PersistentVolumeClaim',
      { 'argocd.argoproj.io/sync-options': 'Replace=true' },
      { ...kept, 'argocd.argoproj.io/sync-options': 'Replace=true,Prune=false' },
    ],
    [
      'a choice of its own wins',
      'v1',
      'PersistentVolumeClaim',
      { 'argocd.argoproj.io/sync-options': 'Prune=confirm', 'kustomize.toolkit.fluxcd.io/prune': 'enabled' },
      { 'argocd.argoproj.io/sync-options': 'Prune=confirm', 'kustomize.toolkit.fluxcd.io/prune': 'enabled' },
    ],
  ])('%s', (_, apiVersion, kind, annotations, expected) => {
    expect(annotationsOf(apiVersion, kind, annotations)).toEqual(expected);
  });
});
