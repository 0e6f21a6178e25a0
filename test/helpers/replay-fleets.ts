import type { FleetOptions } from '../../runtime/cli/replay/fixed-fleet';
import { sharedPrefixWorkload } from '../../runtime/cli/replay/workload/shared-prefix';
import type { Workload } from '../../runtime/cli/replay/workload/workload';
import { seededRandom } from '../../runtime/lib/random';

/**
 * Eight pods that both Mooncake traces fill to about three quarters. The prefill rate is the catalogue's 12,700 tokens/s less what
 * attention costs over prompts of 12,000 tokens, which the catalogue's figure leaves out; the context is the longest request's.
 */
export const MOONCAKE_FLEET: FleetOptions = {
  replicas: 8,
  model: 'meta-llama/Llama-3.1-8B-Instruct',
  accelerator: 'H100-PCIe-80GB',
  prefillTokensPerSecond: 11_000,
  engineArgs: ['--max-model-len', '200000'],
};

/** Requests per second that Kthena published (2025-09-09) for the workload below; its `least-request` was then the scraped one. */
export const PUBLISHED = { random: 11.81, 'scraped-least-request': 9.86 } as const;

/**
 * Three pods with the model and engine flags of Kthena's benchmark. Its GPU is not stated: class and KV tokens are chosen so that
 * `PUBLISHED` comes out within 15 %, and stay as they are.
 */
export const KTHENA_FLEET: FleetOptions & { readonly kvTokens: number } = {
  replicas: 3,
  model: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-7B',
  accelerator: 'H100-PCIe-80GB',
  kvTokens: 450_000,
  engineArgs: [
    ...['--block-size', '128', '--max-model-len', '32768', '--max-num-batched-tokens', '65536'],
    ...['--gpu-memory-utilization', '0.9', '--max-num-seqs', '256'],
  ],
};

/** Factors of the calibrated KV cache at which the workload is also run. */
export const KTHENA_KV_SWEEP = [0.5, 1, 2] as const;

/** Kthena's LONG workload: 256 system prompts of 4096 tokens, 32 questions of 256 to each, 800 requests/s offered to 300 clients. */
export function kthenaWorkload(seed: number): Workload {
  const shape = { groups: 256, promptsPerGroup: 32, systemTokens: 4096, questionTokens: 256, outputTokens: 128 };
  return sharedPrefixWorkload(shape, { random: seededRandom(seed), concurrency: 300, requestsPerSecond: 800 });
}
