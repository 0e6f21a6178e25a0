import type { EnginePlan } from '../../../src/expand/engine-plan';
import type { StepReport } from '../engine-core';
import { engineLimits } from '../engine-limits';
import type { EngineOutcome, EngineRequest } from '../engine-request';
import type { FaceContext, FaceMetrics } from '../face-context';
import { Generation } from '../generation';
import { Exposition, Histogram, labels } from '../metrics/exposition';

/** Upper bounds as recorded, in seconds. */
const FIRST_TOKEN = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400];
const PER_TOKEN = [
  0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8,
];
const REQUEST = [...FIRST_TOKEN, 600, 1200, 1800, 2400];
const QUEUE = [
  0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600,
  700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000,
];
/** SGLang measures its throughput, and counts decoded tokens, each time after this many decode steps. */
const THROUGHPUT_STEPS = 40;

/** Series that SGLang keeps for streamed and other requests apart. */
interface ByStreaming {
  promptTokens: number;
  generationTokens: number;
  requests: number;
  readonly timeToFirstToken: Histogram;
  readonly endToEnd: Histogram;
}

/** What is kept of one data-parallel rank. */
interface OfRank {
  hitRate: number;
  throughput: number;
  window: { steps: number; tokens: number; busyMs: number };
  /** Passes through the model, by what began them. */
  readonly passes: { prefill: number; decode: number };
  /** Tokens as steps compute them. */
  readonly computed: { prefill: number; cached: number; decode: number };
}

/** SGLang's `/metrics`, under the names of 0.5.23. */
export class SglangMetrics implements FaceMetrics {
  private readonly engine: { readonly engine_type: string; readonly model_name: string };
  private readonly byStreaming = new Map<boolean, ByStreaming>();
  private readonly interTokenLatency = new Histogram(PER_TOKEN);
  private readonly queueTime = new Histogram(QUEUE);
  private cachedTokens = 0;
  private aborted = 0;
  private readonly ranks: readonly OfRank[];

  /** @param context asked for when metrics are written. */
  constructor(
    private readonly plan: EnginePlan,
    private readonly context: () => FaceContext,
  ) {
    const role = plan.kvTransfer?.connector === 'sglang' ? plan.kvTransfer.role : 'unified';
    this.engine = { engine_type: role, model_name: plan.servedModelNames[0]! };
    this.ranks = Array.from({ length: plan.dataParallelSize ?? 1 }, () => ({
      hitRate: 0,
      throughput: 0,
      window: { steps: 0, tokens: 0, busyMs: 0 },
      passes: { prefill: 0, decode: 0 },
      computed: { prefill: 0, cached: 0, decode: 0 },
    }));
  }

  arrived(): void {}

  token(generation: Generation, atMs: number): void {
    const { lastTokenAtMs, input } = generation;
    if (lastTokenAtMs === undefined) this.of(input.streams).timeToFirstToken.observe((atMs - input.arrivedAtMs) / 1000);
    else this.interTokenLatency.observe((atMs - lastTokenAtMs) / 1000);
  }

  ended(generation: Generation, outcome: EngineOutcome): void {
    if (outcome.kind === 'aborted') this.aborted += 1;
    if (outcome.kind !== 'finished') return;
    const series = this.of(generation.input.streams);
    series.requests += 1;
    series.promptTokens += generation.promptTokens;
    series.generationTokens += outcome.generatedTokens;
    series.endToEnd.observe((outcome.atMs - generation.input.arrivedAtMs) / 1000);
    this.cachedTokens += generation.cachedTokens ?? 0;
  }

  answered(): void {}

  onAdmitted(rank: number, request: EngineRequest, atMs: number, cachedTokens: number): void {
    const of = this.ranks[rank]!;
    of.hitRate = cachedTokens / request.promptTokens;
    of.computed.cached += cachedTokens;
    if (request instanceof Generation) this.queueTime.observe((atMs - request.input.arrivedAtMs) / 1000);
  }

  onStep(rank: number, { prefillTokens, decodeSequences, startMs, endMs }: StepReport): void {
    const of = this.ranks[rank]!;
    const { window } = of;
    of.passes[prefillTokens > 0 ? 'prefill' : 'decode'] += 1;
    of.computed.prefill += prefillTokens;
    if (decodeSequences === 0) return;
    window.steps += 1;
    window.tokens += decodeSequences;
    window.busyMs += endMs - startMs;
    if (window.steps < THROUGHPUT_STEPS) return;
    of.computed.decode += window.tokens;
    of.throughput = window.busyMs > 0 ? (window.tokens / window.busyMs) * 1000 : 0;
    of.window = { steps: 0, tokens: 0, busyMs: 0 };
  }

  render(): string {
    const { ranks, transfer } = this.context();
    const { blockSize } = engineLimits(this.plan);
    const out = new Exposition();
    const own = labels(this.engine);
    // The label that recorded families about one rank have; one rank alone has none.
    const rankOf = (rank: number): Readonly<Record<string, number>> => ({
      ...(ranks.length > 1 && { dp_rank: rank }),
      moe_ep_rank: 0,
      pp_rank: 0,
      tp_rank: 0,
    });
    const rankLabels = (rank: number): string => labels({ ...this.engine, ...rankOf(rank) });
    const waiting = transfer?.waiting() ?? { forDecode: 0, forTransfer: 0 };
    for (const { index, core } of ranks) {
      const stats = core.stats();
      const { hitRate, throughput } = this.ranks[index]!;
      const gauge = (name: string, help: string, value: number): void =>
        out.gauge(`sglang:${name}`, help, [[rankLabels(index), value]]);
      const prefill = transfer?.role === 'prefill' && index === 0 ? waiting : { forDecode: 0, forTransfer: 0 };
      gauge('max_total_num_tokens', 'Tokens that the KV cache holds.', stats.totalBlocks * blockSize);
      gauge('num_running_reqs', 'Requests in the batch.', stats.running);
      gauge('num_queue_reqs', 'Requests that wait.', stats.waiting - stats.remoteLoads.wanted - stats.remoteLoads.underway);
      gauge('gen_throughput', 'Tokens generated per second.', stats.running === 0 ? 0 : throughput);
      gauge('cache_hit_rate', 'Share of the last prompt that was cached.', hitRate);
      gauge('token_usage', 'Share of the KV cache in use, 0 to 1.', stats.kvUsage);
      gauge('num_used_tokens', 'Tokens in use in the KV cache.', stats.usedBlocks * blockSize);
      gauge('num_prefill_bootstrap_queue_reqs', 'Requests that wait for decode to come.', prefill.forDecode);
      gauge('num_prefill_inflight_queue_reqs', 'Requests whose KV decode has not received yet.', prefill.forTransfer);
      gauge('num_decode_prealloc_queue_reqs', 'Requests that wait for memory.', stats.remoteLoads.wanted);
      gauge('num_decode_transfer_queue_reqs', 'Requests that wait for their KV.', stats.remoteLoads.underway);
    }
    // A series begins with its first sample.
    const byMode = (counts: (of: OfRank) => Readonly<Record<string, number>>): (readonly [string, number])[] =>
      ranks.flatMap(({ index }) =>
        Object.entries(counts(this.ranks[index]!)).flatMap(([mode, count]) =>
          count > 0 ? [[labels({ mode, ...this.engine, ...rankOf(index) }), count] as const] : [],
        ),
      );
    out.counter(
      'sglang:cuda_graph_passes',
      'Passes through the model.',
      byMode(({ passes }) => ({ prefill_none: passes.prefill, decode_none: passes.decode })),
    );
    out.counter(
      'sglang:realtime_tokens',
      'Tokens as they are computed.',
      byMode(({ computed }) => ({
        prefill_compute: computed.prefill,
        prefill_cache: computed.cached,
        decode: computed.decode,
      })),
    );
    const split = [...this.byStreaming].map(
      ([streams, series]) =>
        [
          labels({ engine_type: this.engine.engine_type, is_streaming: String(streams), model_name: this.engine.model_name }),
          series,
        ] as const,
    );
    out.counter(
      'sglang:prompt_tokens',
      'Prompt tokens.',
      split.map(([text, series]) => [text, series.promptTokens]),
    );
    out.counter(
      'sglang:generation_tokens',
      'Generated tokens.',
      split.map(([text, series]) => [text, series.generationTokens]),
    );
    out.counter(
      'sglang:num_requests',
      'Requests that finished.',
      split.map(([text, series]) => [text, series.requests]),
    );
    out.counter('sglang:num_aborted_requests', 'Requests that were aborted.', [[own, this.aborted]]);
    out.counter('sglang:cached_tokens', 'Prompt tokens found in the cache.', [
      [labels({ cache_source: 'device', ...this.engine }), this.cachedTokens],
    ]);
    out.histogram(
      'sglang:time_to_first_token_seconds',
      'From arrival to the first token.',
      split.map(([text, series]) => [text, series.timeToFirstToken]),
    );
    out.histogram(
      'sglang:e2e_request_latency_seconds',
      'From arrival to the end.',
      split.map(([text, series]) => [text, series.endToEnd]),
    );
    out.histogram('sglang:inter_token_latency_seconds', 'From token to token.', [[own, this.interTokenLatency]]);
    out.histogram('sglang:queue_time_seconds', 'From arrival to the first step.', [[rankLabels(0), this.queueTime]]);
    return out.text();
  }

  private of(streams: boolean): ByStreaming {
    let series = this.byStreaming.get(streams);
    if (series === undefined) {
      series = {
        promptTokens: 0,
        generationTokens: 0,
        requests: 0,
        timeToFirstToken: new Histogram(FIRST_TOKEN),
        endToEnd: new Histogram(REQUEST),
      };
      this.byStreaming.set(streams, series);
    }
    return series;
  }
}
