import { seededRandom } from '../../lib/random';
import { VirtualClock } from '../../lib/virtual-clock';
import type { Attempt } from '../../router/scheduling/attempts';
import { createScheduling } from '../../router/scheduling/scheduling';
import type { EngineCore } from '../../simulator/engine-core';
import { type ChatWorkloadOptions, chatWorkload } from '../workload/chat-workload';
import { FixedFleet, type FleetOptions } from './fixed-fleet';
import { type LatencySummary, summarize } from './latency-summary';
import { type ReplayedConversation, type ReplayedTurn, replayedConversations } from './replayed-turns';

export interface CompareOptions {
  /** Names of scheduling profiles, such as `expected-latency`, `random`, `least-request`. */
  readonly policies: readonly string[];
  readonly workload: ChatWorkloadOptions;
  readonly fleet: FleetOptions;
  /** Seed of the scheduler's own draws. */
  readonly seed: number;
}

/** How one policy did. */
export interface PolicyResult {
  readonly name: string;
  readonly requests: number;
  readonly errors: number;
  readonly ttftMs: LatencySummary;
  /** Mean time between the tokens of an answer. */
  readonly itlMs: LatencySummary;
  readonly e2eMs: LatencySummary;
  /** Prompt tokens found in a cache ÷ prompt tokens. */
  readonly hitRatio: number;
  /** Output tokens per second, from the first request to the end of the last answer. */
  readonly tokensPerSecond: number;
  /** Tokens computed by the busiest replica ÷ mean over replicas: 1 is even. */
  readonly balance: number;
}

/**
 * Runs one workload once per policy, in virtual time, through the router's own scheduler over simulated engines with fixed replicas.
 * Deterministic for its seeds.
 */
export async function comparePolicies(options: CompareOptions): Promise<readonly PolicyResult[]> {
  const fleet = new FixedFleet(options.fleet);
  const conversations = replayedConversations(chatWorkload(options.workload), options.fleet.model, fleet.limits.blockSize);
  const results: PolicyResult[] = [];
  for (const policy of options.policies) {
    results.push(await new PolicyRun(fleet, policy, options).replay(conversations));
  }
  return results;
}

class PolicyRun {
  private readonly clock = new VirtualClock();
  private readonly engines: ReadonlyMap<string, EngineCore>;
  private readonly ttftMs: number[] = [];
  private readonly itlMs: number[] = [];
  private readonly e2eMs: number[] = [];
  private open = 0;
  private requests = 0;
  private errors = 0;
  private promptTokens = 0;
  private cachedTokens = 0;
  private outputTokens = 0;
  private lastEndMs = 0;

  constructor(
    private readonly fleet: FixedFleet,
    private readonly policy: string,
    private readonly options: CompareOptions,
  ) {
    this.engines = fleet.engines(this.clock);
  }

  async replay(conversations: readonly ReplayedConversation[]): Promise<PolicyResult> {
    let scrapes = 0;
    const scheduling = await createScheduling({
      cluster: { objects: this.fleet.objects() },
      clock: this.clock,
      random: seededRandom(this.options.seed),
      config: { profile: this.policy },
      fetchMetrics: async ({ pod }) => {
        scrapes += 1;
        return this.fleet.metricsPage(this.engines.get(pod.name)!);
      },
    });
    await scheduling.whenReady();
    const startMs = conversations[0]?.startMs ?? 0;
    const send = (conversation: ReplayedConversation, index: number): void => {
      const turn = conversation.turns[index];
      if (turn === undefined) {
        this.open -= 1;
        return;
      }
      this.clock.after(turn.thinkMs, () => {
        const next = scheduling.attempts.next(
          {
            modelServer: this.fleet.modelServerKey,
            upstreamModel: this.options.fleet.model,
            promptSpans: [turn.promptSpan],
            promptTokens: turn.estimatedTokens,
            maxOutputTokens: turn.outputTokens,
            streams: true,
          },
          new Set(),
        );
        this.requests += 1;
        if (next.kind === 'attempt') this.serve(turn, next.attempt, () => send(conversation, index + 1));
        else this.errors += 1;
        if (next.kind === 'none') send(conversation, index + 1);
      });
    };
    for (const conversation of conversations) {
      this.open += 1;
      this.clock.after(conversation.startMs, () => send(conversation, 0));
    }
    while (this.open > 0 && this.clock.step()) {
      if (scrapes === 0) continue;
      // A scrape's page arrives through promises; they run before time goes on.
      scrapes = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await scheduling.close();
    return this.result(startMs);
  }

  private serve(turn: ReplayedTurn, attempt: Attempt, ended: () => void): void {
    const sentMs = this.clock.monotonic();
    let firstMs = sentMs;
    this.engines.get(attempt.endpoint.pod.name)!.submit({
      id: String(this.requests),
      promptTokens: turn.promptTokens,
      outputTokens: turn.outputTokens,
      blockKey: (index) => turn.blockKeys.key(index),
      onToken: (index, atMs) => {
        if (index > 0) return;
        firstMs = atMs;
        attempt.firstToken();
      },
      onEnd: ({ kind, atMs, cachedTokens, generatedTokens }) => {
        if (kind === 'finished') {
          const { promptTokens } = turn;
          attempt.settle({ kind: 'completed', usage: { promptTokens, completionTokens: generatedTokens, cachedTokens } });
          this.ttftMs.push(firstMs - sentMs);
          if (generatedTokens > 1) this.itlMs.push((atMs - firstMs) / (generatedTokens - 1));
          this.e2eMs.push(atMs - sentMs);
          this.promptTokens += promptTokens;
          this.cachedTokens += cachedTokens;
          this.outputTokens += generatedTokens;
        } else {
          attempt.settle({ kind: 'failed', reason: kind });
          this.errors += 1;
        }
        this.lastEndMs = Math.max(this.lastEndMs, atMs);
        ended();
      },
    });
  }

  private result(startMs: number): PolicyResult {
    const computed = [...this.engines.values()].map((engine) => {
      const { prefilledTokens, generatedTokens } = engine.stats();
      return prefilledTokens + generatedTokens;
    });
    const mean = computed.reduce((sum, tokens) => sum + tokens, 0) / computed.length;
    return {
      name: this.policy,
      requests: this.requests,
      errors: this.errors,
      ttftMs: summarize(this.ttftMs),
      itlMs: summarize(this.itlMs),
      e2eMs: summarize(this.e2eMs),
      hitRatio: this.promptTokens === 0 ? 0 : this.cachedTokens / this.promptTokens,
      tokensPerSecond: this.outputTokens / Math.max(1e-3, (this.lastEndMs - startMs) / 1000),
      balance: mean === 0 ? 1 : Math.max(...computed) / mean,
    };
  }
}
