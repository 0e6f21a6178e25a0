import { decodeKind } from '../../../src/api/decode-object';
import type { KubeObject } from '../../../src/api/meta';
import { checkReferences } from '../../../src/checks/references';
import { autoscalingPolicy, withField } from '../../helpers/api-objects';

const set = (mode: 'External' | 'Static', namespace = 'models'): KubeObject => {
  const object = {
    apiVersion: 'disaggregatedset.x-k8s.io/v1',
    kind: 'DisaggregatedSet',
    metadata: { name: 'pd', namespace },
    spec: { roles: ['prefill', 'decode'].map((name) => ({ name, scaling: { mode }, spec: {} })) },
  };
  return object;
};

function policyOn(name: string): KubeObject {
  const ref = { kind: 'DisaggregatedSetRoleScaler', name };
  const outcome = decodeKind('AutoscalingPolicy', withField(autoscalingPolicy, 'spec.homogeneousTarget.target.targetRef', ref));
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.findings));
  return outcome.value;
}

const found = (...objects: readonly KubeObject[]) =>
  checkReferences(objects.map((object) => ({ object })))
    .map(({ code }) => code)
    .filter((code) => code.startsWith('autoscaling/'));

describe('a policy on a role of a DisaggregatedSet', () => {
  it('finds the scaler that the controller makes of a role which is scaled from outside', () => {
    expect(found(policyOn('pd-decode'), set('External'))).toEqual([]);
  });

  it.each([
    ['a role that is not there', 'pd-encode', set('External')],
    ['a role whose replicas are written', 'pd-decode', set('Static')],
    ['a set of another namespace', 'pd-decode', set('External', 'other')],
  ])('misses %s', (_, name, object) => {
    expect(found(policyOn(name), object)).toEqual(['autoscaling/missing-target']);
  });
});
