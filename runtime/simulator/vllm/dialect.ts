import { newestVersion } from '../../../src/catalog/engines/engine-table';
import { compareVersions, releaseOf } from '../../../src/catalog/engines/version';

/** How versions differ in what they answer. */
export interface VllmDialect {
  /** As `/version` says it. */
  readonly version: string;
  /** 0.32 names the base models in a "not found", says more in messages and usages, and clamps answers to the context. */
  readonly isRecent: boolean;
  /** Up to 0.10 the cache metrics were also written under `gpu_…` names, and token latency as time per output token. */
  readonly hasOldMetricNames: boolean;
}

/** Recordings exist of 0.20.2 and 0.32.0; what is later than 0.20 is answered as 0.32 does. A version that is no number is the newest. */
export function vllmDialect(planned: string): VllmDialect {
  const version = releaseOf(planned) === undefined ? newestVersion('vllm') : planned.replace(/^v/, '');
  return {
    version,
    isRecent: compareVersions(version, '0.21') >= 0,
    hasOldMetricNames: compareVersions(version, '0.11') < 0,
  };
}
