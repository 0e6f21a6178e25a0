/** Replicas of one pool as a schedule reckons with them. */
export interface ScheduledPool {
  readonly min: number;
  readonly max: number;
  readonly pricePerHour: number;
  /** Load that one carries, in the unit of the demand. */
  readonly capacity: number;
  /** Time that a replica is paid for before it serves. */
  readonly startMs: number;
  /** Time that a replica is paid for after it got its last request. */
  readonly endMs: number;
}

export interface Schedule {
  /** For each slot the replicas of each pool that serve in it. */
  readonly mixes: readonly (readonly number[])[];
  /** USD: every slot, and each start and end. */
  readonly cost: number;
}

const HOUR_MS = 3_600_000;

/**
 * The cheapest way through a day whose load is known: replicas of each pool for each slot that carry it, with what starts and ends cost.
 * An exact dynamic programme over slots and replica vectors, since what a slot costs depends on the one before it only.
 *
 * @param demand load of each slot; one beyond every maximum together is carried as far as they do.
 * @param first replicas that serve when the day begins; they cost no start.
 */
export function cheapestSchedule(
  pools: readonly ScheduledPool[],
  demand: ArrayLike<number>,
  slotMs: number,
  first: readonly number[],
): Schedule {
  const vectors = vectorsOf(pools);
  const capacities = vectors.map((vector) => sum(pools, ({ capacity }, i) => capacity * vector[i]!));
  const slotCosts = vectors.map((vector) => sum(pools, ({ pricePerHour }, i) => (pricePerHour * vector[i]! * slotMs) / HOUR_MS));
  const most = Math.max(...capacities);
  const moves = vectors.map((from) => vectors.map((to) => moveCost(pools, from, to)));
  let costs = vectors.map((to) => moveCost(pools, first, to));
  const origins: Int32Array[] = [];
  for (let slot = 0; slot < demand.length; slot++) {
    const needed = Math.min(demand[slot]!, most);
    const origin = new Int32Array(vectors.length);
    const next = new Array<number>(vectors.length).fill(Number.POSITIVE_INFINITY);
    for (let to = 0; to < vectors.length; to++) {
      if (capacities[to]! < needed) continue;
      if (slot === 0) {
        next[to] = costs[to]! + slotCosts[to]!;
        continue;
      }
      for (let from = 0; from < vectors.length; from++) {
        const cost = costs[from]! + moves[from]![to]! + slotCosts[to]!;
        if (cost < next[to]!) {
          next[to] = cost;
          origin[to] = from;
        }
      }
    }
    costs = next;
    origins.push(origin);
  }
  let at = costs.indexOf(Math.min(...costs));
  const cost = costs[at] ?? 0;
  const mixes: (readonly number[])[] = [];
  for (let slot = demand.length - 1; slot >= 0; slot--) {
    mixes.unshift(vectors[at]!);
    at = origins[slot]![at]!;
  }
  return { mixes, cost };
}

function vectorsOf(pools: readonly ScheduledPool[]): readonly (readonly number[])[] {
  return pools.reduce<readonly (readonly number[])[]>(
    (vectors, { min, max }) => vectors.flatMap((vector) => Array.from({ length: max - min + 1 }, (_, i) => [...vector, min + i])),
    [[]],
  );
}

function moveCost(pools: readonly ScheduledPool[], from: readonly number[], to: readonly number[]): number {
  return sum(pools, ({ pricePerHour, startMs, endMs }, i) => {
    const more = to[i]! - from[i]!;
    return (pricePerHour * (more > 0 ? more * startMs : -more * endMs)) / HOUR_MS;
  });
}

function sum(pools: readonly ScheduledPool[], value: (pool: ScheduledPool, index: number) => number): number {
  return pools.reduce((total, pool, i) => total + value(pool, i), 0);
}
