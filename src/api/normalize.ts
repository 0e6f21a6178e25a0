import type { TSchema } from '@sinclair/typebox';
import { copyJson } from './copy-json';
import { fieldPath } from './field-path';
import { nearestName } from './nearest-name';
import { error, type Problem, shown } from './problem';

/** A value as the API server would store it, and what it would have to drop or refuse on the way. */
export interface Normalized {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Paths of known fields that unknown ones were most likely meant to be: they are not missing, they are misspelt. */
  readonly misspelt: ReadonlySet<string>;
}

interface Notes {
  readonly problems: Problem[];
  readonly misspelt: Set<string>;
  /** Where the value under hand is; a text of it is only made for a problem. */
  readonly at: (string | number)[];
}

/**
 * Brings `value` into the form that the API server stores: a copy without nulls, with the schema's defaults. Unknown fields are
 * reported and left out. Values of wrong types are kept for the validator to report.
 */
export function normalize(schema: TSchema, value: unknown): Normalized {
  const notes: Notes = { problems: [], misspelt: new Set(), at: [] };
  const normalized = walk(schema, value, notes);
  return { value: normalized, problems: notes.problems, misspelt: notes.misspelt };
}

function walk(schema: TSchema, value: unknown, notes: Notes): unknown {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return copyJson(value);
  if (Array.isArray(value)) {
    const items = schema.items === undefined ? [...value] : value.map((item, i) => walkPart(schema.items, item, i, notes));
    noteDuplicates(schema, items, notes);
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (schema.additionalProperties !== undefined) {
    // A null in a map is no absent field: the API server refuses it, and so does the validator.
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, walkPart(schema.additionalProperties, item, key, notes)]),
    );
  }
  if (schema.type !== 'object') return value;
  return walkFields(schema, value, notes);
}

function walkPart(schema: TSchema, value: unknown, step: string | number, notes: Notes): unknown {
  if (typeof value !== 'object') return value;
  notes.at.push(step);
  const part = walk(schema, value, notes);
  notes.at.pop();
  return part;
}

function walkFields(schema: TSchema, value: object, notes: Notes): object {
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const fields: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined) noteUnknownField(key, Object.keys(properties), notes);
    // A null field is as good as absent: the API server prunes it before it applies defaults.
    else if (item !== null && item !== undefined) fields[key] = walkPart(property, item, key, notes);
  }
  for (const [key, { default: filled }] of defaultsOf(properties)) {
    if (!Object.hasOwn(fields, key)) fields[key] = copyJson(filled);
  }
  return fields;
}

const defaults = new WeakMap<object, readonly (readonly [string, TSchema])[]>();

/** The properties that have a default, in order; found once for each schema. */
function defaultsOf(properties: Readonly<Record<string, TSchema>>): readonly (readonly [string, TSchema])[] {
  let found = defaults.get(properties);
  if (found === undefined) {
    found = Object.entries(properties).filter(([, property]) => property.default !== undefined);
    defaults.set(properties, found);
  }
  return found;
}

function noteUnknownField(key: string, known: readonly string[], notes: Notes): void {
  const path = fieldPath('', ...notes.at);
  const nearest = nearestName(key, known);
  if (nearest !== undefined) notes.misspelt.add(fieldPath(path, nearest));
  const names = known.length === 0 ? 'no fields are known here' : `known here: ${[...known].sort().join(', ')}`;
  notes.problems.push(
    error(
      fieldPath(path, key),
      'schema/unknown-field',
      `unknown field ${shown(key)}`,
      nearest === undefined ? `remove it (${names})` : `did you mean "${nearest}"? Rename or remove it`,
    ),
  );
}

/** Kubernetes' map-like lists: no two items may have the same keys. */
function noteDuplicates(schema: TSchema, items: readonly unknown[], { problems, at }: Notes): void {
  const keys: readonly string[] | undefined = schema['x-kubernetes-list-map-keys'];
  if (keys === undefined || items.length < 2) return;
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    const name = JSON.stringify(keys.map((key) => (item as Record<string, unknown> | null)?.[key]));
    if (seen.has(name)) {
      problems.push(
        error(
          fieldPath('', ...at, i),
          'schema/duplicate',
          `a second item with ${keys.join(', ')} ${name.slice(1, -1)}`,
          'remove one of them',
        ),
      );
    }
    seen.add(name);
  }
}
