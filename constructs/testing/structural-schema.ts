import Ajv, { type ValidateFunction } from 'ajv';
import { RE2JS } from 're2js';

type Schema = { readonly [key: string]: unknown };

/** A CustomResourceDefinition as read from its YAML, as far as validation needs it. */
export interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema?: { readonly openAPIV3Schema?: object } }[];
  };
}

/** Patterns are RE2's, as the API server's are: some do not compile in JavaScript. */
const re2 = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(pattern);
    // Ajv tells patterns apart by their text.
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
  },
  { code: 're2' },
);

const ajv = new Ajv({
  code: { regExp: re2 },
  strict: false,
  allErrors: true,
  formats: { int32: true, int64: true, uri: true, 'date-time': true, ipv4: true, ipv6: true },
});
const validators = new WeakMap<object, ValidateFunction>();

/**
 * What the API server would refuse in `object` by the structural schema of `definition`, and fields that it would silently drop. Rules in
 * CEL are not evaluated.
 */
export function structuralProblems(
  definition: Definition,
  object: { readonly apiVersion: string; readonly kind: string },
): readonly string[] {
  const { group, names, versions } = definition.spec;
  if (object.kind !== names.kind) return [`kind is ${object.kind}, not ${names.kind}`];
  const version = versions.find(({ name }) => object.apiVersion === `${group}/${name}`);
  const schema = version?.schema?.openAPIV3Schema;
  if (schema === undefined) {
    return [`apiVersion ${object.apiVersion} is not among ${versions.map(({ name }) => `${group}/${name}`).join(', ')}`];
  }
  let validate = validators.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(closed(schema as Schema));
    validators.set(schema, validate);
  }
  return validate(object)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

/** The schema as a JSON Schema that refuses fields which it does not name. */
function closed(schema: Schema): Schema {
  if (schema['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] };
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key.startsWith('x-kubernetes-') || key === 'default') continue;
    if (key === 'properties') {
      const properties = Object.entries(value as Record<string, Schema>);
      result[key] = Object.fromEntries(properties.map(([name, child]) => [name, closed(child)]));
    } else if (key === 'items' || key === 'additionalProperties') {
      result[key] = typeof value === 'object' && value !== null ? closed(value as Schema) : value;
    } else result[key] = value;
  }
  if (
    result.properties !== undefined &&
    result.additionalProperties === undefined &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true
  ) {
    result.additionalProperties = false;
  }
  return result;
}
