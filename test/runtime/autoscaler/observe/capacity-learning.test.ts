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

const pool = (revision: string): PoolEngine => ({
  engine: ENGINES.vllm,
  port: 8000,
  revision,
  stepTime: catalogue,
  kvTokens: 640_000,
  maxSequences: 256,
  ranks: 1,
});

/** Runs one engine and learns from its pages every 15 seconds, as rounds do. */
class Lesson {
  readonly clock = new VirtualClock();
  readonly book = new CapacityBook();
  readonly factors: number[] = [];
  readonly arrivals: PoissonArrivals;
  private readonly engine: VirtualEngine;
  private last: Snapshot | undefined;
  private learned: PoolRate | undefined;

  constructor(hidden: StepTime, traffic: PoissonTraffic) {
    const engine = new VirtualEngine(this.clock, hidden);
    this.engine = engine;
    this.arrivals = new PoissonArrivals(this.clock, traffic, 7, (prompt, output) => engine.submit(prompt, output));
  }

  run(hours: number): { readonly baseMs: number; readonly perSequenceMs: number; readonly perPrefillTokenMs: number } {
    for (const end = this.clock.monotonic() + hours * HOUR_MS; this.clock.monotonic() < end; ) {
      this.clock.advance(15_000);
      const page = { atMs: this.clock.monotonic(), page: parseMetricsPage(this.engine.page(), CAPACITY_FAMILIES) };
      const window = this.last && engineWindow(ENGINES.vllm, this.last, page);
      this.last = page;
      const pools = [{ name: 'chat', engine: pool('r1'), windows: window === undefined ? [] : [window] }];
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
  it('recovers hidden parts of the step time within 15 % in two hours, and again after the mix shifts', () => {
    const hidden: StepTime = { baseMs: 25, perPrefillTokenMs: 0.08, perSequenceMs: 0.65, perKvTokenMs: 0 };
    const lesson = new Lesson(hidden, { rate: swinging(1.4), promptTokens: 800, outputTokens: 220 });
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
  });
});
