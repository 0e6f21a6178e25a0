import type { Engine } from './engine';
import { parseFlagTable } from './flag';
import { VLLM_0_20_2_FLAGS } from './flags-vllm-0-20-2';
import { VLLM_0_32_0_FLAGS } from './flags-vllm-0-32-0';
import { lazy } from './lazy';

/** vLLM. Flags and newest metric names are recorded from the versions below; older metric names are those that vLLM's own source marks as renamed. */
export const vllm: Engine = {
  name: 'vllm',
  apiName: 'vLLM',
  defaultPort: 8000,
  healthPath: '/health',
  metricsPath: '/metrics',
  imageRepositories: [
    'vllm/vllm-openai',
    'vllm/vllm-openai-cpu',
    'vllm/vllm-openai-rocm',
    'lmcache/vllm-openai',
    'ascend/vllm-ascend',
  ],
  modules: ['vllm.entrypoints.openai.api_server'],
  commands: [['vllm', 'serve']],
  metrics: {
    running: [{ name: 'vllm:num_requests_running', type: 'gauge' }],
    waiting: [{ name: 'vllm:num_requests_waiting', type: 'gauge' }],
    kvUsage: [
      { name: 'vllm:kv_cache_usage_perc', type: 'gauge', since: '0.9' },
      { name: 'vllm:gpu_cache_usage_perc', type: 'gauge' },
    ],
    timeToFirstToken: [{ name: 'vllm:time_to_first_token_seconds', type: 'histogram' }],
    interTokenLatency: [
      { name: 'vllm:inter_token_latency_seconds', type: 'histogram', since: '0.11' },
      { name: 'vllm:time_per_output_token_seconds', type: 'histogram' },
    ],
    prefixCacheQueries: [
      { name: 'vllm:prefix_cache_queries_total', type: 'counter', since: '0.9' },
      { name: 'vllm:gpu_prefix_cache_queries_total', type: 'counter' },
    ],
    prefixCacheHits: [
      { name: 'vllm:prefix_cache_hits_total', type: 'counter', since: '0.9' },
      { name: 'vllm:gpu_prefix_cache_hits_total', type: 'counter' },
    ],
    promptTokens: [{ name: 'vllm:prompt_tokens_total', type: 'counter' }],
    generationTokens: [{ name: 'vllm:generation_tokens_total', type: 'counter' }],
    // Labels `num_gpu_blocks` and `block_size`.
    kvCapacity: [{ name: 'vllm:cache_config_info', type: 'gauge' }],
    loraRequests: [{ name: 'vllm:lora_requests_info', type: 'gauge' }],
    preemptions: [{ name: 'vllm:num_preemptions_total', type: 'counter' }],
    steps: [{ name: 'vllm:iteration_tokens_total', type: 'histogram' }],
    finished: [{ name: 'vllm:request_success_total', type: 'counter' }],
    fetchedPromptTokens: [{ name: 'vllm:external_prefix_cache_hits_total', type: 'counter' }],
  },
  recordings: [
    { version: '0.20.2', flags: lazy(() => parseFlagTable(VLLM_0_20_2_FLAGS)) },
    { version: '0.32.0', flags: lazy(() => parseFlagTable(VLLM_0_32_0_FLAGS)) },
  ],
};
