import type { Clock, Timer } from '../../lib/clock';
import type { Endpoint } from './endpoint';
import { type EngineObservation, readObservation } from './engine-observation';

/** Fetches one endpoint's metrics page. Rejects when there is none. */
export type FetchMetrics = (endpoint: Endpoint, signal: AbortSignal) => Promise<string>;

/** What the scraper needs of an endpoint, and where it tells what it found. */
export interface ScrapeTarget {
  readonly endpoint: Endpoint;
  /** Whether requests are in flight there; idle endpoints are asked less often. */
  isBusy(): boolean;
  scraped(observation: EngineObservation): void;
  scrapeFailed(): void;
}

export interface ScrapeOptions {
  /** Between scrapes of a busy endpoint. @default 1000 ms, Kthena's interval */
  readonly busyIntervalMs?: number;
  /** Longest interval, of one that is idle or does not answer. @default 5000 ms */
  readonly idleIntervalMs?: number;
  /** @default 5000 ms */
  readonly timeoutMs?: number;
  /** Scrapes at one time. @default 32 */
  readonly concurrency?: number;
}

interface Job {
  readonly target: ScrapeTarget;
  intervalMs: number;
  timer: Timer | undefined;
  fetching: AbortController | undefined;
}

/** Scrapes each endpoint on its own schedule, so that one that hangs delays no other. */
export class Scraper {
  private readonly jobs = new Map<ScrapeTarget, Job>();
  private readonly waiting: Job[] = [];
  private active = 0;
  private readonly busyIntervalMs: number;
  private readonly idleIntervalMs: number;
  private readonly timeoutMs: number;
  private readonly concurrency: number;

  constructor(
    private readonly clock: Clock,
    private readonly fetchMetrics: FetchMetrics,
    options: ScrapeOptions = {},
  ) {
    this.busyIntervalMs = options.busyIntervalMs ?? 1000;
    this.idleIntervalMs = options.idleIntervalMs ?? 5000;
    this.timeoutMs = options.timeoutMs ?? 5000;
    this.concurrency = options.concurrency ?? 32;
  }

  /** Begins with a scrape at once. */
  add(target: ScrapeTarget): void {
    if (this.jobs.has(target)) return;
    const job: Job = { target, intervalMs: this.busyIntervalMs, timer: undefined, fetching: undefined };
    this.jobs.set(target, job);
    this.queue(job);
  }

  remove(target: ScrapeTarget): void {
    const job = this.jobs.get(target);
    if (job === undefined) return;
    this.jobs.delete(target);
    job.timer?.cancel();
    job.fetching?.abort();
  }

  close(): void {
    for (const target of [...this.jobs.keys()]) this.remove(target);
  }

  private queue(job: Job): void {
    this.waiting.push(job);
    this.startWaiting();
  }

  private startWaiting(): void {
    while (this.active < this.concurrency) {
      const job = this.waiting.shift();
      if (job === undefined) return;
      if (this.isCurrent(job)) void this.scrape(job);
    }
  }

  private async scrape(job: Job): Promise<void> {
    const { target } = job;
    const controller = new AbortController();
    job.fetching = controller;
    this.active += 1;
    const deadline = this.clock.after(this.timeoutMs, () => controller.abort());
    let observation: EngineObservation | undefined;
    try {
      observation = readObservation(await this.fetchMetrics(target.endpoint, controller.signal), target.endpoint.engine);
    } catch {
      observation = undefined;
    }
    deadline.cancel();
    this.active -= 1;
    job.fetching = undefined;
    if (this.isCurrent(job)) {
      if (observation === undefined) target.scrapeFailed();
      else target.scraped(observation);
      job.intervalMs =
        observation !== undefined && target.isBusy() ? this.busyIntervalMs : Math.min(this.idleIntervalMs, 2 * job.intervalMs);
      job.timer = this.clock.after(job.intervalMs, () => this.queue(job));
    }
    this.startWaiting();
  }

  private isCurrent(job: Job): boolean {
    return this.jobs.get(job.target) === job;
  }
}
