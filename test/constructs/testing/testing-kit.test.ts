import { ApiObject, Chart, Testing } from 'cdk8s';
import { GitOpsApp, ModelRoute } from '../../../constructs';
import { matchers, snapshotSerializer, synth } from '../../../constructs/testing';
import { fixtureDefinition } from '../../helpers/fixture-definition';
import { sampleStack } from '../../helpers/sample-stack';

expect.extend(matchers);

const chart = new Chart(Testing.app(), 'c', { namespace: 'n' });
for (const name of ['a', 'b']) {
  new ApiObject(chart, name, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { x: name },
    list: [{ one: 1, two: 2 }],
  });
}
const objects = synth(chart);

describe('synth', () => {
  it('finds objects by kind and name', () => {
    expect(objects.get('ConfigMap', 'a').data).toEqual({ x: 'a' });
    expect(objects.ofKind('ConfigMap').map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(() => objects.get('ConfigMap', 'z')).toThrow('no ConfigMap z among ConfigMap a, ConfigMap b');
  });

  it('takes only what is under the construct given', () => {
    const app = Testing.app();
    const [one, two] = ['one', 'two'].map((id) => new Chart(app, id)) as [Chart, Chart];
    new ApiObject(two, 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } });
    expect([synth(one).all.length, synth(two).all.length, synth(app).all.length]).toEqual([0, 1, 1]);
  });

  it('throws what GitOpsApp would throw', () => {
    const app = new GitOpsApp();
    const broken = new Chart(app, 'c');
    new ModelRoute(broken, 'r').splitTraffic([{ server: 'nobody' }]);
    expect(() => synth(broken)).toThrow(/\[routing\/missing-server\]/);
    app.findings.acknowledge('routing/missing-server', broken, 'lives in another repository');
    expect(synth(broken).all.length).toBe(1);
  });
});

describe('toContainObject', () => {
  it.each([
    ['fields of an object that has more', { kind: 'ConfigMap', data: { x: 'b' } }],
    ['a part of each element of a list', { kind: 'ConfigMap', metadata: { name: 'a' }, list: [{ two: 2 }] }],
  ])('passes on %s', (_, expected) => {
    expect(objects).toContainObject(expected);
  });

  it.each([
    [
      'another value',
      { kind: 'ConfigMap', metadata: { name: 'a' }, data: { x: 'z' } },
      'ConfigMap a differs at data.x: "a" where "z" is expected',
    ],
    [
      'a field that is not there',
      { kind: 'ConfigMap', metadata: { name: 'b' }, data: { y: 'z' } },
      'ConfigMap b differs at data.y: undefined where "z" is expected',
    ],
    ['a longer list', { kind: 'ConfigMap', list: [{}, {}] }, /ConfigMap a differs at list:/],
    ['another kind', { kind: 'Secret' }, 'no Secret of any name among ConfigMap a, ConfigMap b'],
  ])('fails on %s and says where', (_, expected, message) => {
    expect(objects).not.toContainObject(expected);
    expect(() => expect(objects).toContainObject(expected)).toThrow(message);
  });

  it('fails on something that was not synthesized', () => {
    expect(() => expect([]).toContainObject({ kind: 'Secret' })).toThrow('takes what synth(chart) returns');
  });
});

describe('toBeValidFor', () => {
  const stack = synth(sampleStack().app);
  const route = stack.get('ModelRoute', 'llama');

  it('passes on every object of a kind of ours in a stack, and on one alone', () => {
    expect(stack).toBeValidFor('ModelRoute');
    expect(stack).toBeValidFor('AutoscalingPolicy');
    expect(route).toBeValidFor('ModelRoute');
  });

  it('fails on an unknown field, on a broken rule and on another kind, and names object and field', () => {
    const { spec } = route;
    expect(() => expect({ ...route, spec: { ...spec, modelNam: 'x' } }).toBeValidFor('ModelRoute')).toThrow(
      /ModelRoute llama: spec\.modelNam: unknown field/,
    );
    const rules = [{ targetModels: [{ modelServerName: 'llama', weight: 101 }] }];
    expect(() => expect({ ...route, spec: { ...spec, rules } }).toBeValidFor('ModelRoute')).toThrow(
      /ModelRoute llama: spec\.rules/,
    );
    expect(() => expect(stack.get('ModelServer', 'llama')).toBeValidFor('ModelRoute')).toThrow(/ModelServer where a ModelRoute/);
  });

  it('fails when there is no object of the kind, or no such kind', () => {
    expect(() => expect(stack).toBeValidFor('ModelBooster')).toThrow('there is no ModelBooster to be valid');
    expect(() => expect(stack).toBeValidFor('Deployment' as 'ModelRoute')).toThrow(
      /give the CustomResourceDefinition of Deployment/,
    );
  });

  it('takes the definition of any other kind', () => {
    const definition = fixtureDefinition('argo/application-crd.yaml');
    const valid = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name: 'a' },
      spec: { project: 'p', destination: {} },
    };
    expect(valid).toBeValidFor(definition);
    expect(() => expect({ ...valid, spec: { project: 1, destination: {}, odd: true } }).toBeValidFor(definition)).toThrow(
      /Application a: \/spec must NOT have additional properties.*odd.*Application a: \/spec\/project must be string/,
    );
    expect(() => expect({ ...valid, apiVersion: 'argoproj.io/v2' }).toBeValidFor(definition)).toThrow(/argoproj\.io\/v1alpha1/);
  });
});

describe('toCostAtMost', () => {
  const { app, models, qwen } = sampleStack();

  it('compares with the most replicas, or the fewest', () => {
    expect(qwen).toCostAtMost(42.4);
    expect(qwen).not.toCostAtMost(42.39);
    expect(qwen).toCostAtMost(1.2, { at: 'min' });
    expect(() => expect(qwen).toCostAtMost(1)).toThrow(
      /costs 42\.4 an hour at max replicas where 1 is the most: qwen3-8b-h100 32\.8, qwen3-8b-l40s 9\.6/,
    );
  });

  it('fails on models without a price and on what is no construct, and says why', () => {
    expect(() => expect(models).toCostAtMost(1)).toThrow(/costs|price/);
    expect(() => expect(synth(app)).toCostAtMost(1)).toThrow('takes an app, a chart or a construct');
  });
});

describe('snapshotSerializer', () => {
  const objectsOf = (names: readonly string[]) => {
    const made = new Chart(Testing.app(), 'c', { namespace: 'site' });
    for (const name of names)
      new ApiObject(made, name, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { b: '1', a: name } });
    return synth(made);
  };

  it('writes the same text in whatever order a stack makes its objects', () => {
    const text = snapshotSerializer.serialize(objectsOf(['b', 'a']));
    expect(snapshotSerializer.serialize(objectsOf(['a', 'b']))).toBe(text);
    expect(text.split('---\n')[0]).toBe(
      'apiVersion: v1\ndata:\n  a: a\n  b: "1"\nkind: ConfigMap\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-wave: "-1"\n  name: a\n  namespace: site\n',
    );
  });

  it('hides nothing: every value of every object is in it', () => {
    const stack = synth(sampleStack().app);
    const text = snapshotSerializer.serialize(stack);
    expect(text.split('\n---\n')).toHaveLength(stack.all.length);
    for (const { metadata } of stack.all) expect(text).toContain(`name: ${metadata.name}`);
  });

  it('takes only what synth returns', () => {
    expect([snapshotSerializer.test(objects), snapshotSerializer.test([])]).toEqual([true, false]);
  });
});
