import type { Finding, Place } from '../errors';
import { copyJson } from './copy-json';
import { deepFreeze } from './deep-freeze';
import { type ApiKind, type ApiObject, type ApiObjects, apiKindOf, apiKinds, isApiKind } from './kinds';
import type { ObjectMeta } from './meta';
import { metadataRules } from './metadata-rules';
import { normalize } from './normalize';
import { error, type Problem, shown } from './problem';
import { validateSchema } from './validate-schema';

/** How reading an object ended. A valid object may come with warnings. */
export type DecodeOutcome<T> =
  | { readonly kind: 'valid'; readonly value: T; readonly findings: readonly Finding[] }
  | { readonly kind: 'invalid'; readonly findings: readonly Finding[] };

/**
 * Reads an object of one of our kinds as the API server and Kthena's webhooks together would: schema defaults, admission defaults,
 * bounds, rules. Unknown fields are errors, not silently dropped. The value is a frozen copy; `input` is not touched.
 *
 * @param file path that findings name, when the object came from a file.
 */
export function decodeObject(input: unknown, file?: string): DecodeOutcome<ApiObject> {
  const kind = apiKindOf(input);
  return kind === undefined ? invalid(input, file, [unknownKind(input)]) : decode(kind, input as Fields, file);
}

/** As `decodeObject`, for callers that know which kind it has to be. */
export function decodeKind<K extends ApiKind>(kind: K, input: unknown, file?: string): DecodeOutcome<ApiObjects[K]> {
  const actual = apiKindOf(input);
  if (actual === kind) return decode(kind, input as Fields, file);
  const problem =
    actual === undefined
      ? unknownKind(input)
      : error('kind', 'object/other-kind', `${actual} where a ${kind} belongs`, `give a ${kind}`);
  return invalid(input, file, [problem]);
}

type Fields = Readonly<Record<string, unknown>>;

function decode<K extends ApiKind>(kind: K, input: Fields, file: string | undefined): DecodeOutcome<ApiObjects[K]> {
  const { apiVersion, schema, rules, fillDefaults, readAnnotations } = apiKinds[kind];
  if (input.apiVersion !== apiVersion) {
    return invalid(input, file, [
      error('apiVersion', 'object/version', `${shown(input.apiVersion)} is not served`, `use ${apiVersion}`),
    ]);
  }
  const { metadata = {}, ...body } = input;
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    return invalid(input, file, [error('metadata', 'schema/type', `${shown(metadata)} is no object`, 'give the object a name')]);
  }
  const { annotations } = metadata as { readonly annotations?: unknown };
  const annotated =
    readAnnotations !== undefined && isFields(body.spec) && isFields(annotations)
      ? readAnnotations(body.spec, annotations)
      : { spec: body.spec, problems: [] };
  const normalized = normalize(schema, 'spec' in body ? { ...body, spec: annotated.spec } : body);
  const filled = normalized.value as Fields;
  const value = {
    ...filled,
    metadata: copyJson(metadata),
    ...(filled.spec === undefined ? {} : { spec: fillDefaults === undefined ? filled.spec : fillDefaults(filled.spec) }),
  };
  const problems: Problem[] = [
    ...metadataRules(metadata as ObjectMeta),
    ...annotated.problems,
    ...normalized.problems.map(statusIsNotWritten),
    ...validateSchema(schema, value).filter(({ code, field }) => code !== 'schema/required' || !normalized.misspelt.has(field)),
  ];
  // Rules may rely on the types that the schema promises.
  if (!problems.some(isError)) problems.push(...rules(value as unknown as ApiObjects[K]));
  if (problems.some(isError)) return invalid(input, file, problems);
  return { kind: 'valid', value: deepFreeze(value) as unknown as ApiObjects[K], findings: placed(input, file, problems) };
}

/** People do not write status, controllers do, and newer ones add fields: those are left out with a warning. */
function statusIsNotWritten(problem: Problem): Problem {
  return /^status[.[]/.test(problem.field) ? { ...problem, severity: 'warning' } : problem;
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const isError = ({ severity }: Problem): boolean => severity === 'error';

function invalid(
  input: unknown,
  file: string | undefined,
  problems: readonly Problem[],
): { kind: 'invalid'; findings: readonly Finding[] } {
  return { kind: 'invalid', findings: placed(input, file, problems) };
}

function placed(input: unknown, file: string | undefined, problems: readonly Problem[]): readonly Finding[] {
  if (problems.length === 0) return [];
  const place: Place = { ...(file === undefined ? {} : { file }), object: nameOf(input) };
  return problems.map((problem) => ({ ...place, ...problem }));
}

/** `Kind namespace/name` of anything, as far as it has them. */
function nameOf(input: unknown): string {
  const { kind, metadata } = (typeof input === 'object' && input !== null ? input : {}) as Fields;
  const { name, namespace } = (typeof metadata === 'object' && metadata !== null ? metadata : {}) as Fields;
  return `${typeof kind === 'string' ? kind : 'object'} ${typeof namespace === 'string' ? namespace : 'default'}/${typeof name === 'string' ? name : '?'}`;
}

function unknownKind(input: unknown): Problem {
  if (typeof input !== 'object' || input === null)
    return error('', 'object/not-an-object', `${shown(input)} is no object`, 'give a Kubernetes object');
  const { apiVersion, kind } = input as Fields;
  const remedy = isApiKind(kind)
    ? `use apiVersion ${apiKinds[kind].apiVersion}`
    : `use one of ${Object.keys(apiKinds).join(', ')}`;
  return error('kind', 'object/unknown-kind', `${shown(apiVersion)} ${shown(kind)} is not one of ours`, remedy);
}
