import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { ReplicationRecord } from '../../../runtime/router/cache/replication/record';
import type { RouterConfig } from '../../../src/config/router-config';
import { FakeSibling } from '../../helpers/fake-sibling';
import { freePort } from '../../helpers/free-port';
import { hasRedisServer, RedisServer } from '../../helpers/redis-server';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter, until } from '../../helpers/router-harness';
import { temporaryFolders } from '../../helpers/temporary-folder';

const SECRET = 'the secret of these routers';
/** Where three routers of one test listen, on one port. */
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;

describe('router replicas', () => {
  const folder = temporaryFolders();
  const routers: TestRouter[] = [];
  const others: { stop(): unknown }[] = [];
  const held: ServerResponse[] = [];
  let engine: TestEngine;
  let port: number;

  beforeEach(async () => {
    engine = await new TestEngine((_request, response) => held.push(response)).start();
    port = await freePort();
  });
  afterEach(async () => {
    await Promise.all(routers.splice(0).map(({ router }) => router.close()));
    for (const each of others.splice(0)) await each.stop();
    held.length = 0;
    await engine.kill();
  });

  const secretFile = (secret = SECRET): string => {
    const file = join(folder(), randomBytes(4).toString('hex'));
    writeFileSync(file, `${secret}\n`);
    return file;
  };
  const start = async (sections: Pick<RouterConfig, 'replication' | 'redis'>): Promise<TestRouter> => {
    const made = await startTestRouter({ engines: [engine], config: routerConfig({ ...sections, drain: { announceMs: 50 } }) });
    routers.push(made);
    return made;
  };
  const startDirect = (host: string, secret = SECRET): Promise<TestRouter> => {
    const siblings = HOSTS.map((each) => `${each}:${port}`);
    return start({ replication: { secretFile: secretFile(secret), siblings, listen: `${host}:${port}` } });
  };
  const inFlight = ({ router }: TestRouter): number => router.endpoints.all().reduce((sum, each) => sum + each.inFlight, 0);
  const metric = async ({ router }: TestRouter, name: string): Promise<number> => {
    const { body } = await send(`http://127.0.0.1:${router.metricsAddress.port}`, '/metrics');
    const line = body.split('\n').find((each) => each.startsWith(`${name} `));
    return line === undefined ? 0 : Number(line.split(' ')[1]);
  };
  const untilMetric = async (router: TestRouter, name: string, value: number): Promise<void> => {
    const end = Date.now() + 5_000;
    while ((await metric(router, name)) !== value) {
      if (Date.now() > end) throw new Error(`${name} is not ${value}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const peers = (router: TestRouter, count: number): Promise<void> => untilMetric(router, 'kvasir_replication_peers', count);
  /** Milliseconds from one router's dispatch until the other counts it. */
  const lag = async (from: TestRouter, to: TestRouter): Promise<number> => {
    const before = inFlight(to);
    const answer = send(from.url, '/v1/chat/completions', chatBody());
    while (inFlight(from) === before) await new Promise((resolve) => setImmediate(resolve));
    const sentMs = performance.now();
    while (inFlight(to) === before) await new Promise((resolve) => setImmediate(resolve));
    const lagMs = performance.now() - sentMs;
    await until(() => held.length > 0, 'the engine has the request');
    held.pop()!.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
    await answer;
    await until(() => inFlight(to) === before, 'it is over for the other too');
    return lagMs;
  };

  const seesWithin50Ms = async (a: TestRouter, b: TestRouter): Promise<void> => {
    await Promise.all([peers(a, 1), peers(b, 1)]);
    const lags: number[] = [];
    for (let i = 0; i < 9; i++) lags.push(i % 2 === 0 ? await lag(a, b) : await lag(b, a));
    expect(lags.sort((x, y) => x - y)[4]).toBeLessThan(50);
  };

  describe('that connect to each other', () => {
    it('see within 50 ms what another sends', async () => {
      await seesWithin50Ms(await startDirect(HOSTS[0]), await startDirect(HOSTS[1]));
    });

    it('count what a leaving one has until it ends, and forget it then', async () => {
      const [a, b] = [await startDirect(HOSTS[0]), await startDirect(HOSTS[1])];
      await Promise.all([peers(a, 1), peers(b, 1)]);
      const answer = send(a.url, '/v1/chat/completions', chatBody());
      await until(() => inFlight(b) === 1, 'the other sees the request');
      const drained = a.router.drain(10_000);
      await peers(b, 0);
      expect(inFlight(b)).toBe(1);
      held.pop()!.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
      expect((await answer).status).toBe(200);
      await until(() => inFlight(b) === 0, 'the other sees its end');
      routers.splice(routers.indexOf(a), 1);
      await drained;
    }, 15_000);

    it('drop the share of one that vanished under load, and lose no request', async () => {
      const a = await startDirect(HOSTS[0]);
      engine.answer = (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
      const endpoint = a.router.endpoints.all()[0]!.endpoint.id;
      const share: ReplicationRecord[] = [
        { kind: 'endpoint', number: 4, id: endpoint },
        ...Array.from({ length: 50 }, (_, id) => ({
          ...{ kind: 'dispatch' as const, id, endpoint: 4, uncachedTokens: 10, kvTokens: 20, contextTokens: 30 },
          words: new Uint32Array(8),
        })),
      ];
      const sibling = new FakeSibling(HOSTS[0], port, SECRET, share);
      others.push({ stop: () => sibling.vanish() });
      await until(() => sibling.isLinked, 'the handshake is over');
      let isLoaded = true;
      const statuses: number[] = [];
      const load = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (isLoaded) statuses.push((await send(a.url, '/v1/chat/completions', chatBody())).status);
        }),
      );
      sibling.tell();
      await until(() => inFlight(a) >= 50, 'the share counts');
      sibling.vanish();
      const goneMs = Date.now();
      await until(() => inFlight(a) < 50, 'the share is dropped');
      expect(Date.now() - goneMs).toBeGreaterThan(500);
      isLoaded = false;
      await load;
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(inFlight(a)).toBe(0);
    });

    it('refuse one with another secret, and go on', async () => {
      const [a, b] = [await startDirect(HOSTS[0]), await startDirect(HOSTS[1], 'a secret of another cluster')];
      await until(() => inFlight(a) === 0 && inFlight(b) === 0, 'both are idle');
      const end = Date.now() + 5_000;
      while ((await metric(a, 'kvasir_replication_refused_total{reason="handshake"}')) === 0 && Date.now() < end);
      expect(await metric(a, 'kvasir_replication_refused_total{reason="handshake"}')).toBeGreaterThan(0);
      expect(await metric(a, 'kvasir_replication_peers')).toBe(0);
      const c = await startDirect(HOSTS[2]);
      await Promise.all([peers(a, 1), peers(c, 1)]);
      expect(await metric(b, 'kvasir_replication_peers')).toBe(0);
    });

    it('survive garbage, before a handshake and after it', async () => {
      const a = await startDirect(HOSTS[0]);
      const sibling = new FakeSibling(HOSTS[0], port, SECRET);
      const stranger = new FakeSibling(HOSTS[0], port, SECRET);
      others.push({ stop: () => [sibling, stranger].map((each) => each.vanish()) });
      stranger.write(randomBytes(50));
      await until(() => stranger.isEnded, 'the stranger is cut off');
      await until(() => sibling.isLinked, 'the sibling is linked');
      for (let i = 0; i < 100; i++) sibling.write(randomBytes(i));
      sibling.tell();
      await peers(a, 1);
      expect(await metric(a, 'kvasir_replication_refused_total{reason="malformed"}')).toBe(100);
      sibling.write(Buffer.alloc(5 * 2 ** 20));
      await until(() => sibling.isEnded, 'what is far too long is cut off');
      const answer = send(a.url, '/v1/chat/completions', chatBody());
      await until(() => held.length > 0, 'the router goes on');
      held.pop()!.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
      expect((await answer).status).toBe(200);
    });

    it('do not wait for one that does not read when they end', async () => {
      const a = await startDirect(HOSTS[0]);
      const sibling = new FakeSibling(HOSTS[0], port, SECRET);
      others.push({ stop: () => sibling.vanish() });
      await until(() => sibling.isLinked, 'the handshake is over');
      sibling.stopReading();
      routers.splice(routers.indexOf(a), 1);
      const beforeMs = performance.now();
      await a.router.close();
      expect(performance.now() - beforeMs).toBeLessThan(3_000);
    });

    it('say what is wrong with a secret', async () => {
      await expect(startDirect(HOSTS[0], 'short')).rejects.toThrow(/replication.secretFile: the secret has 5 bytes/);
      const replication = { secretFile: join(folder(), 'none'), siblings: ['127.0.0.1:1'], listen: '127.0.0.1:0' };
      await expect(start({ replication })).rejects.toThrow(/replication.secretFile: cannot be read/);
    });
  });

  (hasRedisServer() ? describe : describe.skip)('that meet in Redis', () => {
    it('see within 50 ms what another sends, drop shares while Redis is gone, and go on when it is back', async () => {
      const redis = await RedisServer.start();
      others.push(redis);
      const sections = () => ({
        redis: { address: redis.address },
        replication: { secretFile: secretFile(), listen: '127.0.0.1:0' },
      });
      const [a, b] = [await start(sections()), await start(sections())];
      await seesWithin50Ms(a, b);
      const answer = send(a.url, '/v1/chat/completions', chatBody());
      await until(() => inFlight(b) === 1, 'the other sees the request');
      await redis.stop();
      await until(() => inFlight(b) === 0, 'the share is dropped');
      expect(inFlight(a)).toBe(1);
      await redis.start();
      await until(() => inFlight(b) === 1, 'the share is back');
      held.pop()!.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
      await answer;
      await until(() => inFlight(b) === 0, 'the other sees its end');
    }, 20_000);
  });
});
