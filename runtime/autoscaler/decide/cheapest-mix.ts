/** One pool of replicas that serve the same load. */
export interface MixPool {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Cost of one replica per hour, in any unit that all pools share; ≥ 0. */
  readonly cost: number;
  /** Load that one replica carries, > 0. */
  readonly capacity: number;
  /** How long a replica is paid for before it serves. @default 5 minutes */
  readonly startMs?: number;
}

/** Capacities are quotients of decimals; a load is never missed for a rounding error of this share. */
const ROUNDING = 1e-9;

/**
 * Most branches that are looked at. Pools that differ in price per load, as they do in practice, need a few dozen; only many large pools of
 * the very same price per load need more, and the best mix found so far is within one replica of the cheapest then.
 */
const MOST_BRANCHES = 100_000;

/**
 * The mix of replicas that carries `load` at least cost: a small integer programme, solved exactly by branch and bound over pools in the
 * order of price per load. Of mixes of one cost the one with more replicas of the pool that is cheaper per load, then first by name, wins.
 *
 * @returns replicas of each pool, each within its bounds; every maximum when all together cannot carry the load.
 */
export function cheapestMix(pools: readonly MixPool[], load: number): readonly number[] {
  const search = new Search(pools, load);
  search.branch(0, load - search.leastCapacity - ROUNDING * Math.max(1, load), search.leastCost);
  return search.best ?? pools.map(({ max, min }) => Math.max(min, max));
}

/** Capacity of a mix. */
export function capacityOf(pools: readonly Pick<MixPool, 'capacity'>[], mix: readonly number[]): number {
  return pools.reduce((sum, { capacity }, i) => sum + capacity * mix[i]!, 0);
}

/** Cost of a mix per hour. */
export function costOf(pools: readonly Pick<MixPool, 'cost'>[], mix: readonly number[]): number {
  return pools.reduce((sum, { cost }, i) => sum + cost * mix[i]!, 0);
}

class Search {
  best: readonly number[] | undefined;
  readonly leastCapacity: number;
  readonly leastCost: number;
  private bestCost = Number.POSITIVE_INFINITY;
  private branches = 0;
  private readonly order: readonly number[];
  private readonly taken: number[];
  /** Capacity that pools from this place of the order on can add. */
  private readonly capacityFrom: readonly number[];

  constructor(
    private readonly pools: readonly MixPool[],
    load: number,
  ) {
    this.order = pools.map((_, i) => i).sort((a, b) => priceOf(pools[a]!) - priceOf(pools[b]!) || byName(pools[a]!, pools[b]!));
    this.taken = pools.map(({ min }) => min);
    this.leastCapacity = capacityOf(pools, this.taken);
    this.leastCost = costOf(pools, this.taken);
    const from = [0];
    for (const pool of [...this.order].reverse()) from.unshift(from[0]! + roomOf(pools[pool]!) * pools[pool]!.capacity);
    this.capacityFrom = from;
    if (!Number.isFinite(load)) this.branches = MOST_BRANCHES;
  }

  /** Tries every count of one pool that can still be part of a cheaper mix, the greatest first. @param rest load that is not carried yet. */
  branch(place: number, rest: number, cost: number): void {
    if (rest <= 0) {
      if (cost < this.bestCost) this.keep(cost);
      return;
    }
    if (place === this.order.length || this.capacityFrom[place]! < rest) return;
    if (this.branches >= MOST_BRANCHES && this.best !== undefined) return;
    this.branches += 1;
    const index = this.order[place]!;
    const pool = this.pools[index]!;
    const most = Math.min(roomOf(pool), Math.ceil(rest / pool.capacity));
    for (let count = most; count >= 0; count--) {
      const left = rest - count * pool.capacity;
      const sofar = cost + count * pool.cost;
      if (left > this.capacityFrom[place + 1]!) break;
      const bound = sofar + Math.max(0, left) * this.priceFrom(place + 1);
      // Fewer of this pool leave more to pools that are dearer per load.
      if (bound >= this.bestCost * (1 - ROUNDING) && count < most) break;
      this.taken[index] = pool.min + count;
      this.branch(place + 1, left, sofar);
    }
    this.taken[index] = pool.min;
  }

  private keep(cost: number): void {
    this.bestCost = cost;
    this.best = [...this.taken];
  }

  private priceFrom(place: number): number {
    const next = this.order[place];
    return next === undefined ? 0 : priceOf(this.pools[next]!);
  }
}

function roomOf({ min, max }: MixPool): number {
  return Math.max(0, max - min);
}

function priceOf({ cost, capacity }: MixPool): number {
  return cost / capacity;
}

function byName(a: MixPool, b: MixPool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
