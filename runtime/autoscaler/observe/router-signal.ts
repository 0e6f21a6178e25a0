/** What routers tell of the models of a target. */
export const ROUTER_SIGNALS = ['queued', 'shed', 'ttft'] as const;
export type RouterSignal = (typeof ROUTER_SIGNALS)[number];

/** The signal that a metric without a source names by `router:<signal>`; undefined: it is no such metric. */
export function routerSignalOf(metric: string): RouterSignal | undefined {
  return ROUTER_SIGNALS.find((signal) => metric === `router:${signal}`);
}
