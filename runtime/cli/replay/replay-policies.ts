import type { Finding } from '../../../src/errors';
import { FixedFleet, type FleetOptions } from './fixed-fleet';
import { type Policy, policyFindings } from './policies/policy';
import type { LatencyObjectives, PolicyResult } from './policy-result';
import { PolicyRun } from './policy-run';
import type { Workload } from './workload/workload';

export interface ReplayOptions {
  readonly policies: readonly Policy[];
  readonly workload: Workload;
  readonly fleet: FleetOptions;
  /** Seed of the schedulers' own draws. */
  readonly seed: number;
  /** Routers side by side. @default 1 */
  readonly routers?: number;
  /** Delay in milliseconds with which those routers tell each other what they send where. @default they tell each other nothing */
  readonly replicationDelayMs?: number | undefined;
  /** @default `DEFAULT_OBJECTIVES` */
  readonly objectives?: LatencyObjectives;
  /** Told what of a policy's configuration cannot be done as written. */
  readonly onFinding?: (finding: Finding) => void;
  /** Told of each result as soon as it is there. */
  readonly onResult?: (result: PolicyResult) => void;
}

/** Time to first token that Dynamo counts as good on the Mooncake conversation trace, and a pace twice as fast as people read. */
export const DEFAULT_OBJECTIVES: LatencyObjectives = { ttftMs: 2000, itlMs: 100 };

/**
 * Runs one workload once per policy, in virtual time, through the router's own scheduler over simulated engines with fixed replicas.
 * Deterministic for its seeds.
 *
 * @throws KvasirError when the catalogue has no such accelerator, or the model leaves it no KV cache.
 */
export async function replayPolicies(options: ReplayOptions): Promise<readonly PolicyResult[]> {
  const { policies, workload, seed, routers = 1, replicationDelayMs, objectives = DEFAULT_OBJECTIVES } = options;
  const fleet = new FixedFleet(options.fleet);
  const results: PolicyResult[] = [];
  for (const policy of policies) {
    const run = new PolicyRun({ fleet, model: options.fleet.model, policy, seed, routers, replicationDelayMs, objectives });
    for (const finding of policyFindings(policy)) options.onFinding?.(finding);
    const result = await run.replay(workload);
    options.onResult?.(result);
    results.push(result);
  }
  return results;
}
