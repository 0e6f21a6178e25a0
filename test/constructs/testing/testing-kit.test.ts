import { ApiObject, Chart, Testing } from 'cdk8s';
import { GitOpsApp, ModelRoute } from '../../../constructs';
import { matchers, synth } from '../../../constructs/testing';

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
