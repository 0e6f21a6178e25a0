import Ajv, { type ValidateFunction } from 'ajv';
import { customResourceDefinitions } from '../../src/api/custom-resource-definitions';
import type { KubeObject } from '../../src/api/meta';

type Schema = { readonly [key: string]: unknown };

const ajv = new Ajv({ strict: false, allErrors: true, formats: { int32: true, int64: true, uri: true, 'date-time': true } });
const validators = new Map<string, ValidateFunction>();

/** What the structural schema of a kind of ours refuses in `object`, unknown fields included. */
export function crdProblems(object: KubeObject): readonly string[] {
  const key = `${object.apiVersion} ${object.kind}`;
  let validate = validators.get(key);
  if (validate === undefined) {
    const definition = customResourceDefinitions.find(
      ({ spec }) => spec.names.kind === object.kind && object.apiVersion === `${spec.group}/${spec.versions[0]!.name}`,
    );
    if (definition === undefined) return [`no definition of ${key}`];
    validate = ajv.compile(closed(definition.spec.versions[0]!.schema.openAPIV3Schema));
    validators.set(key, validate);
  }
  return validate(object)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

/** The schema as a JSON Schema that refuses fields which it does not name. */
function closed(schema: Schema): Schema {
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
  if (schema['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] };
  if (
    result.properties !== undefined &&
    result.additionalProperties === undefined &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true
  ) {
    result.additionalProperties = false;
  }
  return result;
}
