import { describeObject } from '../../../src/api/meta';
import type { ModelRoute, Rule, StringMatch } from '../../../src/api/model-route';
import type { ExplainedTarget } from '../../router/routing/explain-match';
import type { Look } from '../look/look';
import { distinctPools, targetKey } from '../look/model-view';
import type { ServerView } from '../look/server-view';
import { shareText, UNKNOWN } from '../look/texts';
import { tableLines } from '../table';

/** A condition in words: `is "x"`, `begins with "x"`, `matches /x/`. */
export function wantedText({ exact, prefix, regex }: StringMatch): string {
  if (exact !== undefined) return `is ${JSON.stringify(exact)}`;
  if (prefix !== undefined) return `begins with ${JSON.stringify(prefix)}`;
  return regex === undefined ? 'is anything' : `matches /${regex}/`;
}

/** A rule's place and name. */
export function ruleText(index: number, { name }: Rule): string {
  return `rule ${index}${name === undefined ? '' : ` ${JSON.stringify(name)}`}`;
}

/** One line for each target of a rule: its share, what it is, and whether it can serve. */
export function targetLines(
  route: ModelRoute,
  targets: readonly ExplainedTarget[],
  servers: ReadonlyMap<string, ServerView>,
  { isLive }: Look,
): readonly string[] {
  const rows = targets.map((explained) => [
    shareText(Math.round(1000 * explained.share) / 1000),
    `${explained.target.modelServerName ? 'ModelServer' : 'ExternalModelProvider'} ${targetKey(route, explained.target)}`,
    stateText(explained, servers.get(targetKey(route, explained.target)), isLive),
  ]);
  const column = (index: number) => ({
    title: '',
    cell: (row: readonly string[]) => row[index]!,
    ...(index > 0 && { isText: true as const }),
  });
  return tableLines([0, 1, 2].map(column), rows).slice(1);
}

function stateText({ isThere, target, share }: ExplainedTarget, server: ServerView | undefined, isLive: boolean): string {
  if (!isThere) return 'does not exist; its share goes to the others';
  if (!target.modelServerName) return share === 0 ? 'only when its rule lets requests overflow' : 'somebody else’s';
  const pools = server === undefined ? [] : distinctPools([server]);
  const ready = pools.reduce((sum, pool) => sum + pool.podsReady, 0);
  const wanted = pools.reduce((sum, pool) => sum + (pool.podsWanted ?? pool.podsThere), 0);
  const counts = `${isLive || ready > 0 ? ready : UNKNOWN}/${wanted} pods ready`;
  return isLive && ready === 0 ? `${counts}: what is drawn for it goes to another target, or waits, or gets 503` : counts;
}

/** What a route does beside sending requests somewhere. */
export function routeExtras({ spec }: ModelRoute): readonly string[] {
  const { rateLimit, sessionAffinity, tenantIsolation } = spec;
  const limits =
    rateLimit === undefined
      ? []
      : (
          [
            [rateLimit.inputTokensPerUnit, 'prompt tokens'],
            [rateLimit.outputTokensPerUnit, 'generated tokens'],
            [rateLimit.requestsPerUnit, 'requests'],
          ] as const
        ).flatMap(([limit, what]) => (limit === undefined ? [] : [`${limit} ${what} per ${rateLimit.unit}`]));
  return [
    ...(limits.length === 0 ? [] : [`serves at most ${limits.join(', ')}`]),
    ...(sessionAffinity === undefined
      ? []
      : [`keeps a session (${sessionAffinity.source} ${sessionAffinity.name}) with the pod that served it last`]),
    ...(tenantIsolation === undefined ? [] : [`keeps the caches of each ${tenantIsolation.salt} apart`]),
  ];
}

/** `ModelRoute ns/name`, with what it is asked for. */
export const routeHead = (route: ModelRoute): string => {
  const { modelName, loraAdapters = [] } = route.spec;
  const adapters = loraAdapters.length === 0 ? '' : `, adapters ${loraAdapters.join(', ')}`;
  return `${describeObject(route)}: ${modelName ? `model ${modelName}` : 'no base model'}${adapters}`;
};
