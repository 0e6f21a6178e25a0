import { decodeKind, decodeObject } from '../../../src/api/decode-object';
import { apiKindOf } from '../../../src/api/kinds';
import { nearestName } from '../../../src/api/nearest-name';
import { findingLine } from '../../../src/errors';
import {
  autoscalingPolicy,
  autoscalingPolicyBinding,
  disaggregatedBooster,
  disaggregatedPolicy,
  externalModelProvider,
  modelBooster,
  modelRoute,
  modelServer,
  modelServing,
  withField,
  withFields,
} from '../../helpers/api-objects';

const lines = (object: unknown, file?: string) => decodeObject(object, file).findings.map(findingLine);

const all = [
  modelRoute,
  modelServer,
  externalModelProvider,
  autoscalingPolicy,
  disaggregatedPolicy,
  autoscalingPolicyBinding,
  modelBooster,
  disaggregatedBooster,
  modelServing,
].map((object) => [object.kind, object] as const);

describe('decodeObject', () => {
  it.each(all)('gives a frozen %s that reads as itself', (_kind, object) => {
    const first = decodeObject(object);
    if (first.kind === 'invalid') throw new Error(lines(object).join('\n'));
    expect(decodeObject(first.value)).toEqual(first);
    const unfrozen: unknown[] = [];
    const walk = (value: unknown) => {
      if (typeof value !== 'object' || value === null) return;
      if (!Object.isFrozen(value)) unfrozen.push(value);
      Object.values(value).forEach(walk);
    };
    walk(first.value);
    expect(unfrozen).toEqual([]);
  });

  it('fills defaults into nested objects, and makes no object for them', () => {
    const object = withFields(modelRoute, { 'spec.rateLimit': {}, 'spec.parentRefs': [{ name: 'edge' }] });
    const route = decodeKind('ModelRoute', object);
    expect(route).toMatchObject({
      kind: 'valid',
      value: {
        spec: {
          rules: [{ targetModels: [{ weight: 100 }] }],
          rateLimit: { unit: 'second' },
          parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway' }],
        },
      },
    });
    const server = decodeKind('ModelServer', modelServer);
    if (server.kind === 'invalid') throw new Error('invalid');
    expect(server.value.spec.workloadPort.protocol).toBe('http');
    expect(server.value.spec.kvConnector).toBeUndefined();
    expect(server.value.spec.trafficPolicy).toBeUndefined();
  });

  it('takes a null field as absent, before defaults', () => {
    const route = decodeKind(
      'ModelRoute',
      withFields(modelRoute, { 'spec.loraAdapters': null, 'spec.rules[0].targetModels[0].weight': null }),
    );
    if (route.kind === 'invalid') throw new Error('invalid');
    expect(route.value.spec.rules[0]!.targetModels[0]!.weight).toBe(100);
    expect('loraAdapters' in route.value.spec).toBe(false);
  });

  it.each([
    [
      'a typing error',
      'spec.rules[0].targetModel',
      [],
      'ModelRoute models/chat: spec.rules[0].targetModel: unknown field "targetModel"; did you mean "targetModels"? Rename or remove it [schema/unknown-field]',
    ],
    [
      'something else',
      'spec.color',
      'blue',
      'ModelRoute models/chat: spec.color: unknown field "color"; remove it (known here: loraAdapters, modelName, parentRefs, rateLimit, rules, sessionAffinity, tenantIsolation) [schema/unknown-field]',
    ],
    [
      'a name in the wrong case',
      'spec.modelname',
      'x',
      'ModelRoute models/chat: spec.modelname: unknown field "modelname"; did you mean "modelName"? Rename or remove it [schema/unknown-field]',
    ],
    [
      'a name with a space',
      'spec.rate limit',
      {},
      'ModelRoute models/chat: spec["rate limit"]: unknown field "rate limit"; did you mean "rateLimit"? Rename or remove it [schema/unknown-field]',
    ],
    [
      'metadata',
      'metadata.label',
      {},
      'ModelRoute models/chat: metadata.label: unknown field "label"; did you mean "labels"? Rename or remove it [schema/unknown-field]',
    ],
    [
      'the object',
      'specs',
      {},
      'ModelRoute models/chat: specs: unknown field "specs"; did you mean "spec"? Rename or remove it [schema/unknown-field]',
    ],
    [
      'a prototype',
      'spec.constructor',
      1,
      'ModelRoute models/chat: spec.constructor: unknown field "constructor"; remove it (known here: loraAdapters, modelName, parentRefs, rateLimit, rules, sessionAffinity, tenantIsolation) [schema/unknown-field]',
    ],
  ])('tells of an unknown field in one line: %s', (_what, path, value, line) => {
    expect(lines(withField(modelRoute, path, value))).toEqual([line]);
  });

  it('names the file, and every fault of the object', () => {
    const object = withFields(modelRoute, {
      'spec.rules[0].targetModels[0].weight': '5',
      'spec.colour': 1,
      'metadata.name': 'Chat',
    });
    expect(lines(object, 'apps/chat.yaml')).toEqual([
      'apps/chat.yaml: ModelRoute models/Chat: metadata.name: "Chat" is no object name; use lower-case letters, digits, - and . [metadata/name]',
      'apps/chat.yaml: ModelRoute models/Chat: spec.colour: unknown field "colour"; remove it (known here: loraAdapters, modelName, parentRefs, rateLimit, rules, sessionAffinity, tenantIsolation) [schema/unknown-field]',
      'apps/chat.yaml: ModelRoute models/Chat: spec.rules[0].targetModels[0].weight: "5" is not of type integer; write a value of type integer [schema/type]',
    ]);
  });

  it.each([
    ['no object', 5, 'object default/?: 5 is no object; give a Kubernetes object [object/not-an-object]'],
    [
      'a kind of somebody else',
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } },
      'Pod default/a: kind: "v1" "Pod" is not one of ours; use one of ModelRoute, ModelServer, ExternalModelProvider, AutoscalingPolicy, AutoscalingPolicyBinding, ModelBooster, ModelServing [object/unknown-kind]',
    ],
    [
      'our kind in another group',
      { apiVersion: 'other.example/v1', kind: 'ModelRoute' },
      'ModelRoute default/?: kind: "other.example/v1" "ModelRoute" is not one of ours; use apiVersion networking.serving.volcano.sh/v1alpha1 [object/unknown-kind]',
    ],
    [
      'a version that is not served',
      { ...modelRoute, apiVersion: 'networking.serving.volcano.sh/v1' },
      'ModelRoute models/chat: apiVersion: "networking.serving.volcano.sh/v1" is not served; use networking.serving.volcano.sh/v1alpha1 [object/version]',
    ],
    [
      'no name',
      withField(modelRoute, 'metadata', undefined),
      'ModelRoute default/?: metadata.name: missing; give the object a name [metadata/name]',
    ],
    [
      'metadata that is none',
      withField(modelRoute, 'metadata', 'x'),
      'ModelRoute default/?: metadata: "x" is no object; give the object a name [schema/type]',
    ],
    [
      'a label that is a number',
      withField(modelRoute, 'metadata.labels', { a: 1 }),
      'ModelRoute models/chat: metadata.labels.a: 1 is no string; put the value in quotes [metadata/label]',
    ],
    [
      'labels that are a list',
      withField(modelRoute, 'metadata.labels', ['a']),
      'ModelRoute models/chat: metadata.labels: ["a"] is no map; write key: value [metadata/label]',
    ],
    [
      'a namespace that cannot be',
      withField(modelRoute, 'metadata.namespace', 'a.b'),
      'ModelRoute a.b/chat: metadata.namespace: "a.b" is no namespace; use lower-case letters, digits and - [metadata/namespace]',
    ],
    [
      'a spec that is a list',
      withField(modelRoute, 'spec', []),
      'ModelRoute models/chat: spec: [] is not of type object; write a value of type object [schema/type]',
    ],
    [
      'a fraction where a quantity is',
      withField(autoscalingPolicy, 'spec.metrics[0].targetValue', 0.5),
      'AutoscalingPolicy models/chat: spec.metrics[0].targetValue: 0.5 is neither a whole number nor a string; put it in quotes: "0.5" [schema/type]',
    ],
  ])('refuses %s in one line', (_what, object, line) => {
    expect(lines(object)).toEqual([line]);
  });

  it('leaves out what a newer controller adds to a status, with a warning', () => {
    const outcome = decodeObject(withField(autoscalingPolicy, 'status', { observedGeneration: 2, phase: 'Fine' }));
    expect(outcome).toMatchObject({ kind: 'valid', value: { status: { observedGeneration: 2 } } });
    expect(outcome.findings).toMatchObject([{ severity: 'warning', code: 'schema/unknown-field', field: 'status.phase' }]);
    expect(outcome.kind === 'valid' && outcome.value.status).not.toHaveProperty('phase');
  });

  it('tells which kind it has when another was asked for', () => {
    expect(decodeKind('ModelServer', modelRoute).findings.map(findingLine)).toEqual([
      'ModelRoute models/chat: kind: ModelRoute where a ModelServer belongs; give a ModelServer [object/other-kind]',
    ]);
  });

  it('keeps what it does not read: pod specifications, engine flags', () => {
    const pod = { containers: [{ name: 'engine', futureField: { a: [null, 1] } }], anotherFutureField: 1 };
    const serving = decodeKind('ModelServing', withField(modelServing, 'spec.template.roles[0].entryTemplate.spec', pod));
    if (serving.kind === 'invalid') throw new Error('invalid');
    expect(serving.value.spec.template.roles[0]!.entryTemplate.spec).toEqual(pod);
  });

  it('refuses keys that would reach the prototype, and takes no harm', () => {
    const object = JSON.parse(JSON.stringify(modelRoute).replace('"modelName"', '"__proto__":{"polluted":1},"modelName"'));
    expect(lines(object)[0]).toContain('unknown field "__proto__"');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('apiKindOf', () => {
  it.each([
    [modelRoute, 'ModelRoute'],
    [{ ...modelRoute, apiVersion: 'networking.serving.volcano.sh/v2' }, 'ModelRoute'],
    [{ ...modelRoute, apiVersion: 'workload.serving.volcano.sh/v1alpha1' }, undefined],
    [{ kind: 'ModelRoute' }, undefined],
    [{ apiVersion: 'v1', kind: 'toString' }, undefined],
    [null, undefined],
  ])('of %j is %s', (object, kind) => {
    expect(apiKindOf(object)).toBe(kind);
  });
});

describe('nearestName', () => {
  it.each([
    ['metricName', ['name', 'targetValue'], 'name'],
    ['backends', ['name', 'backend'], 'backend'],
    ['wieght', ['weight', 'modelServerName'], 'weight'],
    ['x', ['y'], undefined],
    ['color', ['rules', 'modelName'], undefined],
  ])('%s among %j is %s', (name, known, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });
});
