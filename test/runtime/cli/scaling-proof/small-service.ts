import type { Service } from '../../../../runtime/cli/scaling-proof/service';
import { parsePools, servicePool } from '../../../../runtime/cli/scaling-proof/service-pool';

/** Two pools of an 8 B model. */
export function smallService(pools = 'A100-SXM-40GB:0-3,L40S-48GB:1-5'): Service {
  const model = 'Qwen/Qwen3-8B';
  return {
    model,
    pools: parsePools(pools).map((pool) => servicePool(pool, { model, nodeStartMs: 60_000 })),
    objectives: { ttftMs: 2000, itlMs: 60 },
    lengths: { promptTokens: 400, outputTokens: 800 },
  };
}
