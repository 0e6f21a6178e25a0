import { comparePolicies, type PolicyResult } from '../compare/compare-policies';
import type { ChatWorkloadOptions } from '../workload/chat-workload';

/**
 * Four minutes of a chat service: few users at first, a peak that two L40S cannot take within the policy's target, few again. Enough
 * requests for percentiles, few enough for a laptop.
 */
export const DEMO_WORKLOAD: ChatWorkloadOptions = {
  seed: 1,
  conversations: 90,
  durationMs: 240_000,
  systemPrompts: 6,
  systemPromptTokens: 2_400,
  meanTurns: 7,
  medianUserTokens: 60,
  medianOutputTokens: 90,
  meanThinkMs: 8_000,
};

/**
 * The demo's workload for prefix-aware and for random routing, by the router's own scheduler in virtual time. Replicas are fixed, so
 * that only the choice of the pod differs.
 *
 * @param model name of a shape of the catalogue.
 */
export function comparison(model: string, accelerator: string, replicas: number): Promise<readonly PolicyResult[]> {
  return comparePolicies({
    policies: ['expected-latency', 'random'],
    workload: DEMO_WORKLOAD,
    fleet: { model, accelerator, replicas },
    seed: DEMO_WORKLOAD.seed,
  });
}
