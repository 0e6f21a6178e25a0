import type { ModelRoute } from '../../../src/api/model-route';
import { type ExplainedTarget, explainTargets } from '../../router/routing/explain-match';
import type { RouteTable } from '../../router/routing/route-table';
import { ageText, shareText, UNKNOWN } from '../look/texts';
import type { TableOf } from './table-of';

export interface RouteRow {
  readonly route: ModelRoute;
  readonly rules: readonly (readonly ExplainedTarget[])[];
  readonly at: string;
}

export function routeRow(route: ModelRoute, table: RouteTable, at: string): RouteRow {
  return { route, rules: route.spec.rules.map((rule) => explainTargets(table, route, rule)), at };
}

/** What `kvasir get routes` shows. */
export const ROUTE_TABLE: TableOf<RouteRow> = {
  columns: [
    { title: 'NAMESPACE', cell: ({ route }) => route.metadata.namespace ?? 'default', isText: true },
    { title: 'NAME', cell: ({ route }) => route.metadata.name, isText: true },
    { title: 'MODEL', cell: ({ route }) => route.spec.modelName || UNKNOWN, isText: true },
    { title: 'RULES', cell: ({ rules }) => String(rules.length), isText: true },
    { title: 'TARGETS', cell: ({ rules }) => targetsText(rules), isText: true },
    { title: 'AGE', cell: ({ route, at }) => ageText(route.metadata.creationTimestamp, at), isText: true },
    { title: 'ADAPTERS', cell: ({ route }) => route.spec.loraAdapters?.join(',') || UNKNOWN, isText: true, isWide: true },
    { title: 'LIMITS', cell: ({ route }) => limitText(route), isText: true, isWide: true },
    {
      title: 'GATEWAYS',
      cell: ({ route }) => (route.spec.parentRefs ?? []).map(({ name }) => name).join(',') || UNKNOWN,
      isText: true,
      isWide: true,
    },
  ],
  document: ({ route, rules }) => ({
    name: route.metadata.name,
    namespace: route.metadata.namespace ?? 'default',
    modelName: route.spec.modelName ?? null,
    loraAdapters: route.spec.loraAdapters ?? [],
    rateLimit: route.spec.rateLimit ?? null,
    parentRefs: (route.spec.parentRefs ?? []).map(({ name }) => name),
    rules: rules.map((targets, index) => ({
      name: route.spec.rules[index]!.name ?? null,
      targets: targets.map(({ target, share, isThere }) => ({
        modelServer: target.modelServerName || null,
        provider: target.externalModelProviderName || null,
        weight: target.weight,
        share,
        isThere,
      })),
    })),
  }),
};

/** Targets of all rules, the share of each where it is drawn among several; `!` marks one that does not exist. */
export function targetsText(rules: readonly (readonly ExplainedTarget[])[]): string {
  const texts = rules.map((targets) =>
    targets
      .map(({ target, share, isThere }) => {
        const name = target.modelServerName || (target.externalModelProviderName ?? '');
        if (!isThere) return `${name} (missing)`;
        return targets.length === 1 ? name : `${name} ${shareText(Math.round(1000 * share) / 1000)}`;
      })
      .join(', '),
  );
  return [...new Set(texts)].join('; ');
}

function limitText({ spec: { rateLimit } }: ModelRoute): string {
  if (rateLimit === undefined) return UNKNOWN;
  const { inputTokensPerUnit, outputTokensPerUnit, requestsPerUnit, unit } = rateLimit;
  const parts = [
    [inputTokensPerUnit, 'in'],
    [outputTokensPerUnit, 'out'],
    [requestsPerUnit, 'requests'],
  ] as const;
  return parts.flatMap(([limit, what]) => (limit === undefined ? [] : [`${limit} ${what}/${unit}`])).join(', ') || UNKNOWN;
}
