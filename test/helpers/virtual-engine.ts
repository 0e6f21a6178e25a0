import { seededRandom } from '../../runtime/lib/random';
import type { VirtualClock } from '../../runtime/lib/virtual-clock';
import { EngineCore } from '../../runtime/simulator/engine-core';
import type { StepTime } from '../../src/catalog/step-time';

/** Requests on the mean; lengths are exponential. */
export interface VirtualTraffic {
  /** Per second, at a time of the clock. */
  readonly rate: (atMs: number) => number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** An engine core in virtual time under Poisson arrivals, with the families of vLLM's metrics page that capacity is learned from. */
export class VirtualEngine {
  traffic: VirtualTraffic;
  private readonly core: EngineCore;
  private steps = 0;
  private decodeTokens = 0;
  private decodeMs = 0;
  private readonly random;
  private requests = 0;

  constructor(
    private readonly clock: VirtualClock,
    stepTime: StepTime,
    traffic: VirtualTraffic,
    seed: number,
  ) {
    this.traffic = traffic;
    this.random = seededRandom(seed);
    this.core = new EngineCore({
      clock,
      stepTime,
      blockSize: 16,
      numBlocks: 40_000,
      maxModelLen: 65_536,
      maxNumSeqs: 256,
      maxNumBatchedTokens: 8192,
      maxLoras: 0,
      enablePrefixCaching: false,
      observer: {
        onStep: () => {
          this.steps += 1;
        },
      },
    });
    this.next();
  }

  /** The engine's metrics page now. */
  page(): string {
    const stats = this.core.stats();
    const own = '{engine="0",model_name="m"}';
    const lines = (name: string, type: string, ...samples: readonly (readonly [string, number])[]): string =>
      [`# TYPE vllm:${name} ${type}`, ...samples.map(([suffix, value]) => `vllm:${name}${suffix} ${value}`)].join('\n');
    const histogram = (name: string, count: number, sum: number): string =>
      lines(
        name,
        'histogram',
        ['_bucket{le="+Inf",engine="0"}', count],
        ['_sum{engine="0"}', sum],
        ['_count{engine="0"}', count],
      );
    return `${[
      lines('num_requests_running', 'gauge', [own, stats.running]),
      lines('num_requests_waiting', 'gauge', [own, stats.waiting]),
      lines('prompt_tokens_total', 'counter', [own, stats.promptTokens]),
      lines('generation_tokens_total', 'counter', [own, stats.generatedTokens]),
      lines('prefix_cache_queries_total', 'counter', [own, stats.promptTokens]),
      lines('prefix_cache_hits_total', 'counter', [own, stats.cachedTokens]),
      lines('external_prefix_cache_hits_total', 'counter', [own, 0]),
      lines('request_success_total', 'counter', [own, stats.finished]),
      histogram('iteration_tokens_total', this.steps, stats.prefilledTokens),
      histogram('inter_token_latency_seconds', this.decodeTokens, this.decodeMs / 1000),
    ].join('\n')}\n`;
  }

  private next(): void {
    const rate = this.traffic.rate(this.clock.monotonic());
    this.clock.after((1000 * this.exponential()) / Math.max(rate, 1e-6), () => {
      this.submit();
      this.next();
    });
  }

  private submit(): void {
    const length = (mean: number): number => Math.min(16_000, Math.max(1, Math.round(mean * this.exponential())));
    let lastMs: number | undefined;
    this.core.submit({
      id: String(this.requests++),
      promptTokens: length(this.traffic.promptTokens),
      outputTokens: length(this.traffic.outputTokens),
      blockKey: (index) => index,
      onToken: (_index, atMs) => {
        if (lastMs !== undefined) {
          this.decodeTokens += 1;
          this.decodeMs += atMs - lastMs;
        }
        lastMs = atMs;
      },
      onEnd: () => undefined,
    });
  }

  private exponential(): number {
    return -Math.log(1 - this.random.next());
  }
}
