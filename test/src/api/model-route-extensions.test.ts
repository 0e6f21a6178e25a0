import { decodeKind } from '../../../src/api/decode-object';
import type { ModelRouteManifest } from '../../../src/api/model-route';
import { extensionsAsAnnotations } from '../../../src/api/model-route-extensions';
import { modelRoute, withFields } from '../../helpers/api-objects';

type Spec = ModelRouteManifest['spec'];

const extended: Spec = {
  modelName: 'chat',
  rules: [
    { name: 'first', targetModels: [{ modelServerName: 'a' }], shadow: { modelServerName: 'b', percent: 10 } },
    { targetModels: [{ modelServerName: 'a' }] },
  ],
  rateLimit: { inputTokensPerUnit: 5, requestsPerUnit: 3, unit: 'minute' },
  sessionAffinity: { source: 'cookie', name: 'session', ttl: '30m' },
  tenantIsolation: { salt: 'tenant' },
};

const decoded = (object: object) => decodeKind('ModelRoute', object);
const specOf = (object: object) => {
  const outcome = decoded(object);
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.findings));
  return outcome.value.spec;
};

describe('extensions of ModelRoute as annotations', () => {
  const { spec, annotations } = extensionsAsAnnotations(extended);

  it('leave a spec that Kthena’s definition takes', () => {
    expect(spec).toEqual({
      modelName: 'chat',
      rules: [{ name: 'first', targetModels: [{ modelServerName: 'a' }] }, { targetModels: [{ modelServerName: 'a' }] }],
      rateLimit: { inputTokensPerUnit: 5, unit: 'minute' },
    });
    expect(annotations).toEqual({
      'kvasir.dev/session-affinity': '{"source":"cookie","name":"session","ttl":"30m"}',
      'kvasir.dev/requests-per-unit': '3',
      'kvasir.dev/tenant-isolation': '{"salt":"tenant"}',
      'kvasir.dev/shadow': '[{"modelServerName":"b","percent":10},null]',
    });
  });

  it('are none for a route without', () => {
    expect(extensionsAsAnnotations(modelRoute.spec)).toEqual({ spec: modelRoute.spec, annotations: {} });
  });

  it('read as the fields themselves', () => {
    const annotated = { ...modelRoute, metadata: { ...modelRoute.metadata, annotations }, spec };
    expect(specOf(annotated)).toEqual(specOf({ ...modelRoute, spec: extended }));
  });

  it('give way to the fields', () => {
    const annotated = withFields(modelRoute, {
      'metadata.annotations': annotations,
      spec: { ...extended, sessionAffinity: { source: 'header', name: 'x' }, rules: extended.rules },
    });
    expect(specOf(annotated).sessionAffinity).toEqual({ source: 'header', name: 'x', ttl: '1h' });
  });

  it.each([
    ['is no JSON', { 'kvasir.dev/session-affinity': 'cookie' }, 'model-route/annotation', 'metadata.annotations'],
    ['is no number', { 'kvasir.dev/requests-per-unit': '"many"' }, 'schema/type', 'spec.rateLimit.requestsPerUnit'],
    ['counts other rules', { 'kvasir.dev/shadow': '[null,null]' }, 'model-route/annotation', 'metadata.annotations'],
    ['says what no field says', { 'kvasir.dev/session-affinity': '{"source":"ip"}' }, 'schema/enum', 'spec.sessionAffinity'],
  ])('are refused when one %s', (_, wrong, code, field) => {
    const { kind, findings } = decoded(withFields(modelRoute, { 'metadata.annotations': wrong }));
    expect(kind).toBe('invalid');
    expect(findings).toContainEqual(expect.objectContaining({ code, field: expect.stringContaining(field) as string }));
  });
});
