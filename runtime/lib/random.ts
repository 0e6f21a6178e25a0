/** A source of randomness, given to a part at construction so that a seed repeats its run. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}

/** A seeded source (mulberry32 by Tommy Ettinger, public domain: 32 bits of state). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/** The runtime's own, unseeded source. */
export const systemRandom: Random = { next: () => Math.random() };
