import * as fc from 'fast-check';
import { canonicalize } from '../../../constructs/gitops/canonical-object';

describe('canonicalize', () => {
  it.each([
    ['milli-cores that are whole', { resources: { requests: { cpu: '1000m' } } }, { resources: { requests: { cpu: '1' } } }],
    [
      'a bare number of GPUs',
      { resources: { limits: { 'nvidia.com/gpu': 8 } } },
      { resources: { limits: { 'nvidia.com/gpu': '8' } } },
    ],
    ['mebibytes that are gibibytes', { minResources: { memory: '32768Mi' } }, { minResources: { memory: '32Gi' } }],
    ['the size of a volume', { emptyDir: { sizeLimit: '1024Mi' } }, { emptyDir: { sizeLimit: '1Gi' } }],
    ['the target of a metric', { metrics: [{ name: 'a', targetValue: 0.5 }] }, { metrics: [{ name: 'a', targetValue: '500m' }] }],
    [
      'a container port without protocol',
      { ports: [{ containerPort: 80 }] },
      { ports: [{ containerPort: 80, protocol: 'TCP' }] },
    ],
    [
      'a container port with one',
      { ports: [{ containerPort: 80, protocol: 'UDP' }] },
      { ports: [{ containerPort: 80, protocol: 'UDP' }] },
    ],
    [
      'a Service port',
      { kind: 'Service', spec: { ports: [{ port: 80 }] } },
      { kind: 'Service', spec: { ports: [{ port: 80, protocol: 'TCP' }] } },
    ],
    [
      'a port of another kind',
      { kind: 'Gateway', spec: { ports: [{ port: 80 }] } },
      { kind: 'Gateway', spec: { ports: [{ port: 80 }] } },
    ],
    [
      "people's text",
      { data: { limits: '1000m' }, annotations: { sizeLimit: '1024Mi' } },
      { data: { limits: '1000m' }, annotations: { sizeLimit: '1024Mi' } },
    ],
    ['a map that only has the name', { limits: { tokens: 'many' } }, { limits: { tokens: 'many' } }],
    [
      'the schema of a definition',
      { openAPIV3Schema: { properties: { limits: { default: '1000m' } }, requests: { cpu: '1000m' } } },
      { openAPIV3Schema: { properties: { limits: { default: '1000m' } }, requests: { cpu: '1000m' } } },
    ],
  ])('%s', (_, object, expected) => {
    expect(canonicalize(object)).toEqual(expected);
  });

  it('changes nothing the second time', () => {
    const quantity = fc.oneof(
      fc.integer({ min: 0, max: 1e6 }),
      fc.tuple(fc.integer({ min: 1, max: 1e5 }), fc.constantFrom('', 'm', 'k', 'Mi', 'Gi')).map(([n, unit]) => `${n}${unit}`),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu'), quantity), (limits) => {
        const once = canonicalize({ resources: { limits } });
        expect(canonicalize(structuredClone(once))).toEqual(once);
        for (const value of Object.values(once.resources.limits)) expect(typeof value).toBe('string');
      }),
    );
  });
});
