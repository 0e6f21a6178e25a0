import type { IncomingHttpHeaders } from 'node:http';
import { type FieldType, mismatch } from '../http/field-types';
import { isObject, type JsonObject, readJson } from '../http/json-body';
import type { VllmDialect } from './dialect';
import { badParameter, VllmError } from './vllm-error';

/** One thing that is wrong with a body, as vLLM's schema validation words it. */
interface Violation {
  readonly type: string;
  /** Where, such as `body.messages`; undefined when it is not a place in the body. */
  readonly loc?: string;
  readonly msg: string;
  readonly input?: string;
  readonly ctx?: string;
}

/** Which fields a body has; a field that is absent or null is not checked. */
export interface BodySchema {
  readonly required: readonly string[];
  readonly fields: Readonly<Record<string, FieldType>>;
}

/**
 * A body that is a JSON object with fields of the right types.
 *
 * @throws VllmError 400 with every violation, worded as 0.32 does; 0.20 went on with its own source lines and the whole input.
 */
export function readBody(body: Buffer, headers: IncomingHttpHeaders, dialect: VllmDialect, schema: BodySchema): JsonObject {
  const json = readJson(body, headers['content-type']);
  switch (json.kind) {
    case 'wrong-content-type':
      throw new VllmError(400, mediaTypeMessage(dialect), 'Bad Request');
    case 'empty':
      throw invalid([{ type: 'missing', loc: 'body', msg: 'Field required', input: 'None' }], dialect);
    case 'invalid':
      throw invalid(
        [
          {
            type: 'json_invalid',
            loc: `body.${json.position}`,
            msg: 'JSON decode error',
            input: '<dict of 0 items>',
            ctx: 'Expecting value',
          },
        ],
        dialect,
      );
    case 'json':
      break;
  }
  const { value } = json;
  if (!isObject(value)) {
    if (!dialect.isRecent && Array.isArray(value))
      throw new VllmError(500, "'list' object has no attribute 'get'", 'InternalServerError');
    throw invalid(
      [
        {
          type: 'model_attributes_type',
          loc: 'body',
          msg: 'Input should be a valid dictionary or object to extract fields from',
          input: describe(value),
        },
      ],
      dialect,
    );
  }
  const violations: Violation[] = [];
  for (const field of schema.required) {
    if (!(field in value))
      violations.push({ type: 'missing', loc: `body.${field}`, msg: 'Field required', input: describe(value) });
  }
  for (const [field, type] of Object.entries(schema.fields)) {
    const found = value[field];
    if (found === undefined || found === null) continue;
    const wrong = mismatch(type, found);
    if (wrong !== undefined) violations.push({ ...wrong, loc: `body.${field}`, input: describe(found) });
  }
  if (violations.length > 0) throw invalid(violations, dialect);
  return value;
}

function mediaTypeMessage({ isRecent }: VllmDialect): string {
  const message = "Unsupported Media Type: Only 'application/json' is allowed";
  return `1 validation error:\n  ${message}${isRecent ? '' : ` ["${message}"]`}`;
}

/** Inputs are summarized, so that no prompt is repeated in an error. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return `<list of ${value.length} items>`;
  if (isObject(value)) return `<dict of ${Object.keys(value).length} items>`;
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return String(value);
}

function invalid(violations: readonly Violation[], dialect: VllmDialect): VllmError {
  const lines = violations.map(({ type, loc, msg, input, ctx }) => {
    const context = ctx === undefined ? '' : `, 'ctx': {'error': '${ctx}'}`;
    return `\n  {'type': '${type}', 'loc': '${loc}', 'msg': '${msg}', 'input': '${input}'${context}}`;
  });
  const noun = violations.length === 1 ? 'error' : 'errors';
  return new VllmError(
    400,
    `${violations.length} validation ${noun}:${lines.join('')}`,
    'Bad Request',
    dialect.isRecent ? (violations[0]?.loc ?? null) : null,
  );
}

/** A rule of the body as a whole that a request breaks. */
export interface BrokenRule {
  readonly message: string;
  readonly param: string;
  /** Whether 0.20 named the parameter, too. */
  readonly wasNamed?: true;
}

/** 0.20 reported a broken rule as a violation of the schema; later versions name its parameter. */
export function brokenRule({ message, param, wasNamed }: BrokenRule, dialect: VllmDialect): VllmError {
  if (dialect.isRecent) return badParameter(message, param);
  const violation = invalid([{ type: 'value_error', loc: 'body', msg: `Value error, ${message}`, input: '' }], dialect);
  return wasNamed === undefined ? violation : new VllmError(violation.status, violation.message, violation.type, param);
}
