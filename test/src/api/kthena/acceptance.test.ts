import Ajv from 'ajv';
import fc from 'fast-check';
import { decodeObject } from '../../../../src/api/decode-object';
import { type ApiKind, apiKinds } from '../../../../src/api/kinds';
import { kthenaCrds, schemaOf } from './crds';
import { intendedRuleDifferences } from './intended-rule-differences';
import { objectsOf } from './objects-of';

/** Pod templates are opaque here: one minimal pod stands for all. */
const minimalPods = (key: string, value: unknown): unknown =>
  /^(entryTemplate|workerTemplate)$/.test(key) ? { properties: {}, type: 'object' } : value;

function objectsOfKind(kind: string): fc.Arbitrary<object> {
  const { spec, status } = JSON.parse(JSON.stringify(schemaOf(kthenaCrds[kind]!), minimalPods)).properties;
  return fc.record({ spec: objectsOf(spec), status: objectsOf(status) }, { requiredKeys: ['spec'], noNullPrototype: true });
}

describe.each(Object.keys(kthenaCrds))('%s: an object that fits the schema of Kthena', (kind) => {
  const object = (body: object) => ({
    apiVersion: apiKinds[kind as ApiKind].apiVersion,
    kind,
    metadata: { name: 'some' },
    ...body,
  });

  it('fits ours; only rules beyond the schema refuse it', () => {
    fc.assert(
      fc.property(objectsOfKind(kind), (body) => {
        const { findings } = decodeObject(object(body));
        expect(findings.filter(({ code }) => code.startsWith('schema/') || code.startsWith('object/'))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it('is not changed by reading it, and reading it again gives the same', () => {
    fc.assert(
      fc.property(objectsOfKind(kind), (body) => {
        const input = object(body);
        const before = structuredClone(input);
        const first = decodeObject(input);
        expect(input).toEqual(before);
        if (first.kind === 'valid') expect(decodeObject(first.value)).toEqual(first);
      }),
      { numRuns: 100 },
    );
  });
});

describe('the table of intended differences in rules', () => {
  it.each(intendedRuleDifferences.map((row) => [row.what, row] as const))('holds for %s', (_what, { object, kthena, code }) => {
    const { kind, findings } = decodeObject(object);
    expect(kind).toBe(kthena === 'refuses' ? 'valid' : 'invalid');
    expect(findings.map((finding) => finding.code)).toEqual(code === undefined ? [] : [code]);
    // What Kthena accepts at least fits its schema; what it refuses beyond that is its webhook's word.
    const schema = schemaOf(kthenaCrds[(object as { readonly kind: string }).kind]!);
    const fits = new Ajv({ strict: false, validateFormats: false }).validate(schema, object);
    if (kthena === 'accepts') expect(fits).toBe(true);
  });
});
