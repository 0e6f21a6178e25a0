import type { IncomingHttpHeaders } from 'node:http';
import type { EngineCore } from './engine-core';
import type { VllmConnector } from './vllm/vllm-connector';

/** One data-parallel copy of the model in a server. */
export interface EngineRank {
  readonly index: number;
  readonly core: EngineCore;
  /** vLLM: how this copy hands KV over. */
  readonly connector?: VllmConnector;
}

/** Header by which a router chooses the copy. */
const RANK_HEADER = 'x-data-parallel-rank';

/** Which copy computes a request: the one that is asked for, else the one with the fewest requests. */
export function chooseRank(ranks: readonly EngineRank[], headers: IncomingHttpHeaders, asked?: unknown): EngineRank {
  if (ranks.length === 1) return ranks[0]!;
  const wanted = headers[RANK_HEADER] ?? asked;
  const named = wanted === undefined ? undefined : ranks[Number(wanted)];
  if (named !== undefined) return named;
  const load = ({ core }: EngineRank): number => {
    const { running, waiting } = core.stats();
    return running + waiting;
  };
  return ranks.reduce((best, rank) => (load(rank) < load(best) ? rank : best));
}
