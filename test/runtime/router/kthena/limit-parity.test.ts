import { setTimeout as pause } from 'node:timers/promises';
import type { KubeObject } from '../../../../src/api/meta';
import type { ModelRoute } from '../../../../src/api/model-route';
import { exampleObjects } from '../../../helpers/example-objects';
import { type ManifestRouter, startManifestRouter } from '../../../helpers/manifest-router';
import { hasRedisServer, RedisServer } from '../../../helpers/redis-server';
import { send } from '../../../helpers/router-harness';
import { ShiftingClock } from '../../../helpers/shifting-clock';

const SERVED = exampleObjects('kthena-router/LLM-Mock-ds1.5b.yaml', 'kthena-router/ModelServer-ds1.5b.yaml');
const LOCAL = exampleObjects('kthena-router/ModelRouteWithRateLimit.yaml')[0] as unknown as ModelRoute;
const GLOBAL = exampleObjects('kthena-router/ModelRouteWithGlobalRateLimit.yaml')[0] as unknown as ModelRoute;
const MODEL = LOCAL.spec.modelName!;
const SHARED = GLOBAL.spec.modelName!;
const says = (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 16 });

/** A route with another limit, and with more changed where asked. */
const limited = (route: ModelRoute, rateLimit: object, spec: object = {}, name = route.metadata.name): KubeObject =>
  ({ ...route, metadata: { ...route.metadata, name }, spec: { ...route.spec, ...spec, rateLimit } }) as unknown as KubeObject;

describe("Kthena's end-to-end tests of limits, with its own manifests as input", () => {
  let at: ManifestRouter;
  let clock: ShiftingClock;
  beforeEach(async () => {
    clock = new ShiftingClock(1);
    const route = limited(LOCAL, { inputTokensPerUnit: 30, unit: 'minute' });
    at = await startManifestRouter({ objects: [...SERVED, route], clock });
  });
  afterEach(() => at.close());

  /** Lets so much of the router's time pass. */
  async function skip(seconds: number): Promise<void> {
    clock.shift(seconds * 20);
    await pause(50);
    clock.shift(1);
  }

  /** Sends until something is refused. @returns how many were served before. */
  async function servedUntilRefused(): Promise<number> {
    for (let served = 0; ; served++) {
      const { status, body } = await at.chat(MODEL, says('hello world'));
      if (status === 429) {
        expect(body).toMatch(/rate.limit/i);
        return served;
      }
      expect([status, served < 20]).toEqual([200, true]);
    }
  }

  it('ModelRouteWithRateLimit: about three prompts of ten tokens pass a limit of 30, and the next is 429', async () => {
    const served = await servedUntilRefused();
    expect(served).toBeGreaterThanOrEqual(2);
    expect(served).toBeLessThanOrEqual(4);
  });

  it('ModelRouteWithRateLimit: what is empty refuses at once and ten seconds later, and is full after a window', async () => {
    const quota = await servedUntilRefused();
    // What is left is less than a prompt; one token at a time takes that too.
    const one = JSON.stringify({ model: MODEL, prompt: 'a', max_tokens: 1 });
    while ((await send(at.url, '/v1/completions', one)).status === 200);
    expect((await at.chat(MODEL, says('hello world'))).status).toBe(429);
    await skip(10);
    expect((await at.chat(MODEL, says('hello world'))).status).toBe(429);
    await skip(60);
    expect(await servedUntilRefused()).toBe(quota);
  });

  it('ModelRouteWithRateLimit: a whole quota is there again after a window', async () => {
    const quota = await servedUntilRefused();
    await skip(70);
    expect(await servedUntilRefused()).toBe(quota);
  });

  it('ModelRouteWithRateLimit: with the limit of input removed, that of output refuses, and says so (B7)', async () => {
    await servedUntilRefused();
    await at.put(limited(LOCAL, { outputTokensPerUnit: 100, unit: 'minute' }));
    const answers = [];
    for (let i = 0; i < 20; i++) answers.push(await at.chat(MODEL, says('hello world')));
    expect(answers[0]!.status).toBe(200);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(5);
    for (const { body } of refused) expect(body).toMatch(/output/);
    expect(at.log.at(-1)).toContain('error=output_rate_limit:');
  });

  it('RateLimitMetrics: every 429 that a client saw is counted once in both places', async () => {
    const names = ['kthena_router_rate_limit_exceeded_total', 'kthena_router_requests_total'];
    const labels = [`model="${MODEL}"`, 'path="/v1/chat/completions"'];
    const count = async () => [await at.metric(names[0]!, ...labels), await at.metric(names[1]!, ...labels, 'status_code="429"')];
    const before = await count();
    let refused = 0;
    for (let i = 0; i < 11; i++) if ((await at.chat(MODEL, says('hello world'))).status === 429) refused += 1;
    expect(refused).toBeGreaterThan(5);
    expect((await count()).map((value, i) => value - before[i]!)).toEqual([refused, refused]);
  });

  it('ModelRouteWithGlobalRateLimit: requests are served while Redis cannot be found', async () => {
    const redis = { address: 'no-such-redis.invalid:6379' };
    await at.put(limited(GLOBAL, { inputTokensPerUnit: 300, unit: 'minute', global: { redis } }));
    for (let i = 0; i < 5; i++) expect((await at.chat(SHARED, says('hi'))).status).toBe(200);
  });

  (hasRedisServer() ? describe : describe.skip)('on a Redis of three routers', () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await RedisServer.start();
    });
    afterAll(() => redis.stop());
    afterEach(() => redis.with((client) => client.flushall()));
    const shared = (): object => ({ inputTokensPerUnit: 300, unit: 'minute', global: { redis: { address: redis.address } } });

    it('ModelRouteWithGlobalRateLimit: a limit is reached by requests to one router', async () => {
      await at.put(limited(GLOBAL, shared()));
      for (let i = 0; i < 20; i++) expect((await at.chat(SHARED, says('hi'))).status).toBe(200);
      const fields = await redis.with((client) => client.hgetall(`kthena:ratelimit:${SHARED}:input`));
      expect(Object.keys(fields).sort()).toEqual(['last_update', 'tokens']);
    });

    it('ModelRouteWithGlobalRateLimit: three routers share what one would have', async () => {
      await at.put(limited(GLOBAL, shared()));
      const routers = [at, await at.another(), await at.another()];
      const passed = [0, 0, 0];
      const last = [0, 0, 0];
      for (let i = 0; i < 90; i++) {
        const { status } = await routers[i % 3]!.chat(SHARED, says('hi'));
        last[i % 3] = status;
        if (status === 200) passed[i % 3]! += 1;
        else expect(status).toBe(429);
      }
      expect(last).toEqual([429, 429, 429]);
      const total = passed[0]! + passed[1]! + passed[2]!;
      // Eight tokens each, by an estimate that real usage corrects: about 37.
      expect(total).toBeGreaterThan(20);
      expect(total).toBeLessThan(60);
      expect(Math.max(...passed) - Math.min(...passed)).toBeLessThanOrEqual(2);
    });

    it('ModelRouteWithGlobalRateLimit: two routes of one model serve, each its own requests', async () => {
      const [rule] = GLOBAL.spec.rules;
      const premium = { ...rule, modelMatch: { headers: { 'user-type': { exact: 'premium' } } } };
      await at.put(limited(GLOBAL, shared()), limited(GLOBAL, shared(), { rules: [premium] }, 'a-premium'));
      for (const headers of [{}, { 'user-type': 'premium' }] as Record<string, string>[]) {
        const statuses = [];
        for (let i = 0; i < 5; i++) statuses.push((await at.chat(SHARED, says('hi'), headers)).status);
        expect(statuses).toEqual([200, 200, 200, 200, 200]);
      }
      expect(Object.keys(at.counts('model_route')).sort()).toEqual(['default/a-premium', 'default/deepseek-global-rate-limit']);
    });
  });
});
