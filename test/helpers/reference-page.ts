import { apiKinds } from '../../src/api/kinds';
import { autoscalerConfigSchema } from '../../src/config/autoscaler-config';
import { routerConfigSchema } from '../../src/config/router-config';

/** The parts of JSON Schema that the schemas under `src/` use. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly 'x-kvasir-format'?: string;
  readonly 'x-kubernetes-validations'?: readonly { readonly message: string }[];
}

/** One field of a kind or document. */
export interface ReferenceRow {
  /** `[]` after the name of a list's field, `{}` after that of a map's. */
  readonly path: string;
  readonly type: string;
  /** A literal, `required`, or empty. */
  readonly default: string;
  readonly bounds: string;
  readonly description: string;
}

interface Section {
  readonly title: string;
  readonly intro: string;
  readonly rows: readonly ReferenceRow[];
}

/** Fields that all kinds of Kubernetes share. */
const COMMON = new Set(['apiVersion', 'kind', 'metadata']);
/** An object with at least this many fields is described once on the page. */
const REPEATED_FIELDS = 3;

/** Everything that the reference page tells, in its order. */
export function referenceSections(): readonly Section[] {
  const seen = new Map<string, string>();
  const kinds = Object.entries(apiKinds).map(([kind, { apiVersion, schema }]): Section => {
    const { description = '', properties = {} } = schema as Schema;
    const fields = Object.fromEntries(Object.entries(properties).filter(([name]) => !COMMON.has(name)));
    return {
      title: kind,
      intro: `\`${apiVersion}\`. ${description}`,
      rows: rowsOf({ ...schema, properties: fields }, kind, seen),
    };
  });
  const documents = [
    { title: 'Router configuration', schema: routerConfigSchema as Schema },
    { title: 'Autoscaler configuration', schema: autoscalerConfigSchema as Schema },
  ].map(({ title, schema }): Section => ({ title, intro: schema.description ?? '', rows: rowsOf(schema, title, seen) }));
  return [...kinds, ...documents];
}

/** `docs/reference.md`. */
export function referencePage(): string {
  const sections = referenceSections();
  const anchor = (title: string): string => title.toLowerCase().replaceAll(' ', '-');
  return [
    '# Fields',
    '',
    'Every field of the kinds and of the configuration documents, with type, default and bounds. A field without a default may be left out',
    'unless it is required. `[]` stands for each element of a list, `{}` for each value of a map. Made from the schemas by',
    '`npx tsx test/helpers/write-reference.ts`.',
    '',
    ...sections.map(({ title }) => `- [${title}](#${anchor(title)})`),
    ...sections.flatMap(({ title, intro, rows }) => [
      '',
      `## ${title}`,
      '',
      ...(intro === '' ? [] : [intro, '']),
      '| field | type | default | bounds | |',
      '|---|---|---|---|---|',
      ...rows.map((row) => `| \`${row.path}\` | ${row.type} | ${row.default} | ${row.bounds} | ${cell(row.description)} |`),
    ]),
    '',
  ].join('\n');
}

function rowsOf(schema: Schema, title: string, seen: Map<string, string>, prefix = ''): readonly ReferenceRow[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const { inner, suffix } = innermost(field);
    const known = described(inner, `${title} \`${path}${suffix}\``, seen);
    const row: ReferenceRow = {
      path,
      type: typeOf(field),
      default: required.has(name) && !isSelfMade(field) ? 'required' : defaultOf(field),
      bounds: boundsOf(field),
      description: [field.description ?? '', known === undefined ? '' : `Fields: as in ${known}.`].filter(Boolean).join(' '),
    };
    return [row, ...(known === undefined ? rowsOf(inner, title, seen, `${path}${suffix}.`) : [])];
  });
}

/** Where the same fields were described before; else notes that they are described at `place` now. */
function described(schema: Schema, place: string, seen: Map<string, string>): string | undefined {
  if (Object.keys(schema.properties ?? {}).length < REPEATED_FIELDS) return undefined;
  const key = JSON.stringify([schema.properties, schema.required]);
  const before = seen.get(key);
  if (before === undefined) seen.set(key, place);
  return before;
}

/** An object of a configuration document that is there even when it is left out. */
const isSelfMade = (schema: Schema): boolean => schema.default !== undefined;

function innermost(schema: Schema): { readonly inner: Schema; readonly suffix: string } {
  const [value, mark] = schema.items === undefined ? ([valuesOf(schema), '{}'] as const) : ([schema.items, '[]'] as const);
  if (value === undefined) return { inner: schema, suffix: '' };
  const { inner, suffix } = innermost(value);
  return { inner, suffix: `${mark}${suffix}` };
}

function valuesOf(schema: Schema): Schema | undefined {
  if (typeof schema.additionalProperties === 'object') return schema.additionalProperties;
  return Object.values(schema.patternProperties ?? {})[0];
}

function typeOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (schema.anyOf?.every((option) => option.const !== undefined))
    return schema.anyOf.map((option) => code(option.const)).join(', ');
  if (schema.anyOf !== undefined) {
    return schema.pattern === undefined ? schema.anyOf.map((option) => option.type ?? 'any').join(' or ') : 'quantity';
  }
  if (schema['x-kvasir-format'] !== undefined) return schema['x-kvasir-format'];
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  const values = valuesOf(schema);
  if (values !== undefined) return `map of ${typeOf(values)}`;
  return schema.type ?? 'any';
}

function defaultOf(schema: Schema): string {
  if (schema.default === undefined || (schema.type === 'object' && Object.keys(schema.default as object).length === 0)) return '';
  return code(schema.default);
}

function boundsOf(schema: Schema): string {
  const own = [
    range('', schema.minimum, schema.maximum),
    range(' characters', schema.minLength, schema.maxLength),
    range(' elements', schema.minItems, schema.maxItems),
    range(' entries', schema.minProperties, schema.maxProperties),
    schema.pattern === undefined || schema.anyOf !== undefined ? '' : code(schema.pattern),
    schema.format === undefined || /^int(?:32|64)$/.test(schema.format) ? '' : schema.format,
    ...(schema['x-kubernetes-validations'] ?? []).map(({ message }) => message),
  ];
  const [each, of] = [schema.items ?? valuesOf(schema), schema.items === undefined ? 'value' : 'element'];
  const inner = each === undefined ? '' : boundsOf(each);
  return cell([...own.filter(Boolean), ...(inner === '' ? [] : [`each ${of}: ${inner}`])].join('; '));
}

function range(unit: string, min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return '';
  if (max === undefined) return `≥ ${min}${unit}`;
  return min === undefined ? `≤ ${max}${unit}` : `${min} to ${max}${unit}`;
}

const code = (value: unknown): string => `\`${cell(typeof value === 'string' && value !== '' ? value : JSON.stringify(value))}\``;

/** Text of a table's cell. */
const cell = (text: string): string => text.replaceAll(/(?<!\\)\|/g, '\\|');
