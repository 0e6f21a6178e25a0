import { customResourceDefinitions, structural } from '../../../../src/api/custom-resource-definitions';
import { type ApiKind, apiKinds } from '../../../../src/api/kinds';
import { type Crd, kthenaCrds, type Schema, schemaOf } from './crds';
import { intendedDifferences } from './intended-differences';
import { countFields, schemaDifferences } from './schema-differences';

const ourSchema = (kind: string): Schema => ({ ...structural(apiKinds[kind as ApiKind].schema), required: ['spec'] });
const kinds = Object.keys(kthenaCrds);

describe("our schemas against Kthena's CRDs", () => {
  it('are compared for each of the six kinds that Kthena has, over all their fields', () => {
    expect(kinds).toEqual([
      'ExternalModelProvider',
      'ModelRoute',
      'ModelServer',
      'AutoscalingPolicy',
      'ModelBooster',
      'ModelServing',
    ]);
    expect(kinds.map((kind) => countFields(schemaOf(kthenaCrds[kind]!)))).toEqual([26, 43, 26, 171, 240, 2553]);
  });

  it.each(kinds)('%s differs in the ways that the table states, and in no other', (kind) => {
    const found = schemaDifferences(schemaOf(kthenaCrds[kind]!), ourSchema(kind));
    const meant = intendedDifferences.filter((row) => row.kind === kind).map(({ kind: _kind, reason: _reason, ...row }) => row);
    expect(found).toEqual(expect.arrayContaining(meant));
    expect(meant).toEqual(expect.arrayContaining(found));
  });

  it('sees a changed bound, default, enumeration, rule, and a missing field', () => {
    const theirs: Schema = {
      type: 'object',
      properties: {
        a: { type: 'integer', minimum: 1 },
        b: { type: 'string', default: 'x' },
        c: { type: 'string', enum: ['x', 'y'] },
        d: { type: 'object', 'x-kubernetes-validations': [{ rule: 'true' }] },
        e: { type: 'array', items: { type: 'string' } },
      },
    };
    const ours: Schema = {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'string', enum: ['x'] }, d: { type: 'object' } },
    };
    expect(schemaDifferences(theirs, ours).map(({ path, facet }) => `${path} ${facet}`)).toEqual([
      '.a minimum',
      '.b default',
      '.c enum',
      '.d x-kubernetes-validations',
      '.e field',
    ]);
  });
});

describe('the CRDs that Kvasir installs', () => {
  const ours = customResourceDefinitions as unknown as readonly Crd[];
  const shared = ours
    .filter(({ spec }) => kthenaCrds[spec.names.kind] !== undefined)
    .map((crd) => [crd.spec.names.kind, crd] as const);

  it('are those of five kinds', () => {
    expect(ours.map(({ metadata }) => metadata.name)).toEqual([
      'modelroutes.networking.serving.volcano.sh',
      'modelservers.networking.serving.volcano.sh',
      'externalmodelproviders.networking.serving.volcano.sh',
      'autoscalingpolicies.workload.serving.volcano.sh',
      'autoscalingpolicybindings.workload.serving.volcano.sh',
    ]);
  });

  it.each(shared)('%s has the names, scope, version, subresources and columns of Kthena', (kind, crd) => {
    const theirs = kthenaCrds[kind]!;
    expect({ ...crd.spec, versions: [] }).toEqual({ ...theirs.spec, versions: [] });
    expect(crd.metadata.name).toBe(theirs.metadata.name);
    const [version, their] = [crd.spec.versions[0]!, theirs.spec.versions[0]!];
    expect(version.name).toBe(their.name);
    expect(version.subresources).toEqual(their.subresources);
    const columns = ({ additionalPrinterColumns = [] }: typeof version) =>
      additionalPrinterColumns.map(({ name, type, jsonPath }) => ({ name, type, jsonPath }));
    expect(columns(version)).toEqual(columns(their));
  });

  it.each(ours.map((crd) => [crd.spec.names.kind, crd] as const))(
    '%s is a structural schema, every field documented',
    (_kind, crd) => {
      const faults: string[] = [];
      const walk = (schema: Schema, path: string) => {
        if (schema.type === undefined && schema['x-kubernetes-int-or-string'] !== true) faults.push(`${path}: no type`);
        if (typeof schema.description !== 'string' && path !== '.metadata' && !path.endsWith('[]'))
          faults.push(`${path}: no description`);
        for (const keyword of Object.keys(schema)) {
          if (/^(const|patternProperties|\$ref|oneOf|x-kvasir-.*)$/.test(keyword)) faults.push(`${path}: ${keyword}`);
        }
        for (const [name, part] of Object.entries(schema.properties ?? {})) walk(part, `${path}.${name}`);
        if (schema.items !== undefined) walk(schema.items, `${path}[]`);
        if (schema.additionalProperties !== undefined) walk(schema.additionalProperties, `${path}.*`);
        for (const name of schema.required ?? []) {
          if (schema.properties?.[name] === undefined) faults.push(`${path}: requires ${name}, which it does not have`);
        }
      };
      walk(schemaOf(crd), '');
      expect(faults).toEqual([]);
    },
  );

  it('have keys in one order, so that the same schemas give the same bytes', () => {
    const sorted = (value: unknown): boolean => {
      if (typeof value !== 'object' || value === null) return true;
      const keys = Object.keys(value);
      const isSorted = Array.isArray(value) || JSON.stringify(keys) === JSON.stringify([...keys].sort());
      return isSorted && Object.values(value).every(sorted);
    };
    for (const crd of ours) expect(sorted(schemaOf(crd).properties)).toBe(true);
  });

  it('cannot be changed by who reads them', () => {
    expect(Object.isFrozen(customResourceDefinitions)).toBe(true);
    expect(Object.isFrozen(schemaOf(ours[0]!).properties)).toBe(true);
  });
});
