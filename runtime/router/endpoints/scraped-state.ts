import type { EngineObservation, HistogramTotals } from './engine-observation';

/** Age at which a scraped value counts half. Past it, the router's own ledger knows better. */
const HALF_LIFE_MS = 5_000;

/** What was scraped last from one endpoint, together with what the router itself had in flight at that moment. */
export interface Scrape {
  readonly atMs: number;
  readonly observation: EngineObservation;
  /** Requests of this router that were in flight there. */
  readonly ownRunning: number;
  /** KV tokens that those requests were expected to hold. */
  readonly ownKvTokens: number;
}

/** What an engine said last; absent where it said nothing. */
export interface Said {
  readonly running?: number;
  readonly waiting?: number;
  readonly kvUsage?: number;
  readonly timeToFirstTokenSeconds?: number;
  readonly interTokenLatencySeconds?: number;
  /** Adapters that its engine holds on the GPU at one time. */
  readonly adapterSlots?: number;
  /** Adapters that requests were running with. */
  readonly runningAdapters?: readonly string[];
}

/**
 * What an endpoint says of itself, as far as it is known. A failed scrape leaves the values; they lose weight with age, so that an
 * endpoint which no longer answers neither keeps looking idle nor stays busy for ever.
 */
export class ScrapedState {
  private last: Scrape | undefined;
  private attempts = 0;
  private ttft: LatencyWindow = { totals: undefined, averageSeconds: undefined };
  private itl: LatencyWindow = { totals: undefined, averageSeconds: undefined };
  private capacity: number | undefined;
  private current: Said = {};

  /** What the last scrape said, as plugins read it: made once per scrape, since every decision reads it. */
  get said(): Said {
    return this.current;
  }

  get scrape(): Scrape | undefined {
    return this.last;
  }

  /** Whether a scrape was tried, however it ended. */
  get isTried(): boolean {
    return this.attempts > 0;
  }

  /** Tokens that the KV cache holds; the last that was told. */
  get kvCapacityTokens(): number | undefined {
    return this.capacity;
  }

  /** Average time to first token between the last two scrapes in which there was one, in seconds. */
  get timeToFirstTokenSeconds(): number | undefined {
    return this.ttft.averageSeconds;
  }

  get interTokenLatencySeconds(): number | undefined {
    return this.itl.averageSeconds;
  }

  ageMs(nowMs: number): number | undefined {
    return this.last === undefined ? undefined : Math.max(0, nowMs - this.last.atMs);
  }

  /** Weight of the last scrape, 1 (fresh) to 0. */
  weight(nowMs: number): number {
    const ageMs = this.ageMs(nowMs);
    return ageMs === undefined ? 0 : 2 ** (-ageMs / HALF_LIFE_MS);
  }

  succeeded(scrape: Scrape): void {
    this.attempts += 1;
    this.last = scrape;
    this.capacity = scrape.observation.kvCapacityTokens ?? this.capacity;
    this.ttft = next(this.ttft, scrape.observation.timeToFirstToken);
    this.itl = next(this.itl, scrape.observation.interTokenLatency);
    const { running, waiting, kvUsage, adapterSlots, runningAdapters } = scrape.observation;
    const { averageSeconds: timeToFirstTokenSeconds } = this.ttft;
    const { averageSeconds: interTokenLatencySeconds } = this.itl;
    this.current = {
      ...(running === undefined ? {} : { running }),
      ...(waiting === undefined ? {} : { waiting }),
      ...(kvUsage === undefined ? {} : { kvUsage }),
      ...(timeToFirstTokenSeconds === undefined ? {} : { timeToFirstTokenSeconds }),
      ...(interTokenLatencySeconds === undefined ? {} : { interTokenLatencySeconds }),
      ...(adapterSlots === undefined ? {} : { adapterSlots }),
      ...(runningAdapters === undefined ? {} : { runningAdapters }),
    };
  }

  failed(): void {
    this.attempts += 1;
  }
}

interface LatencyWindow {
  readonly totals: HistogramTotals | undefined;
  readonly averageSeconds: number | undefined;
}

/** Average since the scrape before, as Kthena takes it: no new sample keeps the old average, and a restart starts from the process. */
function next(before: LatencyWindow, totals: HistogramTotals | undefined): LatencyWindow {
  if (totals === undefined) return before;
  if (before.totals === undefined) return { totals, averageSeconds: before.averageSeconds };
  const isRestarted = totals.count < before.totals.count || totals.sumSeconds < before.totals.sumSeconds;
  const count = totals.count - (isRestarted ? 0 : before.totals.count);
  const sumSeconds = totals.sumSeconds - (isRestarted ? 0 : before.totals.sumSeconds);
  const average = count > 0 ? sumSeconds / count : 0;
  return { totals, averageSeconds: average > 0 ? average : before.averageSeconds };
}
