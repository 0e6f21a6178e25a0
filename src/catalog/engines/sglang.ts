import type { Engine } from './engine';
import { parseFlagTable } from './flag';
import { SGLANG_0_5_23_FLAGS } from './flags-sglang-0-5-23';
import { lazy } from './lazy';

/**
 * SGLang. Flags and metric names are recorded from the version below. It exports a family with its first sample only: a fresh decode
 * server shows no `num_running_reqs` at all, which is not a zero.
 */
export const sglang: Engine = {
  name: 'sglang',
  apiName: 'SGLang',
  defaultPort: 30_000,
  healthPath: '/health',
  metricsPath: '/metrics',
  metricsFlag: '--enable-metrics',
  imageRepositories: ['lmsysorg/sglang'],
  modules: ['sglang.launch_server'],
  commands: [['sglang', 'serve']],
  metrics: {
    running: [{ name: 'sglang:num_running_reqs', type: 'gauge' }],
    waiting: [{ name: 'sglang:num_queue_reqs', type: 'gauge' }],
    kvUsage: [{ name: 'sglang:token_usage', type: 'gauge' }],
    timeToFirstToken: [{ name: 'sglang:time_to_first_token_seconds', type: 'histogram' }],
    interTokenLatency: [{ name: 'sglang:inter_token_latency_seconds', type: 'histogram' }],
    prefixCacheQueries: [{ name: 'sglang:prompt_tokens_total', type: 'counter' }],
    prefixCacheHits: [{ name: 'sglang:cached_tokens_total', type: 'counter' }],
    promptTokens: [{ name: 'sglang:prompt_tokens_total', type: 'counter' }],
    generationTokens: [{ name: 'sglang:generation_tokens_total', type: 'counter' }],
    kvCapacity: [{ name: 'sglang:max_total_num_tokens', type: 'gauge' }],
    finished: [{ name: 'sglang:num_requests_total', type: 'counter' }],
    // Passes through the model, whether replayed as a CUDA graph or not. Prompt and answer tokens are counted when a request ends, and times
    // between tokens of unstreamed answers leave tokens out: these say what was computed, 40 decode steps late at most.
    steps: [{ name: 'sglang:cuda_graph_passes_total', type: 'counter' }],
    computedPromptTokens: [{ name: 'sglang:realtime_tokens_total', type: 'counter', only: ['mode', 'prefill_compute'] }],
    decodedTokens: [{ name: 'sglang:realtime_tokens_total', type: 'counter', only: ['mode', 'decode'] }],
  },
  recordings: [{ version: '0.5.23', flags: lazy(() => parseFlagTable(SGLANG_0_5_23_FLAGS)) }],
};
