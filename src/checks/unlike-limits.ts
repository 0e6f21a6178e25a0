import { keyOf } from '../api/meta';
import type { ModelRoute, RateLimit } from '../api/model-route';
import { error, type Problem, shown } from '../api/problem';

/** A route whose limits are counted in Redis, and the route whose limits count there. */
export interface SharedLimits {
  readonly route: ModelRoute;
  readonly rateLimit: RateLimit;
  /** The oldest route of the model, which may be `route` itself. */
  readonly governing: ModelRoute;
  readonly address: string;
}

/**
 * The routes that count in Redis. All routes of one model have one bucket there, whatever their namespace, so that one of them decides how
 * large it is: the oldest.
 */
export function sharedLimits(routes: readonly ModelRoute[]): readonly SharedLimits[] {
  const governing = new Map<string, ModelRoute>();
  return [...routes].sort(byAge).flatMap((route) => {
    const address = route.spec.rateLimit?.global?.redis?.address;
    if (address === undefined) return [];
    const bucket = JSON.stringify([address, route.spec.modelName || { adaptersOf: keyOf(route) }]);
    const oldest = governing.get(bucket) ?? route;
    governing.set(bucket, oldest);
    return [{ route, rateLimit: oldest.spec.rateLimit!, governing: oldest, address }];
  });
}

/** What a route's limits ask for that an older route of its model has otherwise. */
export function* unlikeLimits({ route, rateLimit, governing, address }: SharedLimits): Iterable<Problem> {
  const own = route.spec.rateLimit!;
  if (FIELDS.every((field) => own[field] === rateLimit[field])) return;
  yield error(
    'spec.rateLimit',
    'routing/unlike-limits',
    `${ratesText(own)} are counted in Redis ${address} under the name ${shown(route.spec.modelName)}, where those of ModelRoute ${keyOf(governing)} count (${ratesText(rateLimit)})`,
    'give both routes the same limits, or let each router count for itself',
  );
}

const FIELDS = ['inputTokensPerUnit', 'outputTokensPerUnit', 'requestsPerUnit', 'unit'] as const;

function ratesText(rates: RateLimit): string {
  const { inputTokensPerUnit, outputTokensPerUnit, requestsPerUnit, unit } = rates;
  const parts = [
    ...(inputTokensPerUnit === undefined ? [] : [`${inputTokensPerUnit} input tokens`]),
    ...(outputTokensPerUnit === undefined ? [] : [`${outputTokensPerUnit} output tokens`]),
    ...(requestsPerUnit === undefined ? [] : [`${requestsPerUnit} requests`]),
  ];
  return `${parts.length === 0 ? 'no limits' : parts.join(', ')} per ${unit}`;
}

/** Oldest first; objects without a creation time are new. */
function byAge(a: ModelRoute, b: ModelRoute): number {
  const [left, right] = [ageKey(a), ageKey(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

const ageKey = (route: ModelRoute): string => `${route.metadata.creationTimestamp ?? '~'} ${keyOf(route)}`;
