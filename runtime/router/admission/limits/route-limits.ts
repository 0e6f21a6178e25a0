import { describeObject, keyOf } from '../../../../src/api/meta';
import type { ModelRoute } from '../../../../src/api/model-route';
import { sharedLimits, unlikeLimits } from '../../../../src/checks/unlike-limits';
import type { Finding } from '../../../../src/errors';
import { type Limit, limitsOf, type Quantity } from './limit';

/** The limits of one route. */
export interface RouteLimits {
  readonly limits: readonly Limit[];
  /** Redis in which they are counted; undefined: this router counts for itself. */
  readonly address: string | undefined;
}

export interface RouteLimitTable {
  /** Routes without limits are absent. */
  readonly byRoute: ReadonlyMap<ModelRoute, RouteLimits>;
  readonly findings: readonly Finding[];
}

/** The limits of all routes as they are now. */
export function routeLimits(routes: readonly ModelRoute[]): RouteLimitTable {
  const findings: Finding[] = [];
  const byRoute = new Map<ModelRoute, RouteLimits>();
  for (const route of routes) {
    const { rateLimit } = route.spec;
    if (rateLimit === undefined || rateLimit.global?.redis !== undefined) continue;
    const name = describeObject(route);
    const limits = limitsOf(rateLimit, name, (quantity) => `${name}:${quantity}`);
    if (limits.length > 0) byRoute.set(route, { limits, address: undefined });
  }
  for (const shared of sharedLimits(routes)) {
    const { route, rateLimit, address } = shared;
    for (const problem of unlikeLimits(shared)) findings.push({ ...problem, object: describeObject(route) });
    const limits = limitsOf(rateLimit, describeObject(route), (quantity) => sharedKey(route, quantity));
    if (limits.length > 0) byRoute.set(route, { limits, address });
  }
  return { byRoute, findings };
}

/** Kthena's name where it has one; it counts neither requests nor adapters of routes without a model. */
function sharedKey(route: ModelRoute, quantity: Quantity): string {
  const { modelName } = route.spec;
  if (!modelName) return `kvasir:ratelimit:route:${quantity}:${keyOf(route)}`;
  return quantity === 'requests' ? `kvasir:ratelimit:model:requests:${modelName}` : `kthena:ratelimit:${modelName}:${quantity}`;
}
