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
