import type { ModelRoute, Rule, StringMatch, TargetModel } from '../../../src/api/model-route';
import type { CompiledRoute, RuleInput } from './compiled-route';
import type { RouteTable, UnmatchedReason } from './route-table';
import { weightOf } from './weighted-draw';

export interface ExplainedCondition {
  /** Below `modelMatch`, such as `headers[x-user]`. */
  readonly field: string;
  readonly wanted: StringMatch;
  /** What the request has there; '' for a header that it lacks. */
  readonly value: string;
  readonly holds: boolean;
}

export interface ExplainedRule {
  readonly index: number;
  readonly rule: Rule;
  readonly conditions: readonly ExplainedCondition[];
  /** `matches`: it decides. `not-asked`: an earlier rule of the route decided. */
  readonly verdict: 'matches' | 'fails' | 'not-asked';
}

export interface ExplainedRoute {
  readonly route: ModelRoute;
  /** `no-weight`: a rule matched whose weights are all zero, and the next route is asked. */
  readonly verdict: 'taken' | 'no-rule' | 'no-weight' | 'gateway-only' | 'not-asked';
  readonly rules: readonly ExplainedRule[];
}

export interface ExplainedTarget {
  readonly target: TargetModel;
  /** Share of the requests that it gets, 0..1; what a target that does not exist would get goes to the others. */
  readonly share: number;
  readonly isThere: boolean;
}

/** How a request finds its target. */
export interface ExplainedMatch {
  /** The model is known as an adapter only: its name goes upstream unchanged. */
  readonly isAdapter: boolean;
  /** Routes that name the model, in the order in which they are asked. */
  readonly routes: readonly ExplainedRoute[];
  readonly outcome:
    | {
        readonly kind: 'matched';
        readonly route: ModelRoute;
        readonly rule: ExplainedRule;
        readonly targets: readonly ExplainedTarget[];
      }
    | { readonly kind: 'unmatched'; readonly reason: UnmatchedReason; readonly message: string };
}

/** What `RouteTable.match` does with a request, and why, without drawing a target. Pure. */
export function explainMatch(table: RouteTable, input: RuleInput, method: string): ExplainedMatch {
  const match = table.match({ ...input, method, random: { next: () => 0 } });
  let isDecided = false;
  const routes = table.asked(input.model).map((candidate): ExplainedRoute => {
    const explained = explainRoute(candidate, input, isDecided);
    isDecided ||= explained.verdict === 'taken';
    return explained;
  });
  if (match.kind === 'unmatched') return { isAdapter: false, routes, outcome: match };
  const { route, isAdapter } = match;
  const rule = routes.find(({ verdict }) => verdict === 'taken')!.rules.find(({ verdict }) => verdict === 'matches')!;
  return { isAdapter, routes, outcome: { kind: 'matched', route, rule, targets: explainTargets(table, route, rule.rule) } };
}

/** Shares of the targets of a rule, as draws come out in the long run. */
export function explainTargets(table: RouteTable, route: ModelRoute, rule: Rule): readonly ExplainedTarget[] {
  const isThere = (target: TargetModel): boolean => table.find(route, target) !== undefined;
  const total = rule.targetModels.reduce((sum, target) => sum + (isThere(target) ? weightOf(target) : 0), 0);
  return rule.targetModels.map((target) => ({
    target,
    isThere: isThere(target),
    share: isThere(target) && total > 0 ? weightOf(target) / total : 0,
  }));
}

function explainRoute({ route, rules, isForGateways }: CompiledRoute, input: RuleInput, isDecided: boolean): ExplainedRoute {
  let hasMatched = false;
  const explained = rules.map((compiled, index): ExplainedRule => {
    const conditions = compiled.conditions.map(({ field, wanted, read, holds }) => ({
      field,
      wanted,
      value: read(input),
      holds: holds(input),
    }));
    const verdict = hasMatched || isDecided || isForGateways ? 'not-asked' : compiled.matches(input) ? 'matches' : 'fails';
    if (verdict === 'matches') hasMatched = true;
    return { index, rule: compiled.rule, conditions, verdict };
  });
  const matching = explained.find(({ verdict }) => verdict === 'matches');
  if (isForGateways) return { route, verdict: 'gateway-only', rules: explained };
  if (isDecided) return { route, verdict: 'not-asked', rules: explained };
  if (matching === undefined) return { route, verdict: 'no-rule', rules: explained };
  const hasWeight = matching.rule.targetModels.some((target) => weightOf(target) > 0);
  return { route, verdict: hasWeight ? 'taken' : 'no-weight', rules: explained };
}
