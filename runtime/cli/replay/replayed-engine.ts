import type { EngineCore } from '../../simulator/engine-core';

/** An engine core, and what its metrics page says beyond the core's own counters. */
export class ReplayedEngine {
  private ttftSeconds = 0;
  private ttfts = 0;
  private itlSeconds = 0;
  private itls = 0;

  constructor(
    readonly core: EngineCore,
    private readonly blockSize: number,
  ) {}

  /** The first token of an answer. @param ttftMs since the engine got the request. */
  firstToken(ttftMs: number): void {
    this.ttftSeconds += ttftMs / 1000;
    this.ttfts += 1;
  }

  /** A further token, or several at once. @param gapMs since the one before them. */
  nextToken(gapMs: number, tokens = 1): void {
    this.itlSeconds += gapMs / 1000;
    this.itls += tokens;
  }

  /** Time between tokens since the engine started. */
  tokenGaps(): { readonly seconds: number; readonly count: number } {
    return { seconds: this.itlSeconds, count: this.itls };
  }

  /** Its metrics page, as far as a router reads it. */
  metricsPage(): string {
    const { running, waiting, kvUsage, totalBlocks } = this.core.occupancy();
    return [
      `vllm:num_requests_running{engine="0"} ${running}`,
      `vllm:num_requests_waiting{engine="0"} ${waiting}`,
      `vllm:kv_cache_usage_perc{engine="0"} ${kvUsage}`,
      `vllm:cache_config_info{block_size="${this.blockSize}",engine="0",num_gpu_blocks="${totalBlocks}"} 1`,
      `vllm:time_to_first_token_seconds_sum{engine="0"} ${this.ttftSeconds}`,
      `vllm:time_to_first_token_seconds_count{engine="0"} ${this.ttfts}`,
      `vllm:inter_token_latency_seconds_sum{engine="0"} ${this.itlSeconds}`,
      `vllm:inter_token_latency_seconds_count{engine="0"} ${this.itls}`,
      '',
    ].join('\n');
  }
}
