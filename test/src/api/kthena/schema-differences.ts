import { isDeepStrictEqual } from 'node:util';
import type { Schema } from './crds';

/** One facet of one field on which two schemas disagree. */
export interface Difference {
  readonly path: string;
  readonly facet: string;
  readonly theirs: unknown;
  readonly ours: unknown;
}

const FACETS = [
  'type',
  'default',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'anyOf',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
] as const;
const KNOWN = new Set<string>([
  ...FACETS,
  'description',
  'properties',
  'items',
  'additionalProperties',
  'required',
  'enum',
  'allOf',
]);

/** Values allowed by `enum`, also where a generator wrote it several times under `allOf`. */
const allowed = (schema: Schema): readonly unknown[] | undefined => schema.enum ?? schema.allOf?.[0]?.enum;

/** A field that is required and has a default may be left out. */
const needed = (schema: Schema): readonly string[] =>
  (schema.required ?? []).filter((name) => schema.properties?.[name]?.default === undefined).sort();

/** All facets on which `ours` differs from `theirs`, field by field. Below a field that ours carries unread, one difference is told. */
export function schemaDifferences(theirs: Schema, ours: Schema, path = ''): Difference[] {
  const unknown = Object.keys(theirs).filter((keyword) => !KNOWN.has(keyword));
  if (unknown.length > 0) throw new Error(`${path}: the walk does not know ${unknown.join(', ')}`);
  if (ours['x-kubernetes-preserve-unknown-fields'] === true && theirs['x-kubernetes-preserve-unknown-fields'] !== true) {
    return [{ path, facet: 'opaque', theirs: 'fields', ours: 'any' }];
  }
  const differences: Difference[] = [];
  const compare = (facet: string, a: unknown, b: unknown) => {
    if (!isDeepStrictEqual(a, b)) differences.push({ path, facet, theirs: a, ours: b });
  };
  for (const facet of FACETS) compare(facet, theirs[facet], ours[facet]);
  compare('enum', allowed(theirs), allowed(ours));
  compare('required', needed(theirs), needed(ours));
  const names = new Set([...Object.keys(theirs.properties ?? {}), ...Object.keys(ours.properties ?? {})]);
  for (const name of names) {
    differences.push(...child(theirs.properties?.[name], ours.properties?.[name], `${path}.${name}`));
  }
  differences.push(...child(theirs.items, ours.items, `${path}[]`));
  differences.push(...child(theirs.additionalProperties, ours.additionalProperties, `${path}.*`));
  return differences;
}

function child(theirs: Schema | undefined, ours: Schema | undefined, path: string): Difference[] {
  if (theirs !== undefined && ours !== undefined) return schemaDifferences(theirs, ours, path);
  if (theirs !== undefined) return [{ path, facet: 'field', theirs: 'present', ours: 'absent' }];
  if (ours !== undefined) return [{ path, facet: 'field', theirs: 'absent', ours: 'present' }];
  return [];
}

/** Number of fields below `schema`. */
export function countFields(schema: Schema): number {
  const below = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties];
  return below.reduce<number>((sum, part) => (part === undefined ? sum : sum + 1 + countFields(part)), 0);
}
