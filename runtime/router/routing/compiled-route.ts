import { keyOf } from '../../../src/api/meta';
import type { ModelRoute, Rule, StringMatch } from '../../../src/api/model-route';
import type { Finding } from '../../../src/errors';
import { compileStringMatch } from './string-match';

/** What a rule looks at. */
export interface RuleInput {
  /** Canonical URL path. */
  readonly path: string;
  /** Header values by lower-case name, as node:http gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Model name that the client asked for. */
  readonly model: string;
}

/** One condition of a rule. */
export interface RouteCondition {
  /** Below `modelMatch`, such as `headers[x-user]`. */
  readonly field: string;
  readonly wanted: StringMatch;
  read(input: RuleInput): string;
  holds(input: RuleInput): boolean;
}

interface CompiledRule {
  readonly rule: Rule;
  /** All must hold. */
  readonly conditions: readonly RouteCondition[];
  readonly matches: (input: RuleInput) => boolean;
}

/** A ModelRoute with its conditions compiled. */
export interface CompiledRoute {
  readonly route: ModelRoute;
  /** `namespace/name`. */
  readonly key: string;
  readonly createdAtMs: number;
  /** It has parentRefs: it serves requests that come through those Gateways, and no others. */
  readonly isForGateways: boolean;
  readonly rules: readonly CompiledRule[];
  /** Conditions that do not compile; their rule matches nothing. */
  readonly findings: readonly Finding[];
}

export function compileRoute(route: ModelRoute): CompiledRoute {
  const findings: Finding[] = [];
  const created = Date.parse(route.metadata.creationTimestamp ?? '');
  return {
    route,
    key: keyOf(route),
    createdAtMs: Number.isNaN(created) ? 0 : created,
    isForGateways: (route.spec.parentRefs ?? []).length > 0,
    rules: route.spec.rules.map((rule, index) => compileRule(route, rule, index, findings)),
    findings,
  };
}

/** Oldest first, as Kthena prefers; by `namespace/name` among equals, so that the order never depends on arrival. */
export function compareRoutes(a: CompiledRoute, b: CompiledRoute): number {
  return a.createdAtMs - b.createdAtMs || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

function compileRule(route: ModelRoute, rule: Rule, index: number, findings: Finding[]): CompiledRule {
  const match = rule.modelMatch;
  const conditions: RouteCondition[] = [];
  const add = (field: string, source: StringMatch | null | undefined, read: (input: RuleInput) => string): void => {
    const compiled = compileStringMatch(source);
    const wanted = source ?? {};
    if (compiled.kind === 'compiled') {
      conditions.push({ field, wanted, read, holds: (input) => compiled.matches(read(input)) });
      return;
    }
    conditions.push({ field, wanted, read, holds: () => false });
    findings.push({
      code: 'routing/invalid-regex',
      severity: 'error',
      object: `ModelRoute ${keyOf(route)}`,
      field: `spec.rules[${index}].modelMatch.${field}.regex`,
      message: `the regular expression ${JSON.stringify(source?.regex)} does not compile (${compiled.message}), so this rule matches nothing`,
      remedy: 'write it in RE2 syntax',
    });
  };
  const model = match?.body?.model;
  if (model !== undefined && model !== null) {
    const read = (input: RuleInput): string => input.model;
    conditions.push({ field: 'body.model', wanted: { exact: model }, read, holds: (input) => input.model === model });
  }
  for (const [name, condition] of Object.entries(match?.headers ?? {})) {
    const key = name.toLowerCase();
    add(`headers[${name}]`, condition, (input) => firstValue(input.headers[key]));
  }
  if (match?.uri !== undefined && match.uri !== null) add('uri', match.uri, (input) => input.path);
  return { rule, conditions, matches: (input) => conditions.every((condition) => condition.holds(input)) };
}

/** A header that is absent has the value '', as in Kthena. */
function firstValue(value: string | readonly string[] | undefined): string {
  return (typeof value === 'string' ? value : value?.[0]) ?? '';
}
