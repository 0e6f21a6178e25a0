import fc from 'fast-check';
import { seededRandom } from '../../../runtime/lib/random';
import { VirtualClock } from '../../../runtime/lib/virtual-clock';
import { endOfSteps, stepsDone } from '../../../runtime/simulator/core/stride';
import { EngineCore } from '../../../runtime/simulator/engine-core';

const stepTime = { baseMs: 10, perPrefillTokenMs: 0.05, perSequenceMs: 0.3, perKvTokenMs: 0.0002 };

interface Seen {
  readonly firstMs: number;
  readonly endMs: number;
  readonly kind: string;
  readonly generatedTokens: number;
}

/** Sends the same requests, looks and disturbances to one engine, and tells what each request saw. */
function run(seed: number, numBlocks: number, strides: boolean): { readonly seen: readonly Seen[]; readonly engine: EngineCore } {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const limits = { blockSize: 16, maxNumSeqs: 12, maxNumBatchedTokens: 512, maxLoras: 1, enablePrefixCaching: true };
  const engine = new EngineCore({ clock, stepTime, numBlocks, maxModelLen: 4096, ...limits, strides });
  const seen: Seen[] = [];
  const draw = (most: number): number => 1 + Math.floor(random.next() * most);
  for (let i = 0, atMs = 0; i < 60; i++) {
    atMs += draw(900);
    const [prefix, promptTokens, outputTokens] = [draw(4), draw(300), draw(400)];
    const abortAfterMs = draw(10) === 1 ? draw(3000) : undefined;
    clock.after(atMs, () => {
      let firstMs = Number.NaN;
      const submission = engine.submit({
        id: String(i),
        promptTokens,
        outputTokens,
        blockKey: (index) => (index < 6 ? prefix * 100 + index : i * 1000 + index),
        onToken: (index, now) => {
          if (index === 0) firstMs = now;
        },
        onEnd: ({ kind, atMs: endMs, generatedTokens }) => {
          seen[i] = { firstMs, endMs, kind, generatedTokens };
        },
      });
      if (abortAfterMs !== undefined) clock.after(abortAfterMs, () => submission.abort());
    });
  }
  for (let atMs = 0; atMs < 60_000; atMs += 700) clock.after(atMs, () => engine.occupancy());
  clock.after(5000, () => engine.slowDown(1.5));
  clock.after(9000, () => engine.slowDown(1));
  clock.after(12_000, () => engine.freeze());
  clock.after(13_000, () => engine.resume());
  clock.runToEnd();
  return { seen, engine };
}

describe('an engine that computes steady steps together', () => {
  it.each([
    ['room for all', 2000],
    ['so little room that sequences are preempted', 100],
  ])('answers every request at the same time as one that computes them one by one, with %s', (_, numBlocks) => {
    for (const seed of [1, 2, 3]) {
      const one = run(seed, numBlocks, false);
      const many = run(seed, numBlocks, true);
      expect(one.seen).toHaveLength(60);
      many.seen.forEach((each, i) => {
        const expected = one.seen[i]!;
        expect({ ...each, firstMs: 0, endMs: 0 }).toEqual({ ...expected, firstMs: 0, endMs: 0 });
        expect(each.endMs).toBeCloseTo(expected.endMs, 6);
        if (!Number.isNaN(expected.firstMs)) expect(each.firstMs).toBeCloseTo(expected.firstMs, 6);
      });
      const { busyMs, ...counts } = many.engine.stats();
      const { busyMs: expectedMs, ...expected } = one.engine.stats();
      expect(counts).toEqual(expected);
      expect(busyMs).toBeCloseTo(expectedMs, 3);
    }
  });

  it('knows how many steps of a stride are over', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.double({ min: 0, max: 1, noNaN: true }), (steps, share) => {
        const stride = { startMs: 1000, firstMs: 12, growthMs: 0.01, steps };
        const atMs = 1000 + share * (endOfSteps(stride, steps) - 1000);
        const done = stepsDone(stride, atMs);
        expect(endOfSteps(stride, done)).toBeLessThanOrEqual(atMs);
        if (done < steps) expect(endOfSteps(stride, done + 1)).toBeGreaterThan(atMs);
      }),
    );
  });
});
