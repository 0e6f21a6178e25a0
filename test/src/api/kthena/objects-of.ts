import fc from 'fast-check';
import type { Schema } from './crds';

const UNICODE_FREE = fc.string({ maxLength: 12 });
/** Strings that fields without pattern are likely to hold, so that rules are passed and not only failed. */
const COMMON = fc.constantFrom(
  'a',
  'b',
  'prefill',
  'decode',
  'ModelServing',
  '15s',
  '1m30s',
  '0s',
  'https://prometheus.example',
  '',
);

/** Any string fits the schema of a duration; mostly readable ones get past the first rule. */
const DURATIONS = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('0s', '15s', '1m30s', '5m') },
  { weight: 1, arbitrary: UNICODE_FREE },
);
const isDuration = (name: string): boolean => /^(period|stabilizationWindow|panicModeHold|timeout|retryInterval)$/.test(name);

/** Values that satisfy a structural schema, defaults left out or not. */
export function objectsOf(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true)
    return fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue({ maxDepth: 1 }));
  if (schema['x-kubernetes-int-or-string'] === true) return intsOrStrings(schema);
  const allowed = schema.enum ?? schema.allOf?.[0]?.enum;
  if (allowed !== undefined) return fc.constantFrom(...allowed);
  switch (schema.type) {
    case 'string':
      return strings(schema);
    case 'integer':
      return integers(schema);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return lists(schema, depth);
    case 'object':
      return schema.additionalProperties === undefined ? records(schema, depth) : maps(schema, depth);
    default:
      throw new Error(`no generator for ${JSON.stringify(schema)}`);
  }
}

function strings(schema: Schema): fc.Arbitrary<string> {
  const minLength = (schema.minLength as number | undefined) ?? 0;
  const maxLength = (schema.maxLength as number | undefined) ?? 40;
  if (schema.format === 'uri') return fc.constantFrom('http://prometheus:9090', 'https://a.example/b?c=d');
  if (schema.format === 'date-time') return fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123456+02:00');
  const some =
    schema.pattern === undefined
      ? fc.oneof(UNICODE_FREE, COMMON)
      : fc.stringMatching(new RegExp(schema.pattern as string), { size: '-1' });
  return some.filter((text) => text.length >= minLength && text.length <= maxLength);
}

function integers(schema: Schema): fc.Arbitrary<number> {
  const min = (schema.minimum as number | undefined) ?? -(2 ** 31);
  const max = (schema.maximum as number | undefined) ?? 2 ** 31 - 1;
  return fc.oneof(fc.integer({ min, max }), fc.integer({ min: Math.max(min, 0), max: Math.min(max, Math.max(min, 0) + 3) }));
}

function intsOrStrings(schema: Schema): fc.Arbitrary<number | string> {
  const texts =
    schema.pattern === undefined
      ? fc.constantFrom('10%', '100%', 'x')
      : fc.stringMatching(new RegExp(schema.pattern as string), { size: '-1' });
  return fc.oneof(fc.integer({ min: -2, max: 200 }), texts, fc.constantFrom('1', '500m', '0.5', '2Gi'));
}

function lists(schema: Schema, depth: number): fc.Arbitrary<unknown[]> {
  const minLength = (schema.minItems as number | undefined) ?? 0;
  const maxLength = Math.min(
    (schema.maxItems as number | undefined) ?? Number.POSITIVE_INFINITY,
    minLength + (depth > 3 ? 1 : 2),
  );
  const keys = schema['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
  const items = objectsOf(schema.items!, depth + 1);
  if (keys === undefined) return fc.array(items, { minLength, maxLength });
  const selector = (item: unknown) => JSON.stringify(keys.map((key) => (item as Record<string, unknown>)[key]));
  return fc.uniqueArray(items, { minLength, maxLength, selector });
}

function maps(schema: Schema, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const minKeys = (schema.minProperties as number | undefined) ?? 0;
  const maxKeys = Math.min((schema.maxProperties as number | undefined) ?? Number.POSITIVE_INFINITY, minKeys + 2);
  return fc.dictionary(fc.oneof(UNICODE_FREE, COMMON), objectsOf(schema.additionalProperties!, depth + 1), { minKeys, maxKeys });
}

function records(schema: Schema, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(schema.properties ?? {})
    // Beyond this depth only pod types are left; what is required of them is enough.
    .filter(([name]) => depth < 8 || (schema.required ?? []).includes(name))
    .map(([name, property]) => [name, isDuration(name) ? DURATIONS : objectsOf(property, depth + 1)] as const);
  const required = (schema.required ?? []).filter((name) => schema.properties?.[name]?.default === undefined);
  return fc.record(Object.fromEntries(fields), { requiredKeys: required, noNullPrototype: true });
}
