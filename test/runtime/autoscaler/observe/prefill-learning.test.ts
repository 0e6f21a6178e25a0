import { prefillRate } from '../../../../runtime/autoscaler/decide/capacity/prefill-rate';
import { CapacityBook, type PoolRate } from '../../../../runtime/autoscaler/observe/capacity-book';
import { CAPACITY_FAMILIES, engineWindow } from '../../../../runtime/autoscaler/observe/engine-window';
import { parseMetricsPage } from '../../../../runtime/autoscaler/observe/metrics-page';
import type { Snapshot } from '../../../../runtime/autoscaler/observe/page-archive';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { ENGINES } from '../../../../src/catalog/engines/engine-table';
import type { StepTime } from '../../../../src/catalog/step-time';
import { PoissonArrivals } from '../../../helpers/poisson-arrivals';
import { VirtualEngine } from '../../../helpers/virtual-engine';

const hidden: StepTime = { baseMs: 25, perPrefillTokenMs: 0.08, perSequenceMs: 0.65, perKvTokenMs: 0 };
const catalogue: StepTime = { baseMs: 20, perPrefillTokenMs: 0.06, perSequenceMs: 0.5, perKvTokenMs: 0 };
const goal = { ttftMs: 2000, percentile: 95 };
const mixOf = (tokens: number) => ({ prefillTokens: tokens, promptTokens: tokens, outputTokens: 1 });
const model = { baseMs: hidden.baseMs, perSequenceMs: hidden.perSequenceMs, perPrefillTokenMs: hidden.perPrefillTokenMs };

/** An engine that prefills `perSecond` prompts of `promptTokens` on the mean for others to decode. */
function prefilling(perSecond: number, promptTokens: number, ttftMs: number) {
  const clock = new VirtualClock();
  const engine = new VirtualEngine(clock, hidden);
  const seen = { requests: 0, late: 0 };
  const traffic = { rate: () => perSecond, promptTokens, outputTokens: 1 };
  new PoissonArrivals(clock, traffic, 11, (prompt) => {
    const sentMs = clock.monotonic();
    seen.requests += 1;
    const firstToken = (): void => {
      if (clock.monotonic() - sentMs > ttftMs) seen.late += 1;
    };
    engine.submit(prompt, 1, { firstToken });
  });
  return { clock, engine, seen };
}

describe('a prefill engine', () => {
  const mix = mixOf(2000);

  it.each([
    [2000, 2000],
    [500, 500],
    [6000, 4000],
  ])(
    'with prompts of %d tokens has about 95 %% of its first tokens within %d ms at the rate that it is said to carry',
    (tokens, ttftMs) => {
      const { clock, seen } = prefilling(prefillRate(model, mixOf(tokens), { ttftMs, percentile: 95 }), tokens, ttftMs);
      clock.advance(3_600_000);
      expect(seen.late / seen.requests).toBeLessThan(0.08);
      expect(seen.late / seen.requests).toBeGreaterThan(0.01);
    },
  );

  it('teaches what a prompt token costs from times when prompts queue', () => {
    const { clock, engine } = prefilling(0.95 * prefillRate(model, mix, undefined), 2000, goal.ttftMs);
    const book = new CapacityBook();
    let last: Snapshot | undefined;
    let rate: PoolRate | undefined;
    for (let round = 0; round < 480; round++) {
      clock.advance(15_000);
      const page = { atMs: clock.monotonic(), page: parseMetricsPage(engine.page(), CAPACITY_FAMILIES) };
      const window = last && engineWindow(ENGINES.vllm, last, page);
      last = page;
      const engineOfPool = {
        engine: ENGINES.vllm,
        port: 8000,
        revision: 'r1',
        stepTime: catalogue,
        kvTokens: 640_000,
        maxSequences: 256,
        ranks: 1,
      };
      const pool = {
        name: 'prefill',
        engine: engineOfPool,
        windows: window === undefined ? [] : [window],
        part: 'prefill' as const,
      };
      [rate] = book.learn('policy', [pool], goal, undefined);
    }
    // Steps of a queue are all full, so that their base is hardly told from their tokens; what they carry is.
    const share = Number(rate!.learned.stepPerPrefillTokenMs) / hidden.perPrefillTokenMs;
    expect(share).toBeGreaterThan(0.85);
    expect(share).toBeLessThan(1.15);
    expect(rate!.rate / prefillRate(model, mix, goal)).toBeGreaterThan(0.85);
    expect(rate!.rate / prefillRate(model, mix, goal)).toBeLessThan(1.15);
  });
});
