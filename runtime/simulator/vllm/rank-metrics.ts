import type { EnginePlan } from '../../../src/expand/engine-plan';
import type { Clock } from '../../lib/clock';
import type { StepReport } from '../engine-core';
import type { EngineLimits } from '../engine-limits';
import type { EngineRank } from '../engine-rank';
import type { EngineOutcome } from '../engine-request';
import type { Generation } from '../generation';
import { type Exposition, Histogram, labels } from '../metrics/exposition';
import { type RequestHistograms, requestHistograms } from './request-histograms';

const FINISHED_REASONS = ['stop', 'length', 'abort', 'error', 'repetition'] as const;
const STEP_TOKENS = [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

export interface RankMetricsOptions {
  readonly plan: EnginePlan;
  readonly limits: EngineLimits;
  readonly numBlocks: number;
  readonly clock: Clock;
  readonly isRecent: boolean;
  /** Also write the names of vLLM up to 0.10, which were then deprecated. */
  readonly hasOldNames: boolean;
}

/** What vLLM's `/metrics` says of one data-parallel rank. The model label is the base model's first name, also for adapters. */
export class RankMetrics {
  private readonly common: { readonly engine: string; readonly model_name: string };
  private readonly own: string;
  private readonly histograms: RequestHistograms;
  private readonly stepTokens = new Histogram(STEP_TOKENS);
  private readonly finished: Record<string, number> = { stop: 0, length: 0 };
  /** Every combination of running and waiting adapters that was seen → when it was last true, in seconds. */
  private readonly adapterStates = new Map<string, number>();

  /** @param rank asked for when something is counted or written. */
  constructor(
    private readonly options: RankMetricsOptions,
    index: number,
    private readonly rank: () => EngineRank,
  ) {
    this.common = { engine: String(index), model_name: options.plan.servedModelNames[0]! };
    this.own = labels(this.common);
    this.histograms = requestHistograms(options.limits.maxModelLen);
  }

  arrived(generation: Generation): void {
    this.histograms.paramsMaxTokens.observe(generation.input.maxTokens);
  }

  token(generation: Generation, atMs: number): void {
    const { lastTokenAtMs, input } = generation;
    if (lastTokenAtMs === undefined) this.histograms.timeToFirstToken.observe((atMs - input.arrivedAtMs) / 1000);
    else this.histograms.interTokenLatency.observe((atMs - lastTokenAtMs) / 1000);
  }

  /** An aborted request is in no counter of finished ones, as in the recorded versions. */
  ended(generation: Generation, outcome: EngineOutcome): void {
    if (outcome.kind !== 'finished') return;
    this.finished[generation.input.answer.finishReason]! += 1;
    this.histograms.observeFinished(generation, outcome);
  }

  onStep({ prefillTokens, decodeSequences }: StepReport): void {
    this.stepTokens.observe(prefillTokens + decodeSequences);
    if (this.options.plan.maxLoras < 1) return;
    const { runningAdapters, waitingAdapters } = this.rank().core.stats();
    // The recorded versions keep a running request's adapter among the waiting ones.
    const waiting = [...new Set([...runningAdapters, ...waitingAdapters])].sort();
    const state = labels({
      max_lora: this.options.plan.maxLoras,
      running_lora_adapters: runningAdapters.join(','),
      waiting_lora_adapters: waiting.join(','),
    });
    this.adapterStates.set(state, this.options.clock.now() / 1000);
  }

  write(out: Exposition): void {
    const { isRecent, hasOldNames, plan } = this.options;
    const stats = this.rank().core.stats();
    const mine = (value: number): readonly (readonly [string, number])[] => [[this.own, value]];
    const by = (name: string, values: Readonly<Record<string, number>>): readonly (readonly [string, number])[] =>
      Object.entries(values).map(([label, value]) => [sortedLabels({ ...this.common, [name]: label }), value]);

    out.gauge('vllm:num_requests_running', 'Requests in the batch.', mine(stats.running));
    out.gauge('vllm:num_requests_waiting', 'Requests that wait.', mine(stats.waiting));
    out.gauge(
      'vllm:num_requests_waiting_by_reason',
      'Requests that wait, by what they wait for.',
      by('reason', { capacity: stats.waiting - stats.deferred, deferred: stats.deferred }),
    );
    out.gauge(
      'vllm:engine_sleep_state',
      'Whether the engine sleeps.',
      by('sleep_state', { awake: 1, weights_offloaded: 0, discard_all: 0 }),
    );
    out.gauge('vllm:kv_cache_usage_perc', 'Share of the KV cache in use, 0 to 1.', mine(stats.kvUsage));
    out.counter('vllm:prefix_cache_queries', 'Tokens looked up in the prefix cache.', mine(stats.promptTokens));
    out.counter('vllm:prefix_cache_hits', 'Tokens found in the prefix cache.', mine(stats.cachedTokens));
    if (hasOldNames) {
      out.gauge('vllm:gpu_cache_usage_perc', 'Share of the KV cache in use, 0 to 1.', mine(stats.kvUsage));
      out.counter('vllm:gpu_prefix_cache_queries', 'Tokens looked up in the prefix cache.', mine(stats.promptTokens));
      out.counter('vllm:gpu_prefix_cache_hits', 'Tokens found in the prefix cache.', mine(stats.cachedTokens));
    }
    out.counter(
      'vllm:external_prefix_cache_queries',
      'Tokens looked up in other caches.',
      mine(plan.kvTransfer === undefined ? 0 : stats.promptTokens - stats.cachedTokens),
    );
    out.counter('vllm:external_prefix_cache_hits', 'Tokens found in other caches.', mine(stats.remoteTokens));
    out.counter('vllm:num_preemptions', 'Preemptions.', mine(stats.preemptions));
    out.counter('vllm:prompt_tokens', 'Prompt tokens.', mine(stats.promptTokens - stats.loadFailedTokens));
    out.counter(
      'vllm:prompt_tokens_by_source',
      'Prompt tokens by where their KV came from.',
      by('source', {
        local_compute: stats.promptTokens - stats.loadFailedTokens - stats.cachedTokens - stats.arrivedTokens,
        local_cache_hit: stats.cachedTokens,
        external_kv_transfer: stats.arrivedTokens,
      }),
    );
    out.counter('vllm:prompt_tokens_cached', 'Prompt tokens found in a cache.', mine(stats.cachedTokens + stats.arrivedTokens));
    if (isRecent) {
      out.counter(
        'vllm:prompt_tokens_cached_by_source',
        'Prompt tokens found in a cache, by its tier.',
        by('source', {
          device: stats.cachedTokens,
          host: 0,
          // As recorded, transfers that failed included.
          p2p: plan.kvTransfer?.connector === 'store' ? 0 : stats.remoteTokens,
          disk: 0,
          external_unspecified: plan.kvTransfer?.connector === 'store' ? stats.remoteTokens : 0,
        }),
      );
    }
    out.counter('vllm:generation_tokens', 'Generated tokens.', mine(stats.generatedTokens));
    out.counter(
      'vllm:request_success',
      'Requests that finished, by why.',
      by('finished_reason', Object.fromEntries(FINISHED_REASONS.map((reason) => [reason, this.finished[reason] ?? 0]))),
    );
    if (isRecent) {
      const reasons = ['max_num_queued_reqs', 'max_num_queued_tokens'];
      out.counter(
        'vllm:admission_rejections',
        'Requests refused because of a queue limit.',
        reasons.map((reason) => [labels({ model_name: this.common.model_name, reason }), 0]),
      );
    }
    out.histogram('vllm:iteration_tokens_total', 'Tokens of a step.', [[this.own, this.stepTokens]]);
    this.histograms.write(out, this.own, { isRecent, hasOldNames });
    if (plan.maxLoras > 0) out.gauge('vllm:lora_requests_info', 'When adapters last ran and waited.', [...this.adapterStates]);
    out.gauge('vllm:cache_config_info', 'The KV cache.', [[this.cacheConfig(), 1]]);
    this.writeTransfers(out);
  }

  /** NIXL's own families; those about single descriptors are left out, since only the bytes as a whole are simulated. */
  private writeTransfers(out: Exposition): void {
    const { connector, core } = this.rank();
    if (connector === undefined || this.options.plan.kvTransfer?.connector !== 'nixl') return;
    const mine = (value: number): readonly (readonly [string, number])[] => [[this.own, value]];
    const { meter } = connector;
    const { expired, lateReads } = connector.stats();
    const { wanted, underway, arrived } = core.stats().remoteLoads;
    out.histogram('vllm:nixl_xfer_time_seconds', 'How long KV transfers took.', [[this.own, meter.seconds]]);
    out.histogram('vllm:nixl_bytes_transferred', 'Bytes of KV transfers.', [[this.own, meter.bytes]]);
    out.counter('vllm:nixl_num_failed_transfers', 'KV transfers that failed.', mine(meter.failed));
    out.counter('vllm:nixl_num_failed_notifications', 'Notifications that did not arrive.', mine(0));
    out.counter('vllm:nixl_num_kv_expired_reqs', 'Requests whose blocks nobody read in time.', mine(expired));
    out.counter('vllm:nixl_num_notifications_after_expiry', 'Reads of blocks that were no longer kept.', mine(lateReads));
    if (wanted + underway + arrived + core.stats().remoteTokens === 0) return;
    const stages = { waiting_to_start: wanted, in_progress: underway, completed_waiting: arrived };
    out.gauge(
      'vllm:num_requests_kv_fetch_by_stage',
      'Requests that bring remote KV, by how far it is.',
      Object.entries(stages).map(([stage, value]) => [sortedLabels({ ...this.common, stage }), value]),
    );
  }

  private cacheConfig(): string {
    const { plan, limits, numBlocks, isRecent } = this.options;
    const tokens = numBlocks * limits.blockSize;
    return sortedLabels({
      _block_size_resolved: 'True',
      block_size: limits.blockSize,
      cache_dtype: 'auto',
      enable_prefix_caching: plan.enablePrefixCaching ? 'True' : 'False',
      engine: this.common.engine,
      gpu_memory_utilization: plan.gpuMemoryUtilization ?? 0.92,
      num_cpu_blocks: 'None',
      num_gpu_blocks: numBlocks,
      num_gpu_blocks_override: plan.numGpuBlocks ?? 'None',
      prefix_caching_hash_algo: 'sha256',
      sliding_window: 'None',
      user_specified_block_size: plan.blockSize === undefined ? 'False' : 'True',
      ...(isRecent ? { kv_cache_max_concurrency: tokens / limits.maxModelLen, kv_cache_size_tokens: tokens } : {}),
    });
  }
}

/** Python's client writes labels in the order of their names. */
function sortedLabels(values: Readonly<Record<string, string | number>>): string {
  return labels(Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))));
}
