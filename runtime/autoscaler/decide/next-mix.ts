import { capacityOf, cheapestMix, costOf, type MixPool } from './cheapest-mix';
import { clamp } from './rules';

/** How long a cheaper mix is taken to stay the right one; an assumption. */
const HORIZON_HOURS = 0.5;
/** How long a new replica is paid for before it serves where no start was seen: a node, an image, weights and a warm-up; an assumption. */
const START_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;
/** Share of the cost that an exchange must save at least: it throws warm caches away; an assumption. */
const LEAST_SAVING = 0.1;

/**
 * The mix to go to from `current` so that `load` is carried. When more is needed, all that runs stays. When what runs is enough, a part of it
 * stays, or it is exchanged for the cheapest mix of all when that saves a tenth, and within half an hour more than its starts cost.
 */
export function nextMix(pools: readonly MixPool[], current: readonly number[], load: number): readonly number[] {
  const bounded = current.map((count, i) => clamp(count, pools[i]!));
  const isEnough = capacityOf(pools, bounded) >= load * (1 - ROUNDING);
  const keeping = pools.map((pool, i) => (isEnough ? { ...pool, max: bounded[i]! } : { ...pool, min: bounded[i]! }));
  const kept = cheapestMix(keeping, load);
  if (!isEnough) return kept;
  const cheapest = cheapestMix(pools, load);
  const savingPerHour = costOf(pools, kept) - costOf(pools, cheapest);
  if (savingPerHour < LEAST_SAVING * costOf(pools, kept)) return kept;
  const starts = startCost(pools, current, cheapest) - startCost(pools, current, kept);
  return savingPerHour * HORIZON_HOURS > Math.max(0, starts) ? cheapest : kept;
}

const ROUNDING = 1e-9;

function startCost(pools: readonly MixPool[], current: readonly number[], mix: readonly number[]): number {
  return pools.reduce(
    (sum, { cost, startMs = START_MS }, i) => sum + (cost * startMs * Math.max(0, mix[i]! - current[i]!)) / HOUR_MS,
    0,
  );
}
