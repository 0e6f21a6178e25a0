import { seededRandom } from '../../lib/random';
import { VirtualClock } from '../../lib/virtual-clock';
import { estimateTokens } from '../../router/request/prompt-size';
import { createScheduling, type Scheduling } from '../../router/scheduling/scheduling';
import type { LatencyObjectives } from '../replay/policy-result';
import type { ReplayedRequest } from '../replay/workload/workload';
import type { ServicePool } from './service-pool';
import { SimulatedFleet } from './simulated-fleet';
import { LoadPages } from './strategies/load-pages';
import { ROUND_MS, type Strategy } from './strategies/strategy';
import type { Day } from './traffic/day';

export interface DayRunOptions {
  readonly pools: readonly ServicePool[];
  readonly model: string;
  readonly day: Day;
  /** Replicas that serve when the day begins. */
  readonly first: readonly number[];
  readonly strategy: (clock: VirtualClock) => Strategy;
  readonly objectives: LatencyObjectives;
}

/** What the chart shows of one stretch of a day. */
export interface DayPoint {
  /** Middle of the stretch. */
  readonly atMs: number;
  /** Requests per second that arrived. */
  readonly load: number;
  /** Pods of each pool that exist, mean over rounds. */
  readonly pods: readonly number[];
  /** USD per hour. */
  readonly costPerHour: number;
}

export interface DayResult {
  readonly requests: number;
  /** Requests whose first token or whose mean gap between tokens was too late, or that nobody took or finished. */
  readonly missed: number;
  /** Of `missed`, those that nobody took or finished. */
  readonly failed: number;
  /** USD, from each pod's creation to its end or the end of the day. */
  readonly cost: number;
  readonly gpuHours: number;
  readonly scalings: number;
  readonly points: readonly DayPoint[];
}

const NONE: ReadonlySet<string> = new Set();
/** The router asks engines this often; a real one asks each second, which costs a simulated day more than all else. */
const ROUTER_SCRAPE_MS = 10_000;
/** Rounds in one point of the chart: ten minutes. */
const ROUNDS_PER_POINT = 40;

/** A day of traffic in virtual time: the router's own scheduler over simulated engines, whose number a strategy decides. */
export class DayRun {
  private readonly clock = new VirtualClock();
  private readonly fleet: SimulatedFleet;
  private readonly pages: LoadPages;
  private readonly strategy: Strategy;
  private readonly points: DayPoint[] = [];
  private scrapes = 0;
  private open = 0;
  private sent = 0;
  private missed = 0;
  private failed = 0;
  private point = { rounds: 0, sentBefore: 0, pods: [] as number[] };

  constructor(private readonly options: DayRunOptions) {
    const { pools, model, strategy } = options;
    this.fleet = new SimulatedFleet(pools, this.clock, model);
    this.pages = new LoadPages(this.fleet);
    this.strategy = strategy(this.clock);
  }

  async run(): Promise<DayResult> {
    const { day, first } = this.options;
    this.fleet.scale(first, true);
    const router = await this.router();
    await router.whenReady();
    this.arrive(router, 0);
    for (let atMs = 0; atMs < day.durationMs; atMs += ROUND_MS) {
      await this.until(atMs);
      this.pages.scrape();
      const replicas = await this.strategy.round({ fleet: this.fleet, pages: this.pages, nowMs: atMs });
      this.fleet.scale(replicas);
      this.note(atMs);
    }
    await this.until(day.durationMs);
    const bill = this.fleet.bill();
    while (this.open > 0 && this.clock.step()) await this.settle();
    await router.close();
    const { sent: requests, missed, failed, points } = this;
    return { requests, missed, failed, ...bill, scalings: this.fleet.scalings, points };
  }

  private router(): Promise<Scheduling> {
    return createScheduling({
      cluster: { objects: this.fleet.objects() },
      clock: this.clock,
      random: seededRandom(this.options.day.seed),
      config: { scheduler: { pluginConfig: [{ name: 'expected-latency', args: { itlMs: this.options.objectives.itlMs } }] } },
      scrapes: { busyIntervalMs: ROUTER_SCRAPE_MS, idleIntervalMs: ROUTER_SCRAPE_MS },
      fetchMetrics: async ({ pod }) => {
        this.scrapes += 1;
        return this.fleet.pods.find(({ name }) => name === pod.name)!.engine.metricsPage();
      },
    });
  }

  /** Lets everything happen that is due before `atMs`, and goes there. */
  private async until(atMs: number): Promise<void> {
    let isThere = false;
    this.clock.after(atMs - this.clock.monotonic(), () => {
      isThere = true;
    });
    while (!isThere) {
      this.clock.step();
      await this.settle();
    }
  }

  /** A scrape's page arrives through promises; they run before time goes on. */
  private async settle(): Promise<void> {
    if (this.scrapes === 0) return;
    this.scrapes = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Sends the `index`-th request when it is due, and sees to the next one then. */
  private arrive(router: Scheduling, index: number): void {
    const next = this.options.day.requests[index];
    if (next === undefined) return;
    this.clock.after(next.atMs - this.clock.monotonic(), () => {
      this.send(next.request, router);
      this.arrive(router, index + 1);
    });
  }

  private send(request: ReplayedRequest, router: Scheduling): void {
    const span = request.promptSpan();
    this.sent += 1;
    const next = router.attempts.next(
      {
        modelServer: this.fleet.modelServerKey,
        upstreamModel: this.options.model,
        promptSpans: [span],
        promptTokens: estimateTokens([span]),
        streams: true,
      },
      NONE,
    );
    if (next.kind === 'none') {
      this.fail();
      return;
    }
    const { attempt } = next;
    const pod = this.fleet.pods.find(({ name }) => name === attempt.endpoint.pod.name)!;
    if (request.promptTokens + request.outputTokens > pod.engine.core.maxTokens) {
      attempt.settle({ kind: 'refused', status: 400 });
      this.fail();
      return;
    }
    const over = this.fleet.sent(pod);
    this.open += 1;
    const { ttftMs: ttftGoal, itlMs: itlGoal } = this.options.objectives;
    pod.engine.serve(request, this.clock.monotonic(), {
      firstToken: () => attempt.firstToken(),
      ended: ({ outcome: { kind, cachedTokens, generatedTokens }, ttftMs, itlMs }) => {
        this.open -= 1;
        over();
        if (kind !== 'finished') {
          attempt.settle({ kind: 'failed', reason: kind });
          this.fail();
          return;
        }
        const { promptTokens } = request;
        attempt.settle({ kind: 'completed', usage: { promptTokens, completionTokens: generatedTokens, cachedTokens } });
        if (ttftMs > ttftGoal || itlMs > itlGoal) this.missed += 1;
      },
    });
  }

  private fail(): void {
    this.missed += 1;
    this.failed += 1;
  }

  private note(atMs: number): void {
    const { pools } = this.options;
    const { point } = this;
    const pods = pools.map((_, pool) => this.fleet.pods.filter((pod) => pod.pool === pool).length);
    point.pods = pods.map((count, pool) => (point.pods[pool] ?? 0) + count);
    point.rounds += 1;
    if (point.rounds < ROUNDS_PER_POINT) return;
    const mean = point.pods.map((sum) => sum / point.rounds);
    this.points.push({
      atMs: atMs + ROUND_MS - (ROUNDS_PER_POINT * ROUND_MS) / 2,
      load: (this.sent - point.sentBefore) / ((point.rounds * ROUND_MS) / 1000),
      pods: mean,
      costPerHour: mean.reduce((sum, count, pool) => sum + count * pools[pool]!.pricePerHour, 0),
    });
    this.point = { rounds: 0, sentBefore: this.sent, pods: [] };
  }
}
