/** How full an engine core is at one moment. */
export interface EngineOccupancy {
  /** Requests that are computed now, prefill or decode. */
  readonly running: number;
  /** Requests that wait, preempted ones included. */
  readonly waiting: number;
  /** Share of the KV blocks that requests use, 0..1. */
  readonly kvUsage: number;
  readonly usedBlocks: number;
  /** Blocks that requests can use. */
  readonly totalBlocks: number;
}

/** What an engine core says of itself at one moment. Counters only grow; they count from the core's start. */
export interface EngineStats extends EngineOccupancy {
  /** Of `waiting`, those that wait for an adapter slot or for their remote KV. */
  readonly deferred: number;
  /** Requests that bring remote KV, by how far it is: not begun, on its way, there and waiting for a step. All are among `waiting`. */
  readonly remoteLoads: { readonly wanted: number; readonly underway: number; readonly arrived: number };
  /** Blocks of finished requests that are kept for somebody who reads them; among `usedBlocks`. */
  readonly retainedBlocks: number;
  /** Adapters of running requests, sorted. */
  readonly runningAdapters: readonly string[];
  /** Adapters of waiting requests, sorted. */
  readonly waitingAdapters: readonly string[];
  readonly submitted: number;
  readonly finished: number;
  readonly aborted: number;
  readonly killed: number;
  /** Requests whose remote KV did not arrive. */
  readonly loadFailed: number;
  readonly preemptions: number;
  readonly steps: number;
  /** Milliseconds that steps took together. */
  readonly busyMs: number;
  /** Prompt tokens of admitted requests. */
  readonly promptTokens: number;
  /** Of `promptTokens`, those found in the prefix cache. */
  readonly cachedTokens: number;
  /** Of `cachedTokens`, those that a request of another tenant had put there. 0 proves isolation where both name their tenant. */
  readonly crossTenantTokens: number;
  /** Prompt tokens whose KV was fetched from outside, arrived or not. */
  readonly remoteTokens: number;
  /** Of `remoteTokens`, those that arrived. */
  readonly arrivedTokens: number;
  /** Prompt tokens of requests whose remote KV did not arrive; among `promptTokens`. */
  readonly loadFailedTokens: number;
  /** Prompt tokens computed, with those computed again after a preemption. */
  readonly prefilledTokens: number;
  readonly generatedTokens: number;
  /** Tokens still computed for requests after they were aborted: the rest of the step that ran at that moment. */
  readonly wastedTokens: number;
  /** Tokens that had been generated for requests that were then aborted or killed. */
  readonly abandonedTokens: number;
}

/** Several cores as one: ranks of one server. At least one. */
export function sumStats(all: readonly EngineStats[]): EngineStats {
  const total: Record<string, unknown> = { ...all[0] };
  for (const stats of all.slice(1)) {
    for (const [name, value] of Object.entries(stats))
      if (typeof value === 'number') total[name] = (total[name] as number) + value;
  }
  const sum = total as unknown as EngineStats;
  const loads = (of: keyof EngineStats['remoteLoads']): number =>
    all.reduce((count, { remoteLoads }) => count + remoteLoads[of], 0);
  const adapters = (of: 'runningAdapters' | 'waitingAdapters'): readonly string[] =>
    [...new Set(all.flatMap((stats) => stats[of]))].sort();
  return {
    ...sum,
    kvUsage: sum.usedBlocks / sum.totalBlocks,
    remoteLoads: { wanted: loads('wanted'), underway: loads('underway'), arrived: loads('arrived') },
    runningAdapters: adapters('runningAdapters'),
    waitingAdapters: adapters('waitingAdapters'),
  };
}
