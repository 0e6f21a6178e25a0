/**
 * Parameters of other routers' policies, each with where it was read. Snapshots of August 2026.
 */
export const RIVAL_PARAMETERS = {
  /** smg (the SGLang project's router), `cache_aware`, defaults of its command line: model_gateway/src/policies/cache_aware.rs. */
  sglThresholds: { cacheThreshold: 0.3, balanceAbsoluteRequests: 64, balanceRelative: 1.5 },
  /** llm-d-router's usual profile with approximate prefixes: weights of its prefix, queue and KV-utilization scorers, max-score picker. */
  llmdWeights: { prefix: 3, queue: 2, kvUtilization: 2 },
  /** Dynamo's KV router: overlap credit of blocks on the device, scale of the prefill load; temperature 0 (docs/components/router). */
  dynamoCost: { overlapCredit: 1, prefillLoadScale: 1 },
  /** smg, `least_load`: λ of the KV pressure λ·k/(1−k) in seconds, and tokens per second where nothing else is known. */
  sglLeastLoad: { pressureSeconds: 0.15, tokensPerSecond: 2000 },
  /** Kthena: the configuration that its chart installs (charts/kthena, routerConfiguration). */
  kthenaDefault: {
    maxWaitingRequests: 10,
    ttftTpotWeightFactor: 0.5,
    weights: { 'least-request': 1, 'gpu-usage': 1, 'least-latency': 1, 'prefix-cache': 1 },
  },
  /** Kthena when its benchmark was published (2025-09-09): scraped running + 100 × scraped waiting, none of its own dispatches. */
  kthenaScrapedLeastRequest: { waitingWeight: 100 },
} as const;
