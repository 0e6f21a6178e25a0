import { kvBlockSettings } from '../cache/kv-block-settings';
import type { Filter } from './filter';
import { gpuUsage } from './plugins/gpu-usage';
import { kvcacheAware } from './plugins/kvcache-aware';
import { DEFAULT_TTFT_WEIGHT, leastLatency } from './plugins/least-latency';
import { DEFAULT_MAX_WAITING_REQUESTS, leastRequest, leastRequestFilter } from './plugins/least-request';
import { loraAffinity } from './plugins/lora-affinity';
import { prefixCache } from './plugins/prefix-cache';
import { random } from './plugins/random';
import type { Profile } from './profile';
import type { Scorer } from './scorer';

/** Arguments of a plugin by lower-case name. */
export type PluginArgs = Readonly<Record<string, unknown>>;

type Makers<T> = Readonly<Record<string, (args: PluginArgs) => T>>;

/** Kthena's plugins by name. */
export const PLUGINS: { readonly filters: Makers<Filter>; readonly scorers: Makers<Scorer> } = {
  filters: {
    'least-request': (args) => leastRequestFilter(maxWaitingRequests(args)),
    'lora-affinity': () => loraAffinity,
  },
  scorers: {
    'least-request': () => leastRequest,
    'least-latency': (args) => leastLatency(ttftWeight(args)),
    'gpu-usage': () => gpuUsage,
    'prefix-cache': () => prefixCache,
    'kvcache-aware': () => kvcacheAware,
    random: () => random,
  },
};

/** What a profile with this scorer asks of other servers before a decision. */
export function lookupsOf(scorer: string, args: PluginArgs): Pick<Profile, 'kvBlocks'> {
  return scorer === kvcacheAware.name ? { kvBlocks: kvBlockSettings(args) } : {};
}

/** A bad or zero value is Kthena's default; a negative one, which would refuse every endpoint, is too. */
function maxWaitingRequests({ maxwaitingrequests: value }: PluginArgs): number {
  return typeof value === 'number' && value > 0 ? value : DEFAULT_MAX_WAITING_REQUESTS;
}

function ttftWeight({ ttfttpotweightfactor: value }: PluginArgs): number {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : DEFAULT_TTFT_WEIGHT;
}
