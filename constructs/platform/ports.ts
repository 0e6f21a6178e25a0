/** Ports on which Kvasir's images are told to listen. */
export const REQUEST_PORT = 8080;
export const METRICS_PORT = 9090;
/** Between copies of a router. */
export const REPLICATION_PORT = 9091;
/** Bound to loopback: for `kubectl port-forward` only. */
export const DEBUG_PORT = 15_000;
export const REDIS_PORT = 6379;
