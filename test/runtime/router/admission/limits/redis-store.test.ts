import { silentLogger } from '../../../../../runtime/lib/logger';
import { Metrics } from '../../../../../runtime/lib/metrics';
import { Redis } from '../../../../../runtime/lib/redis';
import { wallClock } from '../../../../../runtime/lib/wall-clock';
import { type Limit, limitsOf } from '../../../../../runtime/router/admission/limits/limit';
import { RedisStore } from '../../../../../runtime/router/admission/limits/redis-store';
import { KthenaLimiter } from '../../../../helpers/kthena-rate-limit';
import { hasRedisServer, RedisServer } from '../../../../helpers/redis-server';
import { until } from '../../../../helpers/router-harness';

const inputLimit = (capacity: number, unit: 'second' | 'minute' | 'day' = 'day', model = 'm'): Limit =>
  limitsOf(
    { unit, inputTokensPerUnit: capacity },
    'ModelRoute default/r',
    (quantity) => `kthena:ratelimit:${model}:${quantity}`,
  )[0]!;

(hasRedisServer() ? describe : describe.skip)('buckets in Redis', () => {
  let server: RedisServer;
  let redis: Redis;
  let local = 0;
  const clock = wallClock();

  const storeOf = (replicas = 1): RedisStore =>
    new RedisStore({ connection: redis.at(server.address), clock, replicas: () => replicas, onLocal: () => (local += 1) });
  const take = (store: RedisStore, limit: Limit, amount: number) => store.take([{ limit, need: amount, take: amount }]);

  beforeEach(async () => {
    server = await RedisServer.start();
    redis = new Redis({ config: undefined, clock, metrics: new Metrics(), log: silentLogger() });
    local = 0;
  });
  afterEach(async () => {
    redis.close();
    await server.stop();
  });

  it('have Kthena’s fields, clock and expiry', async () => {
    expect(await take(storeOf(), inputLimit(100), 30)).toEqual({ isGranted: true, levels: [70] });
    await server.with(async (client) => {
      const [seconds] = await client.time();
      const hash = await client.hgetall('kthena:ratelimit:m:input');
      expect(Object.keys(hash).sort()).toEqual(['last_update', 'tokens']);
      expect(Number(hash.tokens)).toBe(70);
      expect(Math.abs(Number(hash.last_update) - Number(seconds))).toBeLessThan(5);
      expect(await client.ttl('kthena:ratelimit:m:input')).toBe(3 * 86_400);
    });
  });

  it.each([
    ['second', 600],
    ['minute', 600],
    ['hour', 10_800],
    ['day', 259_200],
    ['month', 7_776_000],
  ] as const)('of a limit per %s are kept for %d seconds', (unit, seconds) => {
    expect(limitsOf({ unit, inputTokensPerUnit: 1 }, 'o', String)[0]!.expireSeconds).toBe(seconds);
  });

  it('are shared with Kthena’s routers in both directions', async () => {
    await server.with(async (client) => {
      const theirs = new KthenaLimiter(client, 'm', 'input', 100, 86_400);
      const ours = storeOf();
      expect(await theirs.take(60)).toBe(true);
      expect(await take(ours, inputLimit(100), 41)).toMatchObject({ isGranted: false });
      expect(await take(ours, inputLimit(100), 30)).toMatchObject({ isGranted: true });
      expect(await theirs.available()).toBe(10);
      expect(await theirs.take(11)).toBe(false);
      expect(await theirs.take(10)).toBe(true);
      expect(await take(ours, inputLimit(100), 1)).toMatchObject({ isGranted: false });
    });
  });

  it('keep debt that Kthena’s routers see too', async () => {
    await server.with(async (client) => {
      const theirs = new KthenaLimiter(client, 'm', 'output', 100, 86_400);
      const ours = storeOf();
      const output = limitsOf({ unit: 'day', outputTokensPerUnit: 100 }, 'o', () => theirs.key)[0]!;
      ours.charge([{ limit: output, amount: 160 }]);
      await ours.settled();
      expect(await theirs.available()).toBeLessThan(0);
      expect(await theirs.take(1)).toBe(false);
      ours.charge([{ limit: output, amount: -70 }]);
      await ours.settled();
      expect(await theirs.available()).toBe(10);
    });
  });

  it('take from all of several or from none', async () => {
    const store = storeOf();
    const [a, b] = [inputLimit(10, 'day', 'a'), inputLimit(5, 'day', 'b')];
    const both = (amount: number) => store.take([a, b].map((limit) => ({ limit, need: amount, take: amount })));
    expect(await both(6)).toEqual({ isGranted: false, levels: [10, 5] });
    expect(await both(5)).toEqual({ isGranted: true, levels: [5, 0] });
  });

  it('let two routers take no more than there is, to the token, however many ask at once', async () => {
    const other = new Redis({ config: undefined, clock, metrics: new Metrics(), log: silentLogger() });
    const stores = [
      storeOf(),
      new RedisStore({ connection: other.at(server.address), clock, replicas: () => 2, onLocal: () => (local += 1) }),
    ];
    const limit = inputLimit(500);
    const verdicts = await Promise.all(Array.from({ length: 1_000 }, (_, i) => take(stores[i % 2]!, limit, 1)));
    other.close();
    expect(verdicts.filter(({ isGranted }) => isGranted)).toHaveLength(500);
    expect(local).toBe(0);
  });

  it('are counted here up to this router’s part while Redis is gone, from where they were last seen', async () => {
    const store = storeOf(2);
    const limit = inputLimit(100);
    await take(store, limit, 60); // 40 left in Redis: 20 of them are ours
    await server.stop();
    await until(() => !redis.at(server.address).isUp, 'Redis is seen to be gone');
    expect(await take(store, limit, 15)).toEqual({ isGranted: true, levels: [expect.closeTo(5, 1)] });
    expect(await take(store, limit, 6)).toMatchObject({ isGranted: false });
    expect(local).toBe(2);
  });

  it('are counted in Redis again when it is back, and what passed meanwhile is taken from them', async () => {
    const store = storeOf(2);
    const limit = inputLimit(100);
    await take(store, limit, 10);
    await server.stop();
    await until(() => !redis.at(server.address).isUp, 'Redis is seen to be gone');
    await take(store, limit, 30);
    store.charge([{ limit, amount: 5 }]);
    await store.settled();
    await server.start();
    await until(() => redis.at(server.address).isUp, 'Redis is seen to be back');
    // An empty Redis: 100 - 30 - 5 - 1.
    expect(await take(store, limit, 1)).toEqual({ isGranted: true, levels: [expect.closeTo(64, 1)] });
    expect(await take(store, limit, 1)).toEqual({ isGranted: true, levels: [expect.closeTo(63, 1)] });
  });

  it('hold nobody up for longer than a second when Redis hangs, and nobody at all after that', async () => {
    const store = storeOf();
    const limit = inputLimit(100);
    await take(store, limit, 1);
    server.freeze();
    const beganMs = Date.now();
    expect(await take(store, limit, 1)).toMatchObject({ isGranted: true });
    expect(Date.now() - beganMs).toBeLessThan(2_000);
    const laterMs = Date.now();
    expect(await take(store, limit, 1)).toMatchObject({ isGranted: true });
    expect(Date.now() - laterMs).toBeLessThan(200);
    server.thaw();
    await until(() => redis.at(server.address).isUp, 'Redis is seen to be back');
    expect(await take(store, limit, 1)).toMatchObject({ isGranted: true });
    expect(local).toBe(2);
  });

  it('that hold something else are an error of that request alone', async () => {
    const store = storeOf();
    await server.with((client) => client.set('kthena:ratelimit:m:input', 'text'));
    expect(await take(store, inputLimit(100), 1)).toMatchObject({ isGranted: true });
    expect(local).toBe(1);
    expect(redis.at(server.address).isUp).toBe(true);
  });

  it('let a prompt that fits the whole limit pass while Redis is gone, though it does not fit this router’s part', async () => {
    const store = storeOf(4);
    await server.stop();
    expect(await take(store, inputLimit(100), 80)).toEqual({ isGranted: true, levels: [-55] });
    expect(await take(store, inputLimit(100), 1)).toMatchObject({ isGranted: false });
  });
});
