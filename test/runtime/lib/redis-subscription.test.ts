import { RedisSubscription } from '../../../runtime/lib/redis-subscription';
import { wallClock } from '../../../runtime/lib/wall-clock';
import { hasRedisServer, RedisServer } from '../../helpers/redis-server';
import { until } from '../../helpers/router-harness';

(hasRedisServer() ? describe : describe.skip)('a subscription in Redis', () => {
  let redis: RedisServer;
  let subscription: RedisSubscription;
  let messages: string[];

  beforeEach(async () => {
    redis = await RedisServer.start();
    messages = [];
    subscription = new RedisSubscription({
      config: { address: redis.address },
      clock: wallClock(),
      channels: ['a', 'b'],
      onMessage: (message) => messages.push(message.toString()),
    });
  });
  afterEach(async () => {
    subscription.close();
    await redis.stop();
  });

  const publish = (channel: string, message: string): Promise<number> => redis.with((client) => client.publish(channel, message));
  /** Publishes until somebody hears it. */
  const heard = async (message: string): Promise<void> => {
    const end = Date.now() + 4_500;
    while ((await publish('a', message)) === 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
    await until(() => messages.includes(message), `${message} is heard`);
  };
  const listeners = async (): Promise<readonly string[]> => {
    const list = (await redis.with((client) => client.call('CLIENT', 'LIST', 'TYPE', 'PUBSUB'))) as string;
    return [...list.matchAll(/\bid=(\d+)/g)].map(([, id]) => id!);
  };

  it('hears each of its channels, and no other', async () => {
    await heard('first');
    await publish('c', 'not mine');
    await publish('b', 'second');
    await until(() => messages.length === 2, 'both are heard');
    expect(messages).toEqual(['first', 'second']);
  });

  it('stays on one connection while the server is well', async () => {
    await heard('first');
    const before = await listeners();
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    expect(before).toHaveLength(1);
    expect(await listeners()).toEqual(before);
  });

  it('hears again after the server was away, and after it hung', async () => {
    await heard('first');
    await redis.stop();
    await redis.start();
    await heard('second');
    const before = await listeners();
    redis.freeze();
    // A ping within a second, and a second for its answer.
    await new Promise((resolve) => setTimeout(resolve, 2_300));
    redis.thaw();
    await heard('third');
    expect(await listeners()).not.toEqual(before);
  }, 15_000);
});
