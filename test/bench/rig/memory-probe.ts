/**
 * Loaded into a program before its own code (`--require`, with `--expose-gc`): at each message of its parent it collects garbage and answers
 * with its memory in bytes, a `ProbedMemory`.
 */

/** Memory of a process right after garbage collections. */
export interface ProbedMemory {
  readonly heapUsed: number;
  /** Buffers and typed arrays included. */
  readonly external: number;
  readonly rss: number;
}

/** A collection frees what finalizers of the one before gave up. */
const COLLECTIONS = 4;

process.on('message', () => {
  let left = COLLECTIONS;
  const collect = (): void => {
    globalThis.gc?.();
    left -= 1;
    if (left > 0) {
      setTimeout(collect, 50);
      return;
    }
    const { heapUsed, external, rss } = process.memoryUsage();
    process.send?.({ heapUsed, external, rss } satisfies ProbedMemory);
  };
  collect();
});
