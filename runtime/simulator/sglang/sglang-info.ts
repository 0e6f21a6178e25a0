import type { FaceContext } from '../face-context';
import { type Handler, sendJson } from '../http/exchange';

/** Tokens of the longest input that SGLang keeps free of `max_total_num_tokens`, as recorded. */
const RESERVED_TOKENS = 6;

const modeOf = ({ plan }: FaceContext): string => (plan.kvTransfer?.connector === 'sglang' ? plan.kvTransfer.role : 'null');

/** `GET /model_info`: the members that a plan knows. */
export function modelInfo(context: FaceContext): Handler {
  const { plan } = context;
  return ({ response }) =>
    sendJson(response, 200, {
      model_path: plan.model,
      served_model_name: plan.servedModelNames[0],
      tokenizer_path: plan.model,
      is_generation: true,
      preferred_sampling_params: null,
      weight_version: 'default',
      load_format: 'auto',
      reasoning_parser: null,
      disaggregation_mode: modeOf(context),
      has_image_understanding: false,
      has_audio_understanding: false,
    });
}

/** `GET /server_info`: of the 556 recorded members, those that a plan knows. */
export function serverInfo(context: FaceContext): Handler {
  const { plan, limits, core } = context;
  return ({ response }) => {
    const { totalBlocks } = core.stats();
    const tokens = totalBlocks * limits.blockSize;
    const settings = {
      model_path: plan.model,
      tokenizer_path: plan.model,
      context_length: limits.maxModelLen,
      revision: plan.revision ?? null,
      dtype: plan.dtype ?? 'auto',
      quantization: plan.quantization ?? null,
      kv_cache_dtype: plan.kvCacheDtype ?? 'auto',
      max_running_requests: limits.maxNumSeqs,
      chunked_prefill_size: limits.maxNumBatchedTokens,
      page_size: limits.blockSize,
      disable_radix_cache: !plan.enablePrefixCaching,
      tp_size: plan.tensorParallelSize,
      pp_size: plan.pipelineParallelSize ?? 1,
      dp_size: plan.dataParallelSize ?? 1,
      served_model_name: plan.servedModelNames[0],
      weight_version: 'default',
      enable_cache_report: plan.reportsCachedTokens,
      max_loras_per_batch: plan.maxLoras,
      disaggregation_mode: modeOf(context),
      ...(plan.kvTransfer?.connector === 'sglang' ? { disaggregation_bootstrap_port: plan.kvTransfer.bootstrapPort } : {}),
    };
    sendJson(response, 200, {
      ...settings,
      status: 'ready',
      max_total_num_tokens: tokens,
      max_req_input_len: tokens - RESERVED_TOKENS,
      internal_states: context.ranks.map((rank) => ({
        ...settings,
        effective_max_running_requests_per_dp: limits.maxNumSeqs,
        memory_usage: { token_capacity: rank.core.stats().totalBlocks * limits.blockSize },
      })),
      version: context.plan.version.replace(/^v/, ''),
    });
  };
}

/** `GET /v1/loads`: what each data-parallel rank has to do. */
export function loads(context: FaceContext): Handler {
  const { ranks, limits, clock, plan } = context;
  return ({ response }) => {
    const now = clock.now();
    sendJson(response, 200, {
      timestamp: new Date(now).toISOString().replace('Z', '000+00:00'),
      version: plan.version.replace(/^v/, ''),
      accelerator: null,
      num_accelerators: Math.max(1, plan.gpus),
      loads: ranks.map(({ index, core }) => {
        const stats = core.stats();
        const used = stats.usedBlocks * limits.blockSize;
        const capacity = stats.totalBlocks * limits.blockSize;
        const { forDecode, forTransfer } = context.transfer?.waiting() ?? { forDecode: 0, forTransfer: 0 };
        const isPrefill = context.transfer?.role === 'prefill';
        return {
          timestamp: now / 1000,
          dp_rank: index,
          num_running_reqs: stats.running,
          num_waiting_reqs: stats.waiting,
          num_used_tokens: used,
          num_total_tokens: used,
          num_active_tokens: used,
          max_total_num_tokens: capacity,
          max_running_requests: limits.maxNumSeqs,
          token_usage: stats.kvUsage,
          cache_hit_rate: stats.promptTokens === 0 ? 0 : stats.cachedTokens / stats.promptTokens,
          total_prefill_uncached_tokens: stats.prefilledTokens,
          memory: { token_capacity: capacity },
          disaggregation: {
            mode: modeOf(context),
            prefill_bootstrap_queue_reqs: isPrefill ? forDecode : 0,
            prefill_inflight_queue_reqs: isPrefill ? forTransfer : 0,
            decode_prealloc_queue_reqs: stats.remoteLoads.wanted,
            decode_transfer_queue_reqs: stats.remoteLoads.underway,
          },
          queues: { waiting: stats.waiting },
        };
      }),
    });
  };
}
