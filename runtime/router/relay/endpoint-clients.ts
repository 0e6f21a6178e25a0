import { authority } from '../../../src/expand/pod-address';
import type { AttemptEndpoint } from '../scheduling/attempts';
import { UpstreamConnection, type UpstreamTls } from './upstream-connection';

/** A connection to an endpoint that carries one request at a time. */
export interface LeasedClient {
  readonly client: UpstreamConnection;
  /** Whether it stood already, so that a reset before any byte may only mean that the engine closed it as idle. */
  readonly isReused: boolean;
}

interface EndpointPool {
  readonly origin: string;
  readonly all: Set<UpstreamConnection>;
  /** Idle ones; the last used is used next, so that the others may end. */
  readonly idle: UpstreamConnection[];
}

export interface EndpointClientOptions {
  /** Read for each new connection. @default by Node's own authorities, showing nothing */
  readonly tls?: UpstreamTls;
  /** How long idle connections are kept. @default 4000 */
  readonly keepAliveMs?: number;
}

/** Engines close idle connections after 5 s; ours go first. */
const KEEP_ALIVE_MS = 4_000;
/** Idle clients kept per endpoint: a burst's clients are let go. */
const MAX_IDLE = 256;

/** Between looks at which idle connections are too old. */
const SWEEP_MS = 1_000;

/**
 * Connections to endpoints, kept per endpoint identity: a pod that got the address of another one never inherits its connections.
 */
export class EndpointClients {
  private readonly pools = new Map<string, EndpointPool>();
  private readonly keepAliveMs: number;
  private sweeping: NodeJS.Timeout | undefined;

  /** @param connectTimeoutMs in real milliseconds, beneath the relay's own deadline. */
  constructor(
    private readonly connectTimeoutMs: number,
    private readonly options: EndpointClientOptions = {},
  ) {
    this.keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS;
  }

  /** Ids of the endpoints that have connections. */
  endpointIds(): readonly string[] {
    return [...this.pools.keys()];
  }

  lease(endpoint: AttemptEndpoint, protocol: 'http' | 'https'): LeasedClient {
    const pool = this.poolOf(endpoint, protocol);
    for (let client = pool.idle.pop(); client !== undefined; client = pool.idle.pop()) {
      if (client.isUsable) return { client, isReused: client.isConnected };
      pool.all.delete(client);
    }
    return this.fresh(endpoint, protocol);
  }

  /** A connection that does not stand yet. */
  fresh(endpoint: AttemptEndpoint, protocol: 'http' | 'https'): LeasedClient {
    const { connectTimeoutMs, options } = this;
    const client = new UpstreamConnection(endpoint, { protocol, connectTimeoutMs, tls: options.tls });
    this.poolOf(endpoint, protocol).all.add(client);
    return { client, isReused: false };
  }

  /** Takes a connection back whose request ended well. */
  giveBack(endpointId: string, client: UpstreamConnection): void {
    const pool = this.pools.get(endpointId);
    if (pool === undefined || !client.isUsable || !pool.all.has(client) || pool.idle.length >= MAX_IDLE) {
      this.discard(endpointId, client);
      return;
    }
    client.idleSinceMs = performance.now();
    pool.idle.push(client);
    this.sweeping ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  /** Ends a connection whose request was aborted or failed. */
  discard(endpointId: string, client: UpstreamConnection): void {
    this.pools.get(endpointId)?.all.delete(client);
    client.destroy();
  }

  /** Ends every connection to an endpoint, also those in use. */
  async remove(endpointId: string): Promise<void> {
    const pool = this.pools.get(endpointId);
    if (pool === undefined) return;
    this.pools.delete(endpointId);
    for (const client of pool.all) client.abort({ kind: 'destroyed', reason: 'the endpoint is gone' });
  }

  /** Ends connections with the request that they carry, so that the next ones are made with what `tls` is now. */
  renew(): void {
    for (const { all, idle } of this.pools.values()) {
      for (const client of idle.splice(0)) {
        all.delete(client);
        client.destroy();
      }
      for (const client of all) client.retire();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.sweeping);
    this.sweeping = undefined;
    await Promise.all(this.endpointIds().map((id) => this.remove(id)));
  }

  private sweep(): void {
    const before = performance.now() - this.keepAliveMs;
    let isIdle = true;
    for (const { idle, all } of this.pools.values()) {
      let old = 0;
      while (old < idle.length && idle[old]!.idleSinceMs < before) old += 1;
      for (const client of idle.splice(0, old)) {
        all.delete(client);
        client.destroy();
      }
      isIdle &&= idle.length === 0;
    }
    if (!isIdle) return;
    clearInterval(this.sweeping);
    this.sweeping = undefined;
  }

  private poolOf(endpoint: AttemptEndpoint, protocol: 'http' | 'https'): EndpointPool {
    const known = this.pools.get(endpoint.id);
    const origin = `${protocol}://${authority(endpoint)}`;
    if (known?.origin === origin) return known;
    if (known !== undefined) void this.remove(endpoint.id);
    const pool: EndpointPool = { origin, all: new Set(), idle: [] };
    this.pools.set(endpoint.id, pool);
    return pool;
  }
}
