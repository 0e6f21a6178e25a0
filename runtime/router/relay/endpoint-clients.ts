import { buildConnector, Client } from 'undici';
import { authority } from '../../../src/expand/pod-address';
import type { Endpoint } from '../endpoints/endpoint';

/** A connection to an endpoint that carries one request at a time. */
export interface LeasedClient {
  readonly client: Client;
  /** Whether it stood already, so that a reset before any byte may only mean that the engine closed it as idle. */
  readonly isReused: boolean;
}

interface PooledClient {
  readonly client: Client;
  isConnected: boolean;
}

interface EndpointPool {
  readonly origin: string;
  readonly connect: ReturnType<typeof buildConnector>;
  readonly all: Map<Client, PooledClient>;
  /** Idle ones; the last used is used next, so that the others' sockets may close. */
  readonly idle: PooledClient[];
}

/** Engines close idle connections after 5 s; ours go first. */
const KEEP_ALIVE_MS = 4_000;
/** Idle clients kept per endpoint: a burst's clients are let go. */
const MAX_IDLE = 256;

/**
 * Connections to endpoints, kept per endpoint identity: a pod that got the address of another one never inherits its connections.
 * undici's own Pool would do, but it neither tells whether a connection was used before nor finds a free one in constant time.
 */
export class EndpointClients {
  private readonly pools = new Map<string, EndpointPool>();

  /** @param connectTimeoutMs in real milliseconds, beneath the relay's own deadline. */
  constructor(private readonly connectTimeoutMs: number) {}

  /** Ids of the endpoints that have connections. */
  endpointIds(): readonly string[] {
    return [...this.pools.keys()];
  }

  lease(endpoint: Endpoint, protocol: 'http' | 'https'): LeasedClient {
    const pool = this.poolOf(endpoint, protocol);
    const idle = pool.idle.pop();
    if (idle !== undefined) return { client: idle.client, isReused: idle.isConnected };
    return this.fresh(endpoint, protocol);
  }

  /** A client that has no connection yet. */
  fresh(endpoint: Endpoint, protocol: 'http' | 'https'): LeasedClient {
    const pool = this.poolOf(endpoint, protocol);
    const client = new Client(pool.origin, {
      connect: pool.connect,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 64 * 1024,
    });
    const pooled: PooledClient = { client, isConnected: false };
    client.on('connect', () => {
      pooled.isConnected = true;
    });
    client.on('disconnect', () => {
      pooled.isConnected = false;
    });
    pool.all.set(client, pooled);
    return { client, isReused: false };
  }

  /** Takes a client back whose request ended well. */
  giveBack(endpointId: string, client: Client): void {
    const pool = this.pools.get(endpointId);
    const pooled = pool?.all.get(client);
    if (pool === undefined || pooled === undefined || pool.idle.length >= MAX_IDLE) {
      this.discard(endpointId, client);
      return;
    }
    pool.idle.push(pooled);
  }

  /** Ends a client whose request was aborted or failed, and with it the connection. */
  discard(endpointId: string, client: Client): void {
    this.pools.get(endpointId)?.all.delete(client);
    if (!client.destroyed) void client.destroy();
  }

  /** Ends every connection to an endpoint, also those in use. */
  async remove(endpointId: string): Promise<void> {
    const pool = this.pools.get(endpointId);
    if (pool === undefined) return;
    this.pools.delete(endpointId);
    await Promise.all([...pool.all.keys()].map((client) => client.destroy()));
  }

  async close(): Promise<void> {
    await Promise.all(this.endpointIds().map((id) => this.remove(id)));
  }

  private poolOf(endpoint: Endpoint, protocol: 'http' | 'https'): EndpointPool {
    const known = this.pools.get(endpoint.id);
    const origin = `${protocol}://${authority(endpoint)}`;
    if (known?.origin === origin) return known;
    if (known !== undefined) void this.remove(endpoint.id);
    const pool: EndpointPool = {
      origin,
      connect: buildConnector({ timeout: this.connectTimeoutMs }),
      all: new Map(),
      idle: [],
    };
    this.pools.set(endpoint.id, pool);
    return pool;
  }
}
