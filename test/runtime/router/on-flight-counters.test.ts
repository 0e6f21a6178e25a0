import type { ServerResponse } from 'node:http';
import { hasRedisServer, RedisServer } from '../../helpers/redis-server';
import {
  chatBody,
  type ReceivedRequest,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  until,
} from '../../helpers/router-harness';

const KEY = 'kthena:on-flight-requests';

(hasRedisServer() ? describe : describe.skip)("requests in flight, counted beside Kthena's routers", () => {
  let redis: RedisServer;
  let router: TestRouter;
  let engines: readonly TestEngine[];
  const held: ServerResponse[] = [];
  const hold = (_request: ReceivedRequest, response: ServerResponse): void => void held.push(response);

  beforeEach(async () => {
    held.length = 0;
    redis = await RedisServer.start();
    engines = [await new TestEngine(hold).start(), await new TestEngine(hold).start()];
    const config = routerConfig({ redis: { address: redis.address } });
    const profile = 'least-request';
    router = await startTestRouter({ engines, config: { ...config, profile, onFlightCounters: true } });
  });
  afterEach(async () => {
    await router.router.close();
    for (const engine of engines) await engine.kill();
    await redis.stop();
  });

  const counts = (): Promise<Record<string, string>> => redis.with((client) => client.hgetall(KEY));
  const untilCounts = async (wanted: Record<string, string>): Promise<void> => {
    const end = Date.now() + 3_000;
    for (let last = await counts(); ; last = await counts()) {
      try {
        expect(last).toEqual(wanted);
        return;
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  };
  const ask = () => send(router.url, '/v1/chat/completions', chatBody());
  const answer = (): void => {
    held.pop()!.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
  };
  const answered = async (): Promise<void> => {
    const before = held.length;
    const answering = ask();
    await until(() => held.length > before, 'the engine has the request');
    answer();
    expect((await answering).status).toBe(200);
  };

  it('are in the hash while they are, by namespace and name of the pod', async () => {
    const [first, second] = [ask(), ask()];
    await until(() => held.length === 2, 'the engines have the requests');
    await untilCounts({ 'default/pod-0': '1', 'default/pod-1': '1' });
    answer();
    answer();
    await Promise.all([first, second]);
    await untilCounts({ 'default/pod-0': '0', 'default/pod-1': '0' });
  });

  it('of others keep requests away from their pods', async () => {
    await redis.with((client) => client.hset(KEY, 'default/pod-0', 5));
    await answered();
    // The first request made the router read what others have, within 50 ms and a round trip.
    await new Promise((resolve) => setTimeout(resolve, 200));
    const [before] = engines.map(({ received }) => received.length);
    for (let i = 0; i < 5; i++) await answered();
    expect(engines[0]!.received.length).toBe(before);
  });

  it('begin anew where somebody lost count, and end with the pod', async () => {
    const answering = ask();
    await until(() => held.length === 1, 'the engine has the request');
    const field = engines[0]!.received.length === 1 ? 'default/pod-0' : 'default/pod-1';
    await untilCounts({ [field]: '1' });
    await redis.with((client) => client.hset(KEY, field, -3));
    answer();
    await answering;
    await untilCounts({ [field]: '0' });
    router.cluster.remove('Pod', 'default', field.split('/')[1]!);
    await untilCounts({});
  });

  it('are told to Redis when it is back', async () => {
    await redis.stop();
    const answering = ask();
    await until(() => held.length === 1, 'the engine has the request');
    await redis.start();
    await untilCounts({ [engines[0]!.received.length === 1 ? 'default/pod-0' : 'default/pod-1']: '1' });
    answer();
    await answering;
  });
});
