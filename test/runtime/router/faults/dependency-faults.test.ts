import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../../runtime/lib/clock';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import { decodeRouterConfig, type RouterConfig } from '../../../../src/config/router-config';
import { FakeSibling } from '../../../helpers/fake-sibling';
import { FaultRig, type FaultRigOptions, wholeShare } from '../../../helpers/fault-rig';
import { freePort } from '../../../helpers/free-port';
import { hasRedisServer, RedisServer } from '../../../helpers/redis-server';
import { chatBody, send, until } from '../../../helpers/router-harness';
import { temporaryFolders } from '../../../helpers/temporary-folder';
import { AUDIENCE, ISSUER, TokenIssuer } from '../../../helpers/token-issuer';

const CHAT = '/v1/chat/completions';

describe('under load', () => {
  const folder = temporaryFolders();
  const opened: (() => unknown)[] = [];

  async function start(options?: FaultRigOptions): Promise<FaultRig> {
    const rig = await FaultRig.start(options);
    opened.push(() => rig.abandon());
    return rig;
  }

  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });

  (hasRedisServer() ? it : it.skip)(
    'Redis that goes, comes back, and is slow costs no request and delays none for long',
    async () => {
      const redis = await RedisServer.start();
      opened.push(() => redis.stop());
      const rateLimit = {
        unit: 'day',
        inputTokensPerUnit: 1_000_000_000,
        global: { redis: { address: redis.address } },
      } as const;
      const rig = await start({ route: { rateLimit } });
      const inRedis = (): Promise<number> => redis.with((client) => client.dbsize());
      await rig.served(60);
      expect(await inRedis()).toBeGreaterThan(0);
      await redis.stop();
      await rig.served(200);
      await redis.start();
      for (const end = Date.now() + 3_000; (await inRedis()) === 0 && Date.now() < end; ) await rig.served(20);
      expect(await inRedis()).toBeGreaterThan(0);
      redis.freeze();
      await rig.served(200);
      redis.thaw();
      await rig.served(60);
      const slowestMs = Math.max(...rig.ends.map(({ tookMs }) => tookMs));
      expect(wholeShare(await rig.finish())).toBe(1);
      process.stdout.write(`the slowest request beside a failing Redis took ${slowestMs.toFixed(0)} ms\n`);
      expect(slowestMs).toBeLessThan(2_500);
    },
  );

  it('an issuer that is down keeps nobody out whose key is known', async () => {
    const issuer = await TokenIssuer.start();
    opened.push(() => issuer.close());
    const decoded = decodeRouterConfig({
      auth: { issuer: ISSUER, audiences: [AUDIENCE], jwksUri: issuer.jwksUri, jwks: { refreshMs: 1_000, minRefreshMs: 1_000 } },
    });
    if (decoded.kind === 'invalid') throw new Error(decoded.findings[0]!.message);
    const authorization = `Bearer ${await issuer.sign()}`;
    const auth = decoded.config.auth as NonNullable<RouterConfig['auth']>;
    const rig = await start({ config: { auth }, headersOf: () => ({ authorization }) });
    await rig.served(60);
    await issuer.close();
    await rig.outlastGrace();
    await issuer.addKey('k2');
    const newer = { authorization: `Bearer ${await issuer.sign({}, 'k2')}` };
    const refused = await send(rig.at.url, CHAT, chatBody(), newer);
    expect([401, 503]).toContain(refused.status);
    expect(JSON.parse(refused.body)).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });
    await rig.served(60);
    await issuer.listen();
    let status = 0;
    for (const end = Date.now() + 4_000; status !== 200 && Date.now() < end; ) {
      status = (await send(rig.at.url, CHAT, chatBody(), newer)).status;
      await rig.served(20);
    }
    expect(status).toBe(200);
    expect(wholeShare(await rig.finish())).toBe(1);
  });

  it('a minute without metrics of any engine costs no request', async () => {
    const real = wallClock();
    let aheadMs = 0;
    const clock: Clock = { now: () => real.now() + aheadMs, monotonic: () => real.monotonic() + aheadMs, after: real.after };
    const deadlines = { idleMs: 300_000, streamIdleFloorMs: 0 };
    const rig = await start({ clock, config: { deadlines } });
    await rig.served(60);
    for (const engine of rig.engines) engine.metricsAnswer = (response) => response.destroy();
    aheadMs = 61_000;
    await rig.served(300);
    for (const { scrapeAgeMs } of rig.at.router.endpoints.all()) expect(scrapeAgeMs).toBeGreaterThan(60_000);
    expect(wholeShare(await rig.finish())).toBe(1);
  });

  it('a sibling router that is gone leaves no share behind and takes no request with it', async () => {
    const file = join(folder(), randomBytes(4).toString('hex'));
    writeFileSync(file, 'the secret of these routers\n');
    const port = await freePort();
    const listen = `127.0.0.1:${port}`;
    const rig = await start({ config: { replication: { secretFile: file, siblings: [listen], listen } } });
    const { endpoints } = rig.at.router;
    const { id } = endpoints.all()[0]!.endpoint;
    const sibling = new FakeSibling('127.0.0.1', port, 'the secret of these routers', [
      { kind: 'endpoint', number: 4, id },
      ...Array.from({ length: 200 }, (_, dispatch) => ({
        ...{ kind: 'dispatch' as const, id: dispatch, endpoint: 4, uncachedTokens: 10, kvTokens: 20, contextTokens: 30 },
        words: new Uint32Array(8),
      })),
    ]);
    opened.push(() => sibling.vanish());
    await until(() => sibling.isLinked, 'the handshake is over');
    sibling.tell();
    const inFlight = (): number => endpoints.all().find(({ endpoint }) => endpoint.id === id)!.inFlight;
    await until(() => inFlight() >= 200, 'its share counts');
    sibling.vanish();
    await until(() => inFlight() < 200, 'its share is dropped', 2_000);
    await rig.served(100);
    expect(wholeShare(await rig.finish())).toBe(1);
  });
});
