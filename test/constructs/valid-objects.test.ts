import { type AnyObject, synth } from '../../constructs/testing';
import { apiKindOf } from '../../src/api/kinds';
import { coreObjectProblems } from '../helpers/core-object-problems';
import { crdProblems } from '../helpers/crd-problems';
import { sampleStack } from '../helpers/sample-stack';

const objects = synth(sampleStack().app).all;
const named = (list: readonly AnyObject[]) => list.map((object) => [`${object.kind} ${object.metadata.name}`, object] as const);

describe('every object of a stack', () => {
  it.each(named(objects.filter((object) => apiKindOf(object) === undefined)))(
    '%s has only fields of the core API, of the right types',
    (_, object) => {
      expect(coreObjectProblems(object)).toEqual([]);
    },
  );

  it.each(named(objects.filter((object) => apiKindOf(object) !== undefined)))(
    '%s fits the schema of its definition',
    (_, object) => {
      expect(crdProblems(object)).toEqual([]);
    },
  );

  it('is of a kind that is checked above, and there are some of both', () => {
    const ours = objects.filter((object) => apiKindOf(object) !== undefined);
    expect(ours.length).toBeGreaterThan(6);
    expect(objects.length - ours.length).toBeGreaterThan(20);
  });
});

describe('the walker over the core API', () => {
  const deployment = objects.find(({ kind }) => kind === 'Deployment')!;
  const spec = deployment.spec as Readonly<Record<string, unknown>>;

  it.each([
    ['an unknown field', { spec: { ...spec, replica: 1 } }, 'spec.replica is no field'],
    ['a wrong primitive', { spec: { ...spec, replicas: '1' } }, 'spec.replicas is "1", no number'],
    [
      'a quantity that was not serialized',
      { spec: { template: { spec: { containers: [{ name: 'a', resources: { limits: { cpu: { value: 1 } } } }] } } } },
      'spec.template.spec.containers[0].resources.limits.cpu is {"value":1}, no string',
    ],
  ])('finds %s', (_, change, problem) => {
    expect(coreObjectProblems({ ...deployment, ...change })).toContain(problem);
  });
});
