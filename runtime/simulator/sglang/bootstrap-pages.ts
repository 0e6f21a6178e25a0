import type { ListenAddress } from '../../lib/http-listen';
import { pythonJson } from '../http/python-json';
import type { KvPage, KvPages } from '../kv/kv-fabric';
import type { SglangTransferOptions } from './sglang-transfer';

const RANKS = ['prefill_dp_rank', 'prefill_cp_rank', 'target_tp_rank', 'target_pp_rank'] as const;

const text = (status: number, body: string): KvPage => ({ status, contentType: 'text/plain; charset=utf-8', body });
const json = (body: unknown): KvPage => ({
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body: pythonJson(body),
});

/** What HTTP clients find at prefill's bootstrap server, as recorded: how the engine is laid out, and where a rank is. */
export function bootstrapPages({ plan, httpPort, pageSize }: SglangTransferOptions, address: () => ListenAddress): KvPages {
  const sizes = [plan.dataParallelSize ?? 1, 1, plan.tensorParallelSize, plan.pipelineParallelSize ?? 1];
  return (method, { pathname, searchParams }) => {
    if (method !== 'GET') return undefined;
    if (pathname === '/health') return text(200, 'OK');
    if (pathname !== '/route') return undefined;
    const asked = RANKS.map((name) => searchParams.get(name));
    if (asked.some((rank) => rank === null || rank === '')) return text(400, 'Missing inputs for bootstrap server.');
    const ranks = asked.map(Number);
    if (ranks.every((rank) => rank === -1)) {
      return json({
        attn_tp_size: plan.tensorParallelSize,
        attn_cp_size: 1,
        dp_size: sizes[0],
        pp_size: sizes[3],
        page_size: pageSize,
        kv_cache_dtype: plan.kvCacheDtype ?? 'auto',
        follow_bootstrap_room: true,
        enable_dsa_cache_layer_split: false,
        decode_allocation_policy: 'early',
        enable_kv_cache_sharding: false,
        prefill_http_port: httpPort(),
        target_tp_rank: null,
        target_tp_ranks: null,
        target_cp_ranks: null,
        target_pp_ranks: null,
        required_dst_info_num: null,
        required_prefill_response_num: null,
      });
    }
    if (ranks.every((rank, i) => rank >= 0 && rank < sizes[i]!)) {
      const { host, port } = address();
      // The real one names the port of a ZeroMQ socket of its own; here one port takes both kinds of messages.
      return json({ rank_ip: host, rank_port: port });
    }
    const [dp, cp, tp, pp] = ranks;
    return text(404, `Bootstrap info not found for dp_rank=${dp} cp_rank=${cp} tp_rank=${tp} pp_rank=${pp}`);
  };
}
