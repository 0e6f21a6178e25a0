import type { KvStore } from './kv-fabric';

/** Keys that a store keeps; the oldest go first. About 16 million tokens in blocks of 16. */
const MOST_KEYS = 1_000_000;

/** Shared stores by name. They forget nothing else: engines come and go, a store stays. */
export class KvStores {
  private readonly stores = new Map<string, KvStore>();

  store(name: string): KvStore {
    let store = this.stores.get(name);
    if (store === undefined) {
      store = newStore();
      this.stores.set(name, store);
    }
    return store;
  }
}

function newStore(): KvStore {
  const keys = new Set<number>();
  return {
    has: (key) => keys.has(key),
    add(key) {
      keys.add(key);
      if (keys.size <= MOST_KEYS) return;
      const [oldest] = keys;
      keys.delete(oldest!);
    },
  };
}
