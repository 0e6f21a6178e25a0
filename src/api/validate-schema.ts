import type { TSchema } from '@sinclair/typebox';
import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv';
import { parseDurationMs } from '../duration';
import { fieldPath, pointedAt, pointerToPath } from './field-path';
import { error, type Problem, shown } from './problem';

const INT32 = 2 ** 31;

function isUri(text: string): boolean {
  return URL.canParse(text);
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

const ajv = new Ajv({
  strict: false,
  allErrors: true,
  formats: {
    int32: { type: 'number', validate: (value: number) => value >= -INT32 && value < INT32 },
    int64: { type: 'number', validate: (value: number) => Number.isFinite(value) },
    uri: isUri,
    'date-time': (value: string) => RFC3339.test(value) && !Number.isNaN(Date.parse(value)),
  },
}).addKeyword({
  keyword: 'x-kvasir-format',
  validate: (_format: string, value: unknown) => typeof value !== 'string' || parseDurationMs(value) !== undefined,
});

const compiled = new WeakMap<TSchema, ValidateFunction>();

/** What of `value` breaks `schema`: types, bounds, enumerations, patterns, required fields. One problem per field. */
export function validateSchema(schema: TSchema, value: unknown): readonly Problem[] {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(schema);
    compiled.set(schema, validate);
  }
  if (validate(value)) return [];
  const problems = new Map<string, Problem>();
  for (const failure of validate.errors ?? []) {
    // Branches of an int-or-string say nothing that the union itself does not say.
    if (/\/anyOf\/\d+\//.test(failure.schemaPath)) continue;
    const problem = toProblem(failure, value);
    if (!problems.has(problem.field)) problems.set(problem.field, problem);
  }
  return [...problems.values()];
}

function toProblem({ keyword, instancePath, params, parentSchema, message }: ErrorObject, root: unknown): Problem {
  const field = pointerToPath(instancePath, root);
  const value = shown(pointedAt(instancePath, root));
  const limit = params.limit as number | undefined;
  switch (keyword) {
    case 'required': {
      const missing = fieldPath(field, params.missingProperty as string);
      return error(missing, 'schema/required', 'missing', `set ${missing}`);
    }
    case 'type':
      return error(field, 'schema/type', `${value} is not of type ${params.type}`, `write a value of type ${params.type}`);
    case 'anyOf':
      return error(
        field,
        'schema/type',
        `${value} is neither a whole number nor a string`,
        typeof pointedAt(instancePath, root) === 'number' ? `put it in quotes: "${value}"` : 'write a whole number or a string',
      );
    case 'enum':
      return error(
        field,
        'schema/enum',
        `${value} is not one of the allowed values`,
        `use one of ${(params.allowedValues as readonly unknown[]).join(', ')}`,
      );
    case 'minimum':
      return error(field, 'schema/range', `${value} is less than ${limit}`, `use at least ${limit}`);
    case 'maximum':
      return error(field, 'schema/range', `${value} is greater than ${limit}`, `use at most ${limit}`);
    case 'minLength':
      return error(field, 'schema/length', `${value} is too short`, `write at least ${limit} character${limit === 1 ? '' : 's'}`);
    case 'maxLength':
      return error(field, 'schema/length', `${value} is too long`, `write at most ${limit} characters`);
    case 'minItems':
    case 'minProperties':
      return error(field, 'schema/length', 'too few entries', `give at least ${limit}`);
    case 'maxItems':
    case 'maxProperties':
      return error(field, 'schema/length', 'too many entries', `give at most ${limit}`);
    case 'pattern':
      return error(field, 'schema/pattern', `${value} does not have the required form`, `it must match ${params.pattern}`);
    case 'format':
      return error(field, 'schema/format', `${value} is no ${params.format}`, `write a value of format ${params.format}`);
    case 'x-kvasir-format':
      return error(field, 'value/duration', `${value} is no duration`, 'write it like 500ms, 15s or 1m30s');
    default:
      return error(
        field,
        `schema/${keyword}`,
        `${value} ${message ?? 'is not allowed'}`,
        `see ${parentSchema?.description ?? 'the schema'}`,
      );
  }
}
