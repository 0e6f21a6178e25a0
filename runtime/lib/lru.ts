import { LRUCache } from 'lru-cache';

type LruOptions = Pick<
  LRUCache.Options<NonNullable<unknown>, NonNullable<unknown>, unknown>,
  'ttl' | 'updateAgeOnGet' | 'ttlResolution' | 'perf'
>;

/**
 * A cache that keeps the `maxEntries` entries that were used last. Bounded by size, where every entry has size 1: the library's own `max`
 * makes its tables in advance, and every full garbage collection looks at each of their empty places.
 */
export function lru<K extends NonNullable<unknown>, V extends NonNullable<unknown>>(
  maxEntries: number,
  options: LruOptions = {},
): LRUCache<K, V> {
  return new LRUCache<K, V>({ ...options, maxSize: maxEntries, sizeCalculation: one });
}

function one(): number {
  return 1;
}
