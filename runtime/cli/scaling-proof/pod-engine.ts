import type { EngineCore } from '../../simulator/engine-core';
import type { EngineOutcome } from '../../simulator/engine-request';
import { ReplayedEngine } from '../replay/replayed-engine';
import type { ReplayedRequest } from '../replay/workload/workload';

/** How one request went. */
export interface Answer {
  readonly outcome: EngineOutcome;
  readonly ttftMs: number;
  /** Mean time between its tokens; 0 for one token. */
  readonly itlMs: number;
}

/** The engine of one simulated pod, and its metrics page as an autoscaler reads it. */
export class PodEngine extends ReplayedEngine {
  private submitted = 0;

  constructor(
    core: EngineCore,
    private readonly size: number,
  ) {
    super(core, size);
  }

  /** @param nowMs time of sending. */
  serve(
    request: ReplayedRequest,
    nowMs: number,
    told: { readonly firstToken: () => void; readonly ended: (answer: Answer) => void },
  ): void {
    let firstMs = nowMs;
    let lastMs = nowMs;
    let last = 0;
    this.core.submit({
      id: String(this.submitted++),
      promptTokens: request.promptTokens,
      outputTokens: request.outputTokens,
      blockKey: request.blockKeys(this.size),
      onToken: (index, atMs) => {
        if (index === 0) {
          firstMs = atMs;
          this.firstToken(atMs - nowMs);
          told.firstToken();
        } else this.nextToken(atMs - lastMs, index - last);
        lastMs = atMs;
        last = index;
      },
      onEnd: (outcome) => {
        const gaps = outcome.generatedTokens - 1;
        told.ended({ outcome, ttftMs: firstMs - nowMs, itlMs: gaps > 0 ? (lastMs - firstMs) / gaps : 0 });
      },
    });
  }

  /** Its page as far as an autoscaler reads it, in the names of the catalogue's vLLM. */
  loadPage(): string {
    const stats = this.core.stats();
    const gaps = this.tokenGaps();
    return [
      gauge('num_requests_running', stats.running),
      gauge('num_requests_waiting', stats.waiting),
      counter('prompt_tokens_total', stats.promptTokens),
      counter('generation_tokens_total', stats.generatedTokens),
      counter('prefix_cache_queries_total', stats.promptTokens),
      counter('prefix_cache_hits_total', stats.cachedTokens),
      counter('external_prefix_cache_hits_total', 0),
      counter('request_success_total', stats.finished),
      histogram('iteration_tokens_total', stats.steps, stats.prefilledTokens + stats.generatedTokens),
      histogram('inter_token_latency_seconds', gaps.count, gaps.seconds),
      '',
    ].join('\n');
  }
}

const gauge = (name: string, value: number): string => `# TYPE vllm:${name} gauge\nvllm:${name}{engine="0"} ${value}`;

const counter = (name: string, value: number): string => `# TYPE vllm:${name} counter\nvllm:${name}{engine="0"} ${value}`;

const histogram = (name: string, count: number, sum: number): string =>
  [
    `# TYPE vllm:${name} histogram`,
    `vllm:${name}_bucket{engine="0",le="+Inf"} ${count}`,
    `vllm:${name}_sum{engine="0"} ${sum}`,
    `vllm:${name}_count{engine="0"} ${count}`,
  ].join('\n');
