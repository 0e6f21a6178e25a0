import type { Clock } from '../../runtime/lib/clock';
import { EngineCore } from '../../runtime/simulator/engine-core';
import type { EngineRequest } from '../../runtime/simulator/engine-request';
import { Exposition, Histogram } from '../../runtime/simulator/metrics/exposition';
import type { StepTime } from '../../src/catalog/step-time';

/** Upper bounds in seconds, as a vLLM page has them. */
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
const PER_TOKEN = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80];

const OWN = 'engine="0",model_name="m"';
const OWN_SGLANG = 'engine_type="unified",model_name="m"';

/** Decode steps after which SGLang counts the tokens of them. */
const SGLANG_LOG_STEPS = 40;

/** An engine core in virtual time, with the families of a vLLM or SGLang metrics page that an autoscaler reads. */
export class VirtualEngine {
  private readonly core: EngineCore;
  private readonly firstToken = new Histogram(FIRST_TOKEN);
  private readonly interToken = new Histogram(PER_TOKEN);
  private steps = 0;
  private requests = 0;
  private computedTokens = 0;
  /** Decode steps and tokens since SGLang counted last, and those it counted. */
  private uncounted = { steps: 0, tokens: 0 };
  private decodedTokens = 0;
  /** Tokens of requests that ended. */
  private ended = { prompt: 0, output: 0 };

  constructor(
    private readonly clock: Clock,
    stepTime: StepTime,
    { strides = false }: { readonly strides?: boolean } = {},
  ) {
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
      strides,
      observer: {
        onStep: ({ steps, prefillTokens, decodeSequences }) => {
          this.steps += steps;
          this.computedTokens += prefillTokens;
          this.uncounted.steps += decodeSequences > 0 ? steps : 0;
          this.uncounted.tokens += decodeSequences * steps;
          if (this.uncounted.steps < SGLANG_LOG_STEPS) return;
          this.decodedTokens += this.uncounted.tokens;
          this.uncounted = { steps: 0, tokens: 0 };
        },
      },
    });
  }

  /** @param told of the first token and of the end, as they happen. */
  submit(
    promptTokens: number,
    outputTokens: number,
    told: { readonly firstToken?: () => void; readonly ended?: EngineRequest['onEnd'] } = {},
  ): void {
    const sentMs = this.clock.monotonic();
    let last = { index: 0, atMs: sentMs };
    this.core.submit({
      id: String(this.requests++),
      promptTokens,
      outputTokens,
      blockKey: (index) => index,
      onToken: (index, atMs) => {
        const tokens = index - last.index;
        if (index === 0) {
          this.firstToken.observe((atMs - sentMs) / 1000);
          told.firstToken?.();
        } else this.interToken.observe((atMs - last.atMs) / 1000 / tokens, tokens);
        last = { index, atMs };
      },
      onEnd: (outcome) => {
        this.ended.prompt += promptTokens;
        this.ended.output += outputTokens;
        told.ended?.(outcome);
      },
    });
  }

  /** The metrics page of an SGLang now, with what recordings show of each family: when it counts, and under which labels. */
  sglangPage(): string {
    const stats = this.core.stats();
    const out = new Exposition();
    const gauge = (name: string, value: number): void => out.gauge(`sglang:${name}`, name, [[OWN_SGLANG, value]]);
    const counter = (name: string, value: number): void => out.counter(`sglang:${name}`, name, [[OWN_SGLANG, value]]);
    gauge('num_running_reqs', stats.running);
    gauge('num_queue_reqs', stats.waiting);
    counter('prompt_tokens', this.ended.prompt);
    counter('generation_tokens', this.ended.output);
    counter('cached_tokens', 0);
    counter('num_requests', stats.finished);
    const of = (mode: string): string => `${OWN_SGLANG},mode="${mode}"`;
    out.counter('sglang:cuda_graph_passes', 'passes', [[of('decode_none'), this.steps]]);
    out.counter('sglang:realtime_tokens', 'tokens', [
      [of('prefill_compute'), this.computedTokens],
      [of('decode'), this.decodedTokens],
      [of('prefill_cache'), 0],
    ]);
    out.histogram('sglang:inter_token_latency_seconds', 'inter_token_latency_seconds', [[OWN_SGLANG, this.interToken]]);
    return out.text();
  }

  /** The metrics page of a vLLM now. */
  page(): string {
    const stats = this.core.stats();
    const out = new Exposition();
    const gauge = (name: string, value: number): void => out.gauge(`vllm:${name}`, name, [[OWN, value]]);
    const counter = (name: string, value: number): void => out.counter(`vllm:${name}`, name, [[OWN, value]]);
    gauge('num_requests_running', stats.running);
    gauge('num_requests_waiting', stats.waiting);
    gauge('kv_cache_usage_perc', stats.kvUsage);
    counter('prompt_tokens', stats.promptTokens);
    counter('generation_tokens', stats.generatedTokens);
    counter('prefix_cache_queries', stats.promptTokens);
    counter('prefix_cache_hits', stats.cachedTokens);
    counter('external_prefix_cache_hits', 0);
    counter('request_success', stats.finished);
    out.histogram('vllm:time_to_first_token_seconds', 'time_to_first_token_seconds', [[OWN, this.firstToken]]);
    out.histogram('vllm:inter_token_latency_seconds', 'inter_token_latency_seconds', [[OWN, this.interToken]]);
    const iterations = `vllm:iteration_tokens_total`;
    const tokens = [
      `# TYPE ${iterations} histogram`,
      `${iterations}_bucket{le="+Inf",${OWN}} ${this.steps}`,
      `${iterations}_sum{${OWN}} ${stats.prefilledTokens}`,
      `${iterations}_count{${OWN}} ${this.steps}`,
    ];
    return `${out.text()}${tokens.join('\n')}\n`;
  }
}
