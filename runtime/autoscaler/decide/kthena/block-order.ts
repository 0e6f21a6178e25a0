import type { PoolSpec } from '../spec';

/** Replicas of one pool that are added together. */
export interface Block {
  readonly pool: number;
  readonly size: number;
  readonly cost: number;
}

/**
 * Kthena's order of growth over several pools: each pool's free replicas are cut into blocks that grow geometrically, and blocks are taken
 * cheapest first. At a rate of 100 % a pool is one block at the price of a single replica, as in Kthena.
 */
export function blockOrder(pools: readonly PoolSpec[], costExpansionRatePercent: number): readonly Block[] {
  const blocks = pools.flatMap(({ min, max, cost }, pool) => {
    const free = max - min;
    if (free <= 0) return [];
    return costExpansionRatePercent === 100
      ? [{ pool, size: free, cost }]
      : geometricSizes(free, costExpansionRatePercent).map((size) => ({ pool, size, cost: cost * size }));
  });
  return blocks.sort((a, b) => a.cost - b.cost || a.pool - b.pool);
}

function geometricSizes(free: number, ratePercent: number): number[] {
  const sizes: number[] = [];
  let length = 1;
  for (let rest = free; rest > 0; length = Math.max(1, (length * ratePercent) / 100)) {
    const size = Math.min(rest, Math.trunc(length));
    sizes.push(size);
    rest -= size;
  }
  return sizes;
}

/** How `total` replicas lie on the pools: every pool's minimum, then the blocks in order. Each pool stays within its bounds. */
export function placeOnPools(pools: readonly PoolSpec[], order: readonly Block[], total: number): readonly number[] {
  const placed = pools.map((pool) => pool.min);
  let rest = total - placed.reduce((sum, count) => sum + count, 0);
  for (const { pool, size } of order) {
    if (rest <= 0) break;
    const taken = Math.min(rest, size);
    placed[pool] = placed[pool]! + taken;
    rest -= taken;
  }
  return placed;
}
