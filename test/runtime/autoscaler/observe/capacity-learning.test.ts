import { rateAtSlo } from '../../../../runtime/autoscaler/decide/capacity/rate-at-slo';
import { CapacityBook, type PoolRate } from '../../../../runtime/autoscaler/observe/capacity-book';
import { CAPACITY_FAMILIES, engineWindow } from '../../../../runtime/autoscaler/observe/engine-window';
import { parseMetricsPage } from '../../../../runtime/autoscaler/observe/metrics-page';
import type { Snapshot } from '../../../../runtime/autoscaler/observe/page-archive';
import type { PoolEngine } from '../../../../runtime/autoscaler/observe/pool-engine';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { ENGINES } from '../../../../src/catalog/engines/engine-table';
import type { StepTime } from '../../../../src/catalog/step-time';
import { PoissonArrivals, type PoissonTraffic } from '../../../helpers/poisson-arrivals';
import { VirtualEngine } from '../../../helpers/virtual-engine';

const HOUR_MS = 3_600_000;
const catalogue: StepTime = { baseMs: 20, perPrefillTokenMs: 0.06, perSequenceMs: 0.5, perKvTokenMs: 0 };
const goal = { itlMs: 60, percentile: 95 };

const pool = (engine: 'vllm' | 'sglang', ranks: number): PoolEngine => ({
  engine: ENGINES[engine],
  port: 8000,
  revision: 'r1',
  stepTime: catalogue,
  kvTokens: 640_000,
  maxSequences: 256,
  ranks,
});

/** Runs one engine, of one or several data-parallel ranks, and learns from its pages every 15 seconds, as rounds do. */
class Lesson {
  readonly clock = new VirtualClock();
  readonly book = new CapacityBook();
  readonly factors: number[] = [];
  readonly arrivals: PoissonArrivals;
  private readonly ranks: readonly VirtualEngine[];
  private last: Snapshot | undefined;
  private learned: PoolRate | undefined;

  constructor(
    private readonly name: 'vllm' | 'sglang',
    hidden: StepTime,
    traffic: PoissonTraffic,
    ranks = 1,
  ) {
    this.ranks = Array.from({ length: ranks }, () => new VirtualEngine(this.clock, hidden));
    let requests = 0;
    this.arrivals = new PoissonArrivals(this.clock, traffic, 7, (prompt, output) => {
      this.ranks[requests++ % ranks]!.submit(prompt, output);
    });
  }

  run(hours: number): { readonly baseMs: number; readonly perSequenceMs: number; readonly perPrefillTokenMs: number } {
    for (const end = this.clock.monotonic() + hours * HOUR_MS; this.clock.monotonic() < end; ) {
      this.clock.advance(15_000);
      const text = this.ranks
        .map((rank, i) => (this.name === 'vllm' ? rank.page().replaceAll('engine="0"', `engine="${i}"`) : rank.sglangPage()))
        .join('');
      const page = { atMs: this.clock.monotonic(), page: parseMetricsPage(text, CAPACITY_FAMILIES) };
      const window = this.last && engineWindow(ENGINES[this.name], this.last, page);
      this.last = page;
      const pools = [{ name: 'chat', engine: pool(this.name, this.ranks.length), windows: window === undefined ? [] : [window] }];
      [this.learned] = this.book.learn('policy', pools, goal, undefined);
      this.factors.push(this.learned!.learned.factorPercent / 100);
    }
    const { stepBaseMs, stepPerSequenceMs, stepPerPrefillTokenMs } = this.learned!.learned;
    return {
      baseMs: Number(stepBaseMs),
      perSequenceMs: Number(stepPerSequenceMs),
      perPrefillTokenMs: Number(stepPerPrefillTokenMs),
    };
  }

  get rate(): number {
    return this.learned!.rate;
  }
}

const within15 = (learned: number, hidden: number): void => {
  expect(learned / hidden).toBeGreaterThan(0.85);
  expect(learned / hidden).toBeLessThan(1.15);
};

/** A day in two hours. */
const swinging = (mean: number) => (atMs: number) => mean * (1 + 0.6 * Math.sin((2 * Math.PI * atMs) / (2 * HOUR_MS)));

describe('capacity that is learned from the metrics of an engine', () => {
  it('is that of all data-parallel ranks of a page together, whose steps are each as long', () => {
    const hidden: StepTime = { baseMs: 25, perPrefillTokenMs: 0.08, perSequenceMs: 0.65, perKvTokenMs: 0 };
    const lesson = new Lesson('vllm', hidden, { rate: swinging(2.8), promptTokens: 800, outputTokens: 220 }, 2);
    const learned = lesson.run(1);
    within15(learned.baseMs, hidden.baseMs);
    within15(learned.perSequenceMs, hidden.perSequenceMs);
    within15(learned.perPrefillTokenMs, hidden.perPrefillTokenMs);
    const mix = { promptTokens: 800, prefillTokens: 800, outputTokens: 220 };
    within15(lesson.rate, 2 * rateAtSlo(hidden, mix, goal, { maxSequences: 256, kvTokens: 640_000 }));
  });

  it.each(['vllm', 'sglang'] as const)(
    'recovers hidden parts of the step time of %s within 15 %% in two hours, and again after the mix shifts',
    (name) => {
      const hidden: StepTime = { baseMs: 25, perPrefillTokenMs: 0.08, perSequenceMs: 0.65, perKvTokenMs: 0 };
      const lesson = new Lesson(name, hidden, { rate: swinging(1.4), promptTokens: 800, outputTokens: 220 });
      const first = lesson.run(2);
      within15(first.baseMs, hidden.baseMs);
      within15(first.perSequenceMs, hidden.perSequenceMs);
      within15(first.perPrefillTokenMs, hidden.perPrefillTokenMs);
      const mix = { promptTokens: 800, prefillTokens: 800, outputTokens: 220 };
      const room = { maxSequences: 256, kvTokens: 640_000 };
      within15(lesson.rate, rateAtSlo(hidden, mix, goal, room));

      lesson.arrivals.traffic = { rate: swinging(0.9), promptTokens: 3000, outputTokens: 120 };
      const second = lesson.run(2);
      within15(second.baseMs, hidden.baseMs);
      within15(second.perSequenceMs, hidden.perSequenceMs);
      within15(second.perPrefillTokenMs, hidden.perPrefillTokenMs);
      within15(lesson.rate, rateAtSlo(hidden, { promptTokens: 3000, prefillTokens: 3000, outputTokens: 120 }, goal, room));

      for (const [i, factor] of lesson.factors.entries()) {
        expect(factor).toBeGreaterThanOrEqual(0.5);
        expect(factor).toBeLessThanOrEqual(2);
        const before = lesson.factors[i - 1] ?? 1;
        // Figures of the status are whole percents.
        expect(Math.abs(factor - before)).toBeLessThanOrEqual(0.1 * before + 0.011);
      }
    },
  );
});
