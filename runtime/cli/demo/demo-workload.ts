import { policiesNamed } from '../replay/policies/policy-named';
import type { PolicyResult } from '../replay/policy-result';
import { replayPolicies } from '../replay/replay-policies';
import { replayedChat } from '../replay/workload/replayed-chat';
import { type ChatWorkloadOptions, chatWorkload } from '../workload/chat-workload';

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
  return replayPolicies({
    policies: policiesNamed('expected-latency,random'),
    workload: replayedChat(chatWorkload(DEMO_WORKLOAD), model),
    fleet: { model, accelerator, replicas },
    seed: DEMO_WORKLOAD.seed,
  });
}
