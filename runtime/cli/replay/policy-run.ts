import { seededRandom } from '../../lib/random';
import { VirtualClock } from '../../lib/virtual-clock';
import { estimateTokens } from '../../router/request/prompt-size';
import type { Attempt } from '../../router/scheduling/attempts';
import { createScheduling, type Scheduling } from '../../router/scheduling/scheduling';
import type { FixedFleet } from './fixed-fleet';
import type { Policy } from './policies/policy';
import { type LatencyObjectives, type PolicyResult, PolicyTally } from './policy-result';
import type { ReplayedEngine } from './replayed-engine';
import { VirtualLinks } from './virtual-links';
import type { ReplayedRequest, ReplayedSession, Workload } from './workload/workload';

export interface PolicyRunOptions {
  readonly fleet: FixedFleet;
  readonly model: string;
  readonly policy: Policy;
  /** Seed of the routers' draws, and of which router a request meets. */
  readonly seed: number;
  /** Routers side by side, each with an index and a ledger of its own. */
  readonly routers: number;
  /** How long what routers tell each other is under way, in milliseconds; undefined when they tell each other nothing. */
  readonly replicationDelayMs?: number | undefined;
  readonly objectives: LatencyObjectives;
}

const NONE: ReadonlySet<string> = new Set();

/** One workload under one policy in virtual time: the router's own scheduler over simulated engines. */
export class PolicyRun {
  private readonly clock = new VirtualClock();
  private readonly engines: ReadonlyMap<string, ReplayedEngine>;
  private readonly tally: PolicyTally;
  /** Sessions that are not over. */
  private open = 0;
  private inFlight = 0;
  private sent = 0;
  /** Requests that wait at the client for one in flight to end. */
  private readonly held: (() => void)[] = [];
  private nextHeld = 0;
  /** Pages asked for since promises last ran. */
  private scrapes = 0;
  private endMs = 0;

  constructor(private readonly options: PolicyRunOptions) {
    const { fleet, policy, objectives } = options;
    this.engines = fleet.engines(this.clock);
    this.tally = new PolicyTally({ name: policy.name, objectives, costPerHour: fleet.facts.costPerHour });
  }

  async replay({ sessions, concurrency = Number.POSITIVE_INFINITY }: Workload): Promise<PolicyResult> {
    const routers = await this.routers();
    const choice = seededRandom(this.options.seed ^ 0x5eed);
    const routerOfNext = (): Scheduling => routers[routers.length === 1 ? 0 : Math.floor(choice.next() * routers.length)]!;
    const ask = (session: ReplayedSession, index: number): void => {
      const request = session.requests[index];
      if (request === undefined) {
        this.open -= 1;
        return;
      }
      const go = (): void =>
        this.send(request, routerOfNext(), () => {
          this.letNextGo();
          ask(session, index + 1);
        });
      this.clock.after(request.thinkMs, () => {
        if (this.inFlight < concurrency) go();
        else this.held.push(go);
      });
    };
    for (const session of sessions) {
      this.open += 1;
      this.clock.after(session.startMs, () => ask(session, 0));
    }
    while (this.open > 0 && this.clock.step()) {
      if (this.scrapes === 0) continue;
      // A scrape's page arrives through promises; they run before time goes on.
      this.scrapes = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const router of routers) await router.close();
    const replicas = [...this.engines.values()].map(({ core }) => {
      const { prefilledTokens, generatedTokens, busyMs } = core.stats();
      return { computedTokens: prefilledTokens + generatedTokens, busyMs };
    });
    return this.tally.result(this.endMs - (sessions[0]?.startMs ?? 0), replicas);
  }

  private async routers(): Promise<readonly Scheduling[]> {
    const { fleet, policy, seed, routers, replicationDelayMs } = this.options;
    const links = replicationDelayMs === undefined ? undefined : new VirtualLinks(this.clock, replicationDelayMs);
    const all: Scheduling[] = [];
    for (let i = 0; i < routers; i++) {
      all.push(
        await createScheduling({
          cluster: { objects: fleet.objects() },
          clock: this.clock,
          random: seededRandom(seed + i * 0x9e3779b1),
          replication: links?.link(),
          ...(policy.kind === 'configured' ? { config: policy.config } : { config: {}, profile: policy.profile(fleet.facts) }),
          fetchMetrics: async ({ pod }) => {
            this.scrapes += 1;
            return this.engines.get(pod.name)!.metricsPage();
          },
        }),
      );
      await all[i]!.whenReady();
    }
    return all;
  }

  private letNextGo(): void {
    const next = this.held[this.nextHeld];
    if (next === undefined) return;
    this.nextHeld += 1;
    next();
  }

  private send(request: ReplayedRequest, router: Scheduling, ended: () => void): void {
    const { fleet, model } = this.options;
    const span = request.promptSpan();
    const { maxOutputTokens } = request;
    const next = router.attempts.next(
      {
        modelServer: fleet.modelServerKey,
        upstreamModel: model,
        promptSpans: [span],
        promptTokens: estimateTokens([span]),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        streams: true,
      },
      NONE,
    );
    this.inFlight += 1;
    this.sent += 1;
    const over = (): void => {
      this.inFlight -= 1;
      this.endMs = Math.max(this.endMs, this.clock.monotonic());
      ended();
    };
    if (next.kind === 'attempt') this.serve(request, next.attempt, over);
    else this.fail(over);
  }

  /** Told in time of its own, since the caller may be about to send the next one. */
  private fail(over: () => void): void {
    this.tally.failed();
    this.clock.after(0, over);
  }

  private serve(request: ReplayedRequest, attempt: Attempt, over: () => void): void {
    const { promptTokens, outputTokens } = request;
    const engine = this.engines.get(attempt.endpoint.pod.name)!;
    // Longer than the context: a real engine refuses it.
    if (promptTokens + outputTokens > engine.core.maxTokens) {
      attempt.settle({ kind: 'refused', status: 400 });
      this.fail(over);
      return;
    }
    const sentMs = this.clock.monotonic();
    let firstMs = sentMs;
    let lastMs = sentMs;
    engine.core.submit({
      id: String(this.sent),
      promptTokens,
      outputTokens,
      blockKey: request.blockKeys(this.options.fleet.facts.blockSize),
      onToken: (index, atMs) => {
        if (index === 0) {
          firstMs = atMs;
          engine.firstToken(atMs - sentMs);
          attempt.firstToken();
        } else engine.nextToken(atMs - lastMs);
        lastMs = atMs;
      },
      onEnd: ({ kind, atMs, cachedTokens, generatedTokens }) => {
        if (kind === 'finished') {
          attempt.settle({ kind: 'completed', usage: { promptTokens, completionTokens: generatedTokens, cachedTokens } });
          const [ttftMs, e2eMs] = [firstMs - sentMs, atMs - sentMs];
          this.tally.answered({ ttftMs, e2eMs, promptTokens, cachedTokens, outputTokens: generatedTokens });
        } else {
          attempt.settle({ kind: 'failed', reason: kind });
          this.tally.failed();
        }
        over();
      },
    });
  }
}
