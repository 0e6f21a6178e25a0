import { ApiObject, type ApiObjectMetadata, type ApiObjectMetadataDefinition, Chart, JsonPatch, Lazy } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { GitOpsApp, KubeModelRoute } from '../../constructs';
import { KubeApiObject } from '../../constructs/kube/kube-object';
import { sampleStack } from '../helpers/sample-stack';

/** As cdk8s itself renders an object. */
const stock = (object: ApiObject): unknown => ApiObject.prototype.toJson.call(object);

describe('an L1 object of ours', () => {
  it('renders as cdk8s renders it, in every stack', () => {
    const { app } = sampleStack();
    const own = app.node
      .findAll()
      .filter(
        (construct): construct is KubeApiObject<object> =>
          construct instanceof KubeApiObject && construct.toJson === KubeApiObject.prototype.toJson,
      );
    expect(own.length).toBeGreaterThan(8);
    for (const object of own) expect(JSON.stringify(object.toJson())).toBe(JSON.stringify(stock(object)));
  });

  it.each([
    ['lazy values, nested', { a: Lazy.any({ produce: () => ({ b: Lazy.any({ produce: () => [1, undefined] }) }) }) }],
    ['absent fields', { z: 1, a: undefined, n: null, list: [{ b: null, a: 1 }], empty: {}, none: [] }],
    ['quantities and unions of the typed classes', { port: k8s.IntOrString.fromNumber(1), cpu: k8s.Quantity.fromString('1') }],
    ['tokens', { a: { resolve: () => ({ y: 1, x: 2 }) } }],
  ])('takes %s as cdk8s does', (_, spec) => {
    const chart = new Chart(new GitOpsApp(), 'c');
    const object = new KubeModelRoute(chart, 'r', { metadata: { name: 'r', labels: { b: '1', a: '2' } }, spec: spec as never });
    expect(JSON.stringify(object.toJson())).toBe(JSON.stringify(stock(object)));
  });

  it.each<[string, ApiObjectMetadata, (metadata: ApiObjectMetadataDefinition) => void]>([
    [
      'labels and annotations that were added later',
      { name: 'r' },
      (m) => {
        m.addLabel('b', '1');
        m.addAnnotation('a', '2');
      },
    ],
    ['maps without anything in them', { name: 'r', labels: {}, annotations: { none: undefined as never } }, () => undefined],
    ['a lazy label', { name: 'r', labels: { app: Lazy.any({ produce: () => 'x' }) as never } }, () => undefined],
    ['a finalizer', { name: 'r', finalizers: ['keep'] }, (m) => m.addFinalizers('more')],
    [
      'an owner',
      { name: 'r' },
      (m) => m.addOwnerReference({ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: undefined as never }),
    ],
    ['fields of its own', { name: 'r', generateName: 'r-', managedFields: [], nested: { none: {} } }, (m) => m.add('more', 1)],
  ])('takes metadata with %s as cdk8s does', (_, metadata, change) => {
    const chart = new Chart(new GitOpsApp(), 'c', { namespace: 'n' });
    const object = new KubeModelRoute(chart, 'r', { metadata, spec: { rules: [] } as never });
    change(object.metadata);
    expect(JSON.stringify(object.toJson())).toBe(JSON.stringify(stock(object)));
  });

  it('is patched as any other', () => {
    const chart = new Chart(new GitOpsApp(), 'c');
    const object = new KubeModelRoute(chart, 'r', { metadata: { name: 'r' }, spec: { rules: [] } as never });
    object.addJsonPatch(JsonPatch.add('/spec/modelName', 'm'));
    expect(object.toJson().spec).toEqual({ modelName: 'm', rules: [] });
  });
});
