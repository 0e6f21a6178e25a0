import type { LatencyGoal } from '../../autoscaler/decide/capacity/rate-at-slo';
import { rateAtSlo } from '../../autoscaler/decide/capacity/rate-at-slo';
import { priorOf } from '../../autoscaler/observe/pool-engine';
import type { LatencyObjectives } from '../replay/policy-result';
import type { ServicePool } from './service-pool';
import type { RequestLengths } from './traffic/request-lengths';

/** The service whose replicas are scaled. */
export interface Service {
  /** Name of a model shape of the catalogue. */
  readonly model: string;
  readonly pools: readonly ServicePool[];
  readonly objectives: LatencyObjectives;
  readonly lengths: RequestLengths;
}

/**
 * Output tokens per second that one replica of each pool generates when every answer is exactly as slow as the objective allows, by the
 * catalogue: the most that can be asked of it.
 */
export function tokensAtObjective({ pools, objectives: { ttftMs, itlMs }, lengths }: Service): readonly number[] {
  const { promptTokens, outputTokens } = lengths;
  const mix = { promptTokens, prefillTokens: promptTokens, outputTokens };
  // At the median nothing is kept for fluctuation.
  const goal: LatencyGoal = { ttftMs, itlMs, percentile: 50 };
  return pools.map(({ engine, room }) => outputTokens * rateAtSlo(priorOf(engine, mix).step, mix, goal, room));
}

/** Requests that a replica of each pool computes at once when every answer is as slow as the objective allows. */
export function batchAtObjective(service: Service): readonly number[] {
  return tokensAtObjective(service).map((tokensPerSecond) => (tokensPerSecond * service.objectives.itlMs) / 1000);
}
