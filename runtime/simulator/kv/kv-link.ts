/**
 * Bandwidth between pods in GB/s (10⁹) when none is given: a 200 Gb/s network card for each engine. An assumption; the catalogue knows
 * only the links inside a node.
 */
export const DEFAULT_KV_LINK_GBPS = 25;

/** How fast KV travels to an engine. */
export interface KvLink {
  readonly bytesPerToken: number;
  /** GB/s (10⁹); infinite for a transfer that takes no time. */
  readonly gigabytesPerSecond: number;
}

export function transferMs({ bytesPerToken, gigabytesPerSecond }: KvLink, tokens: number): number {
  return (tokens * bytesPerToken) / (gigabytesPerSecond * 1e6);
}
