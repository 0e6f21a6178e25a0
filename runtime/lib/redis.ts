import type { RedisConfig } from '../../src/config/redis-config';
import type { Clock } from './clock';
import type { Logger } from './logger';
import type { Metrics } from './metrics';
import { RedisConnection } from './redis-connection';

export interface RedisOptions {
  /** The server of this image, with its credentials; undefined when it has none. */
  readonly config: RedisConfig | undefined;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The Redis servers of one image: its own, and others that objects name by address. Nothing is connected before it is asked for. */
export class Redis {
  private readonly connections = new Map<string, RedisConnection>();
  private readonly up;
  private readonly failures;

  constructor(private readonly options: RedisOptions) {
    this.up = options.metrics.gauge('kvasir_redis_up', '1 while the Redis server can be used.', ['address']);
    this.failures = options.metrics.counter('kvasir_redis_failures_total', 'Commands that the Redis server did not carry out.', [
      'address',
    ]);
  }

  /** The server of this image; undefined when it has none. */
  get own(): RedisConnection | undefined {
    const { config } = this.options;
    return config === undefined ? undefined : this.at(config.address);
  }

  /** A server by address. Credentials are sent to the image's own only. */
  at(address: string): RedisConnection {
    const known = this.connections.get(address);
    if (known !== undefined) return known;
    const { config, clock, log } = this.options;
    const up = this.up.with(address);
    const failures = this.failures.with(address);
    const connection = new RedisConnection({
      config: config?.address === address ? config : { address },
      clock,
      onChange: (isUp, reason) => {
        up.set(isUp ? 1 : 0);
        if (isUp) log.info({ address }, 'Redis is connected');
        else log.warn({ address, reason }, 'Redis cannot be used');
      },
      onFailure: () => failures.add(1),
    });
    this.connections.set(address, connection);
    return connection;
  }

  /** Ends the connections to servers that are no longer named; that of the image stays. */
  keep(addresses: ReadonlySet<string>): void {
    for (const [address, connection] of this.connections) {
      if (addresses.has(address) || address === this.options.config?.address) continue;
      connection.close();
      this.connections.delete(address);
    }
  }

  close(): void {
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
  }
}
