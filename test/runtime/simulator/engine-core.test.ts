import * as fc from 'fast-check';
import type { Clock, Timer } from '../../../runtime/lib/clock';
import { VirtualClock } from '../../../runtime/lib/virtual-clock';
import { EngineCore, type StepReport } from '../../../runtime/simulator/engine-core';
import { type LoadRequest, type LoadTrace, offer, requestOf, SMALL_CORE } from '../../helpers/engine-load';

function run(
  requests: readonly LoadRequest[],
  options: Partial<typeof SMALL_CORE> = {},
): { core: EngineCore; traces: LoadTrace[]; steps: StepReport[] } {
  const clock = new VirtualClock();
  const steps: StepReport[] = [];
  const core = new EngineCore({ ...SMALL_CORE, ...options, clock, observer: { onStep: (step) => steps.push(step) } });
  const traces = offer(core, clock, requests);
  clock.runToEnd(100_000);
  return { core, traces, steps };
}

const one = (request: Partial<LoadRequest>): LoadRequest => ({
  atMs: 0,
  promptTokens: 8,
  outputTokens: 3,
  prefix: 0,
  ...request,
});

describe('time of a request', () => {
  it('is α + β·prompt for the first token and α + γ + δ·KV for each further one', () => {
    const { traces } = run([one({})]);
    expect(traces[0]!.tokens).toEqual([6, 6 + 4.508, 6 + 4.508 + 4.509]);
    expect(traces[0]!.outcome).toEqual({ kind: 'finished', atMs: 15.017, cachedTokens: 0, generatedTokens: 3, preemptions: 0 });
  });

  it('saves the prefill of a cached prefix, whose KV is read instead', () => {
    const { traces } = run([one({ promptTokens: 10 }), one({ promptTokens: 10, atMs: 100 })]);
    expect(traces[1]!.outcome!.cachedTokens).toBe(8);
    expect(traces[1]!.tokens[0]).toBeCloseTo(100 + 4 + 0.25 * 2 + 0.001 * 8, 9);
  });

  it.each([
    [8, 4],
    [9, 8],
    [7, 4],
    [4, 0],
    [3, 0],
  ])('computes at least the last token of a repeated prompt: of %d tokens %d are cached', (promptTokens, cachedTokens) => {
    const { traces } = run([one({ promptTokens }), one({ promptTokens, atMs: 100 })]);
    expect(traces[1]!.outcome!.cachedTokens).toBe(cachedTokens);
  });

  it('finds nothing when prefix caching is off', () => {
    const { traces } = run([one({ promptTokens: 20 }), one({ promptTokens: 20, atMs: 100 })], { enablePrefixCaching: false });
    expect(traces[1]!.outcome!.cachedTokens).toBe(0);
  });

  it('starts requests of one instant in one step, and a later one with the next step', () => {
    const { traces, steps } = run([one({ prefix: 1 }), one({ prefix: 2 }), one({ prefix: 3, atMs: 1 })]);
    expect(steps[0]).toMatchObject({ startMs: 0, prefillTokens: 16, decodeSequences: 0 });
    expect(traces[0]!.tokens[0]).toBe(traces[1]!.tokens[0]);
    expect(steps[1]).toMatchObject({ startMs: 8, prefillTokens: 8, decodeSequences: 2 });
  });
});

describe('a step', () => {
  it('gives its budget to decodes first and cuts the prefill of a long prompt into chunks', () => {
    const { steps, traces } = run([one({ outputTokens: 5 }), one({ prefix: 1, promptTokens: 70, atMs: 1 })]);
    expect(steps.slice(1, 4).map(({ decodeSequences, prefillTokens }) => [decodeSequences, prefillTokens])).toEqual([
      [1, 31],
      [1, 31],
      [1, 8],
    ]);
    expect(traces[1]!.tokens).toHaveLength(3);
  });

  it('runs at most maxNumSeqs requests; the others wait in order of arrival', () => {
    const { traces } = run(Array.from({ length: 6 }, (_, prefix) => one({ prefix, promptTokens: 4 })));
    const starts = traces.map((trace) => trace.tokens[0]!);
    expect(new Set(starts.slice(0, 4)).size).toBe(1);
    expect(starts[4]).toBeGreaterThan(traces[0]!.outcome!.atMs);
  });

  it('runs requests of at most maxLoras adapters and lets others pass those that wait for a slot', () => {
    const { traces } = run([one({ adapter: 'a' }), one({ adapter: 'b', prefix: 1 }), one({ prefix: 2 })]);
    expect(traces[2]!.tokens[0]).toBe(traces[0]!.tokens[0]);
    expect(traces[1]!.tokens[0]).toBeGreaterThan(traces[0]!.outcome!.atMs);
  });

  it('preempts the request admitted last when decode needs its blocks, and computes it again from what is still cached', () => {
    const { core, traces } = run(
      [one({ prefix: 1, promptTokens: 16, outputTokens: 20 }), one({ prefix: 2, promptTokens: 12, outputTokens: 20 })],
      { numBlocks: 13 },
    );
    expect(traces.map((trace) => trace.outcome!.kind)).toEqual(['finished', 'finished']);
    expect(traces[0]!.outcome!.preemptions).toBe(0);
    expect(traces[1]!.outcome!.preemptions).toBeGreaterThan(0);
    expect(traces[1]!.outcome!.cachedTokens).toBe(0);
    expect(core.stats()).toMatchObject({ preemptions: traces[1]!.outcome!.preemptions, usedBlocks: 0, generatedTokens: 40 });
  });
});

describe('how a request leaves', () => {
  it('frees the slot of an aborted request at the end of the step that runs, and counts the rest of that step as wasted', () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock, maxNumSeqs: 1 });
    const [left, next] = offer(core, clock, [one({ promptTokens: 12, abortAtMs: 2 }), one({ prefix: 1, atMs: 1 })]);
    clock.advance(2);
    expect(left!.outcome).toMatchObject({ kind: 'aborted', atMs: 2, generatedTokens: 0 });
    expect(core.stats()).toMatchObject({ running: 1, wastedTokens: 12 });
    clock.runToEnd();
    expect(left!.tokens).toEqual([]);
    expect(next!.tokens[0]).toBe(7 + 6);
    expect(core.stats()).toMatchObject({ running: 0, usedBlocks: 0, aborted: 1, finished: 1, wastedTokens: 12 });
  });

  it('does nothing on an abort after the end', () => {
    const { core, traces } = run([one({ abortAtMs: 1000 })]);
    expect(traces[0]!.outcome!.kind).toBe('finished');
    expect(core.stats().aborted).toBe(0);
  });

  it('ends everything at once when the core is killed, and refuses later requests the same way', () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock });
    const traces = offer(core, clock, [one({}), one({ prefix: 1, atMs: 1 }), one({ prefix: 2, atMs: 50 })]);
    clock.advance(7);
    core.kill();
    clock.runToEnd();
    expect(traces.map((trace) => trace.outcome)).toMatchObject([
      { kind: 'killed', atMs: 7, generatedTokens: 1 },
      { kind: 'killed', atMs: 7 },
      { kind: 'killed', atMs: 50 },
    ]);
    expect(core.isAlive).toBe(false);
    expect(core.stats()).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0, killed: 3 });
  });

  it.each([
    [0, 1],
    [1, 0],
    [100, 61],
    [161, 1],
  ])('refuses a request of %d prompt and %d output tokens, which could never end', (promptTokens, outputTokens) => {
    const core = new EngineCore({ ...SMALL_CORE, clock: new VirtualClock() });
    expect(() => core.submit(requestOf(one({ promptTokens, outputTokens }), 0, { tokens: [] }))).toThrow(RangeError);
  });

  it('takes what callbacks submit and abort in core time', () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock });
    const second: LoadTrace = { tokens: [] };
    const first = requestOf(one({ outputTokens: 1 }), 0, { tokens: [] });
    core.submit({ ...first, onEnd: () => core.submit(requestOf(one({ prefix: 5, outputTokens: 1 }), 1, second)) });
    const stays = core.submit({
      ...requestOf(one({ prefix: 6, outputTokens: 9 }), 2, { tokens: [] }),
      onToken: () => stays.abort(),
    });
    clock.runToEnd();
    expect(second.tokens).toEqual([8 + 6]);
    expect(core.stats()).toMatchObject({ finished: 2, aborted: 1, usedBlocks: 0, wastedTokens: 0 });
  });
});

describe('faults', () => {
  it('freezes for the time it is told and goes on with the rest of the step', () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock });
    const [trace] = offer(core, clock, [one({ outputTokens: 1 })]);
    clock.advance(2);
    core.freeze();
    clock.advance(1000);
    expect(trace!.tokens).toEqual([]);
    core.resume();
    clock.runToEnd();
    expect(trace!.tokens).toEqual([1006]);
  });

  it('makes every later step as many times as long', () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock });
    core.slowDown(10);
    const [trace] = offer(core, clock, [one({ outputTokens: 1 })]);
    clock.runToEnd();
    expect(trace!.tokens).toEqual([60]);
  });

  it('finds nothing after its prefix cache was reset', () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock });
    const traces = offer(core, clock, [one({ promptTokens: 20 }), one({ promptTokens: 20, atMs: 100 })]);
    clock.advance(90);
    core.resetPrefixCache();
    clock.runToEnd();
    expect(traces[1]!.outcome!.cachedTokens).toBe(0);
  });
});

describe('a replay', () => {
  it('of thousands of long prompts over eight cores takes a moment, since prefill costs nothing per token', () => {
    const clock = new VirtualClock();
    const cores = Array.from(
      { length: 8 },
      () =>
        new EngineCore({
          clock,
          stepTime: { baseMs: 8, perPrefillTokenMs: 0.05, perSequenceMs: 0.05, perKvTokenMs: 2e-5 },
          blockSize: 512,
          numBlocks: 1200,
          maxNumSeqs: 256,
          maxNumBatchedTokens: 8192,
          maxModelLen: 131_072,
          enablePrefixCaching: true,
          maxLoras: 1,
        }),
    );
    for (let i = 0; i < 4000; i++) {
      clock.after(i * 300, () => {
        cores[i % 8]!.submit({
          id: `${i}`,
          promptTokens: 12_000,
          outputTokens: 20 + (i % 300),
          blockKey: (block) => (block < 10 ? (i % 200) * 1000 + block : 1e9 + i * 1000 + block),
          onToken: () => undefined,
          onEnd: () => undefined,
        });
      });
    }
    clock.runToEnd();
    const stats = cores.map((core) => core.stats());
    expect(stats.reduce((sum, { finished }) => sum + finished, 0)).toBe(4000);
    // Each of the 25 prefixes of a core is computed once and then found: 475 of its 500 requests save ten blocks.
    for (const { cachedTokens } of stats) expect(cachedTokens).toBe(475 * 10 * 512);
  });
});

describe('whenIdle', () => {
  it('resolves at once when nothing runs, and otherwise with the end of the last request', async () => {
    const clock = new VirtualClock();
    const core = new EngineCore({ ...SMALL_CORE, clock });
    await core.whenIdle();
    const [trace] = offer(core, clock, [one({})]);
    clock.advance(1);
    const idle = core.whenIdle();
    clock.runToEnd();
    await idle;
    expect(trace!.outcome!.kind).toBe('finished');
  });
});

/** Any mix of requests, some of whose clients leave, on an engine that is short of everything. */
const load = fc.array(
  fc.record({
    atMs: fc.integer({ min: 0, max: 120 }),
    promptTokens: fc.integer({ min: 1, max: 90 }),
    outputTokens: fc.integer({ min: 1, max: 40 }),
    prefix: fc.nat(3),
    adapter: fc.option(fc.constantFrom('a', 'b'), { nil: undefined, freq: 3 }),
    abortAtMs: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 25 },
) as fc.Arbitrary<LoadRequest[]>;

describe('any mix of finish, abort and kill', () => {
  it('gives every block back, ends every request once, and never spends more than the budget', () => {
    fc.assert(
      fc.property(
        load,
        fc.integer({ min: 34, max: 60 }),
        fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
        (requests, numBlocks, killAtMs) => {
          const clock = new VirtualClock();
          let spent = 0;
          const core = new EngineCore({
            ...SMALL_CORE,
            numBlocks,
            clock,
            observer: {
              onStep: (step) => {
                spent = Math.max(spent, step.prefillTokens + step.decodeSequences);
              },
              onAdmitted: (request, _atMs, cachedTokens) => {
                expect(cachedTokens).toBeLessThan(request.promptTokens);
              },
            },
          });
          const traces = offer(core, clock, requests);
          if (killAtMs !== undefined) clock.after(killAtMs, () => core.kill());
          clock.runToEnd(100_000);

          const stats = core.stats();
          expect(stats).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0, kvUsage: 0, submitted: requests.length });
          expect(stats.finished + stats.aborted + stats.killed).toBe(requests.length);
          expect(spent).toBeLessThanOrEqual(SMALL_CORE.maxNumBatchedTokens);
          traces.forEach((trace, i) => {
            expect(trace.outcome!.generatedTokens).toBe(trace.tokens.length);
            expect(trace.outcome!.cachedTokens).toBeLessThanOrEqual(requests[i]!.promptTokens - 1);
            if (trace.outcome!.kind === 'finished') expect(trace.tokens).toHaveLength(requests[i]!.outputTokens);
            expect([...trace.tokens]).toEqual([...trace.tokens].sort((a, b) => a - b));
          });
          expect(stats.generatedTokens).toBe(traces.reduce((sum, trace) => sum + trace.tokens.length, 0));
        },
      ),
      { numRuns: 150 },
    );
  });

  it('gives the same trace twice, and the same on a clock whose timers fire late', () => {
    fc.assert(
      fc.property(load, fc.nat(), (requests, seed) => {
        const trace = (clock: VirtualClock, coreClock: Clock): LoadTrace[] => {
          const core = new EngineCore({ ...SMALL_CORE, numBlocks: 36, clock: coreClock });
          const traces = offer(core, clock, requests);
          clock.runToEnd(200_000);
          return traces;
        };
        const exact = new VirtualClock();
        const late = new VirtualClock();
        const expected = trace(exact, exact);
        expect(trace(late, new LateClock(late, seed))).toEqual(expected);
      }),
      { numRuns: 80 },
    );
  });
});

/** Fires timers up to 25 ms late, as a busy machine does. */
class LateClock implements Clock {
  constructor(
    private readonly clock: VirtualClock,
    private state: number,
  ) {}
  now(): number {
    return this.clock.now();
  }
  monotonic(): number {
    return this.clock.monotonic();
  }
  after(delayMs: number, callback: () => void): Timer {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.clock.after(delayMs + (this.state % 26), callback);
  }
}

describe('any mix of remote KV that arrives, fails or is missing, and of blocks that outlive their request', () => {
  const mix = fc.array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 120 }),
      promptTokens: fc.integer({ min: 1, max: 60 }),
      outputTokens: fc.integer({ min: 1, max: 20 }),
      prefix: fc.nat(3),
      abortAtMs: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
      fetch: fc.option(
        fc.record({
          takesMs: fc.nat(80),
          result: fc.constantFrom('arrived' as const, 'failed' as const, 'missing' as const),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        { nil: undefined },
      ),
      holdsMs: fc.option(fc.nat(200), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 20 },
  );

  it('ends every request once, with all its tokens or none too many, and gives every block back', () => {
    fc.assert(
      fc.property(mix, fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }), (requests, killAtMs) => {
        const clock = new VirtualClock();
        const core = new EngineCore({ ...SMALL_CORE, clock });
        const ends: (string | undefined)[] = requests.map(() => undefined);
        requests.forEach((load, index) => {
          const trace: LoadTrace = { tokens: [] };
          const request = requestOf(load as LoadRequest, index, trace);
          const { fetch, holdsMs } = load;
          clock.after(load.atMs, () => {
            let isCancelled = false;
            const submission = core.submit({
              ...request,
              ...(holdsMs === undefined ? {} : { retainsBlocks: true }),
              ...(fetch === undefined
                ? {}
                : {
                    remoteKv: {
                      tokens: () => Math.floor(load.promptTokens * fetch.share),
                      fetch: (tokens, done) => {
                        expect(tokens).toBeGreaterThanOrEqual(1);
                        if (fetch.takesMs === 0) done(fetch.result);
                        else clock.after(fetch.takesMs, () => !isCancelled && done(fetch.result));
                      },
                      cancel: () => {
                        isCancelled = true;
                      },
                    },
                  }),
              onEnd(outcome) {
                expect(ends[index]).toBeUndefined();
                ends[index] = outcome.kind;
                request.onEnd(outcome);
                expect(outcome.retained !== undefined).toBe(outcome.kind === 'finished' && holdsMs !== undefined);
                if (outcome.retained !== undefined) {
                  expect(outcome.retained.tokens).toBe(load.promptTokens + load.outputTokens - 1);
                  clock.after(holdsMs!, () => outcome.retained!.release());
                }
                if (outcome.kind === 'finished') expect(trace.tokens).toHaveLength(load.outputTokens);
              },
            });
            if (load.abortAtMs !== undefined) clock.after(Math.max(0, load.abortAtMs - load.atMs), () => submission.abort());
          });
        });
        if (killAtMs !== undefined) clock.after(killAtMs, () => core.kill());
        clock.runToEnd(100_000);
        const stats = core.stats();
        expect(ends).not.toContain(undefined);
        expect(stats).toMatchObject({
          running: 0,
          waiting: 0,
          usedBlocks: 0,
          retainedBlocks: 0,
          remoteLoads: { wanted: 0, underway: 0, arrived: 0 },
        });
        expect(stats.finished + stats.aborted + stats.killed + stats.loadFailed).toBe(requests.length);
        expect(stats.arrivedTokens).toBeLessThanOrEqual(stats.remoteTokens);
      }),
      { numRuns: 300 },
    );
  });
});
