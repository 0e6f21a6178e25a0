import { type LatencySummary, summarize } from './latency-summary';

/** Latencies beyond which a request misses its objective, in milliseconds. */
export interface LatencyObjectives {
  readonly ttftMs: number;
  readonly itlMs: number;
}

/** How one policy did. */
export interface PolicyResult {
  readonly name: string;
  /** Requests sent. */
  readonly requests: number;
  /** Of `requests`, those that no pod took or finished. */
  readonly errors: number;
  readonly ttftMs: LatencySummary;
  /** Mean time between the tokens of an answer. */
  readonly itlMs: LatencySummary;
  readonly e2eMs: LatencySummary;
  /** Prompt tokens found in a cache ÷ prompt tokens. */
  readonly hitRatio: number;
  /** Output tokens per second, from the first request to the end of the last answer. */
  readonly tokensPerSecond: number;
  readonly requestsPerSecond: number;
  /** Tokens computed by the busiest replica ÷ mean over replicas: 1 is even. */
  readonly balance: number;
  /** Share of the time in which replicas computed, 0..1; mean over replicas. */
  readonly load: number;
  /** Share of the requests that missed an objective or ended in an error. */
  readonly sloMissRatio: number;
  /** USD for all replicas over the whole replay, by list price; null where the accelerator has none. */
  readonly cost: number | null;
}

/** What one replica did. */
export interface ReplicaWork {
  readonly computedTokens: number;
  readonly busyMs: number;
}

export interface TallyOptions {
  readonly name: string;
  readonly objectives: LatencyObjectives;
  readonly costPerHour: number | undefined;
}

export interface Answered {
  readonly ttftMs: number;
  readonly e2eMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

/** Adds up the answers to one policy's requests. */
export class PolicyTally {
  private readonly ttftMs: number[] = [];
  private readonly itlMs: number[] = [];
  private readonly e2eMs: number[] = [];
  private errors = 0;
  private missed = 0;
  private promptTokens = 0;
  private cachedTokens = 0;
  private outputTokens = 0;

  constructor(private readonly options: TallyOptions) {}

  failed(): void {
    this.errors += 1;
  }

  answered({ ttftMs, e2eMs, promptTokens, cachedTokens, outputTokens }: Answered): void {
    const { objectives } = this.options;
    const itlMs = outputTokens > 1 ? (e2eMs - ttftMs) / (outputTokens - 1) : undefined;
    this.ttftMs.push(ttftMs);
    this.e2eMs.push(e2eMs);
    if (itlMs !== undefined) this.itlMs.push(itlMs);
    if (ttftMs > objectives.ttftMs || (itlMs ?? 0) > objectives.itlMs) this.missed += 1;
    this.promptTokens += promptTokens;
    this.cachedTokens += cachedTokens;
    this.outputTokens += outputTokens;
  }

  /** @param durationMs from the first request to the end of the last answer. */
  result(durationMs: number, replicas: readonly ReplicaWork[]): PolicyResult {
    const { name, costPerHour } = this.options;
    const seconds = Math.max(1e-3, durationMs / 1000);
    const answers = this.ttftMs.length;
    const requests = answers + this.errors;
    const computed = replicas.map(({ computedTokens }) => computedTokens);
    const busyMs = replicas.reduce((sum, each) => sum + each.busyMs, 0);
    const meanComputed = computed.reduce((sum, tokens) => sum + tokens, 0) / replicas.length;
    return {
      name,
      requests,
      errors: this.errors,
      ttftMs: summarize(this.ttftMs),
      itlMs: summarize(this.itlMs),
      e2eMs: summarize(this.e2eMs),
      hitRatio: this.promptTokens === 0 ? 0 : this.cachedTokens / this.promptTokens,
      tokensPerSecond: this.outputTokens / seconds,
      requestsPerSecond: answers / seconds,
      balance: meanComputed === 0 ? 1 : Math.max(...computed) / meanComputed,
      load: busyMs / (1000 * seconds * replicas.length),
      sloMissRatio: requests === 0 ? 0 : (this.missed + this.errors) / requests,
      cost: costPerHour === undefined ? null : (costPerHour * seconds) / 3600,
    };
  }
}
