import fc from 'fast-check';
import type { Candidate, ScheduledRequest } from '../../runtime/router/scheduling/candidate';

/** A candidate that is idle and empty, changed as asked. */
export function candidate(slot: number, changes: Partial<Candidate> = {}): Candidate {
  const pod = { namespace: 'default', name: `p${slot}`, uid: `u${slot}` };
  return {
    endpoint: { id: `default/p${slot}#u${slot}`, slot, pod, host: '10.0.0.1', port: 8000, engine: 'vLLM' },
    cachedTokens: 0,
    queuedTokens: 0,
    onFlight: 0,
    running: 0,
    contextTokens: 0,
    maxNumSeqs: 256,
    kvUsage: 0,
    prefillTokensPerSecond: 10_000,
    decode: { baseSeconds: 0.01, perSequenceSeconds: 0.0001, perContextTokenSeconds: 0 },
    scraped: {},
    ...changes,
  };
}

export function scheduledRequest(changes: Partial<ScheduledRequest> = {}): ScheduledRequest {
  return { promptTokens: 1000, expectedOutputTokens: 100, upstreamModel: 'm', draw: 0.5, ...changes };
}

const count = fc.oneof(fc.nat(10_000), fc.double({ min: 0, max: 1e9, noNaN: true }));
const seconds = fc.double({ min: 0, max: 1e6, noNaN: true });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const adapters = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'));

/** Pools of candidates with any numbers that a view can have, extreme ones included. */
export const anyPool: fc.Arbitrary<readonly Candidate[]> = fc
  .array(
    fc.record({
      cachedTokens: count,
      queuedTokens: count,
      onFlight: fc.nat(5000),
      running: count,
      contextTokens: count,
      maxNumSeqs: fc.integer({ min: 1, max: 4096 }),
      kvUsage: fc.double({ min: 0, max: 1, noNaN: true }),
      prefillTokensPerSecond: fc.double({ min: 1e-3, max: 1e7, noNaN: true }),
      decode: fc.record({ baseSeconds: seconds, perSequenceSeconds: seconds, perContextTokenSeconds: seconds }),
      scraped: fc.record({
        running: maybe(fc.nat(5000)),
        waiting: maybe(fc.nat(5000)),
        kvUsage: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
        timeToFirstTokenSeconds: maybe(seconds),
        interTokenLatencySeconds: maybe(seconds),
        adapterSlots: maybe(fc.nat(64)),
        runningAdapters: maybe(adapters),
      }),
      models: maybe(adapters.map((names) => new Set(names))),
      recentAdapters: adapters,
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((pool) => pool.map((numbers, slot) => candidate(slot, numbers as Partial<Candidate>)));

export const anyRequest: fc.Arbitrary<ScheduledRequest> = fc
  .record({
    promptTokens: fc.integer({ min: 1, max: 10_000_000 }),
    expectedOutputTokens: fc.double({ min: 1, max: 1e6, noNaN: true }),
    draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    adapter: maybe(fc.constantFrom('a', 'b')),
    ownedBlocks: maybe(
      fc.record({
        total: fc.integer({ min: 1, max: 128 }),
        runs: fc
          .array(fc.tuple(fc.nat(12), fc.integer({ min: 1, max: 128 })))
          .map((runs) => new Map(runs.map(([slot, run]) => [`default/p${slot}#u${slot}`, run]))),
      }),
    ),
  })
  .map((numbers) => scheduledRequest(numbers));
