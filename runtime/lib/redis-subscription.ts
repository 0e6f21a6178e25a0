import type { RedisConfig } from '../../src/config/redis-config';
import type { Clock, Timer } from './clock';
import { RedisConnection } from './redis-connection';

export interface RedisSubscriptionOptions {
  readonly config: RedisConfig;
  readonly clock: Clock;
  readonly channels: readonly string[];
  readonly onMessage: (message: Buffer) => void;
}

/** A server that hangs sends nothing, and nothing is what a quiet channel sends too. */
const PING_EVERY_MS = 1_000;

/** Listens to channels of a Redis server on a connection of its own, and again after each time it was away. What was sent meanwhile is lost. */
export class RedisSubscription {
  private readonly connection: RedisConnection;
  private timer: Timer | undefined;

  constructor(private readonly options: RedisSubscriptionOptions) {
    const { config, clock } = options;
    this.connection = new RedisConnection({
      config,
      clock,
      onChange: (isUp) => {
        if (isUp) void this.subscribe();
      },
    });
    this.connection.open();
    this.pingLater();
  }

  close(): void {
    this.timer?.cancel();
    this.connection.close();
  }

  private async subscribe(): Promise<void> {
    const { channels, onMessage } = this.options;
    await this.quietly((client) => {
      client.on('messageBuffer', (_channel: Buffer, message: Buffer) => onMessage(message));
      return client.subscribe(...channels);
    });
  }

  private pingLater(): void {
    this.timer = this.options.clock.after(PING_EVERY_MS, () => {
      void this.quietly((client) => client.ping());
      this.pingLater();
    });
  }

  /** What fails ends the connection, which is made anew by itself. */
  private async quietly(send: Parameters<typeof this.connection.use<unknown>>[0]): Promise<void> {
    if (!this.connection.isUp) return;
    await this.connection.use(send).catch(() => undefined);
  }
}
