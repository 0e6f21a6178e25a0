import type { TSchema } from '@sinclair/typebox';
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
}

/**
 * Brings `value` into the form that the API server stores: a copy without nulls, with the schema's defaults. Unknown fields are
 * reported and left out. Values of wrong types are kept for the validator to report.
 */
export function normalize(schema: TSchema, value: unknown, path = ''): Normalized {
  const notes: Notes = { problems: [], misspelt: new Set() };
  return { value: walk(schema, value, path, notes), ...notes };
}

function walk(schema: TSchema, value: unknown, path: string, notes: Notes): unknown {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return structuredClone(value);
  if (Array.isArray(value)) {
    const items = value.map((item, i) =>
      schema.items === undefined ? item : walk(schema.items, item, fieldPath(path, i), notes),
    );
    notes.problems.push(...duplicates(schema, items, path));
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (schema.additionalProperties !== undefined) {
    // A null in a map is no absent field: the API server refuses it, and so does the validator.
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, walk(schema.additionalProperties, item, fieldPath(path, key), notes)]),
    );
  }
  if (schema.type !== 'object') return value;
  return walkFields(schema, value, path, notes);
}

function walkFields(schema: TSchema, value: object, path: string, notes: Notes): object {
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const fields: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined) noteUnknownField(key, Object.keys(properties), path, notes);
    // A null field is as good as absent: the API server prunes it before it applies defaults.
    else if (item !== null && item !== undefined) {
      fields[key] = typeof item === 'object' ? walk(property, item, fieldPath(path, key), notes) : item;
    }
  }
  for (const [key, { default: filled }] of defaultsOf(properties)) {
    if (!Object.hasOwn(fields, key)) fields[key] = typeof filled === 'object' ? structuredClone(filled) : filled;
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

function noteUnknownField(key: string, known: readonly string[], path: string, notes: Notes): void {
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
function duplicates(schema: TSchema, items: readonly unknown[], path: string): Problem[] {
  const keys: readonly string[] | undefined = schema['x-kubernetes-list-map-keys'];
  if (keys === undefined) return [];
  const seen = new Set<string>();
  return items.flatMap((item, i) => {
    const name = JSON.stringify(keys.map((key) => (item as Record<string, unknown> | null)?.[key]));
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [
      error(
        fieldPath(path, i),
        'schema/duplicate',
        `a second item with ${keys.join(', ')} ${name.slice(1, -1)}`,
        'remove one of them',
      ),
    ];
  });
}
