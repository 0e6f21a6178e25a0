import type { RedisConfig } from '../../../../src/config/redis-config';
import type { Clock } from '../../../lib/clock';
import type { RedisConnection } from '../../../lib/redis-connection';
import { RedisSubscription } from '../../../lib/redis-subscription';
import type { SiblingId } from './frame';
import type { FrameListener, ReplicationTransport } from './transport';

export interface RedisTransportOptions {
  /** Where frames are published. */
  readonly connection: RedisConnection;
  /** The same server, for a connection that listens. */
  readonly config: RedisConfig;
  readonly clock: Clock;
  /** Tells this group of routers from others on the same server. */
  readonly group: string;
}

/** Frames that Redis has not taken yet; beyond, it is too slow and further ones are lost. */
const MOST_UNDER_WAY = 1_000;

/** Siblings that meet in Redis: one channel for all, and one for each. */
export class RedisTransport implements ReplicationTransport {
  private subscription: RedisSubscription | undefined;
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(private readonly options: RedisTransportOptions) {}

  start(self: SiblingId, listener: FrameListener): void {
    const { connection, config, clock } = this.options;
    connection.open();
    const channels = [this.channel(), this.channel(self)];
    this.subscription = new RedisSubscription({ config, clock, channels, onMessage: listener });
  }

  broadcast(frame: Buffer): void {
    this.publish(this.channel(), frame);
  }

  sendTo(sibling: SiblingId, frame: Buffer): void {
    this.publish(this.channel(sibling), frame);
  }

  async close(): Promise<void> {
    this.subscription?.close();
    await Promise.all(this.underWay);
  }

  private publish(channel: string, frame: Buffer): void {
    const { connection } = this.options;
    if (!connection.isUp || this.underWay.size >= MOST_UNDER_WAY) return;
    const published: Promise<unknown> = connection
      .use((client) => client.publish(channel, frame))
      .catch(() => undefined)
      .finally(() => this.underWay.delete(published));
    this.underWay.add(published);
  }

  private channel(sibling?: SiblingId): string {
    const all = `kvasir:replication:${this.options.group}`;
    return sibling === undefined ? all : `${all}:${sibling}`;
  }
}
