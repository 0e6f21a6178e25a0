import { writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import type { ModelRoute } from '../../../../src/api/model-route';
import { decodeRouterConfig, type RouterConfig } from '../../../../src/config/router-config';
import { KthenaLimiter } from '../../../helpers/kthena-rate-limit';
import { hasRedisServer, RedisServer } from '../../../helpers/redis-server';
import {
  type Answer,
  chatBody,
  modelRoute,
  routerConfig,
  send,
  startTestRouter,
  TestEngine,
  type TestRouter,
  type TestRouterOptions,
  until,
} from '../../../helpers/router-harness';
import { temporaryFolders } from '../../../helpers/temporary-folder';

type RateLimit = NonNullable<ModelRoute['spec']['rateLimit']>;

const CHAT = '/v1/chat/completions';
/** Tokens that the router makes of `chatBody()`. */
const ESTIMATE = 9;

interface EngineUsage {
  prompt: number;
  completion: number;
  cached?: number;
}

/** An engine that counts as it is told, in documents and streams. */
function countingEngine(usage: EngineUsage): TestEngine {
  return new TestEngine((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(404).end();
      return;
    }
    const counts = {
      prompt_tokens: usage.prompt,
      completion_tokens: usage.completion,
      ...(usage.cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: usage.cached } }),
    };
    if (!(JSON.parse(request.body) as { stream?: boolean }).stream) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ message: { content: 'hi' } }], usage: counts }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    // As with continuous_usage_stats: each chunk tells the total so far.
    for (let token = 1; token <= usage.completion; token++)
      response.write(
        `data: ${JSON.stringify({ choices: [{ delta: { content: 'x' } }], usage: { ...counts, completion_tokens: token } })}\n\n`,
      );
    response.end(`data: ${JSON.stringify({ choices: [], usage: counts })}\n\ndata: [DONE]\n\n`);
  });
}

/** API keys of Secrets with a label; requests without one are served too. */
function keysOf(secretLabel: string): NonNullable<RouterConfig['auth']> {
  const decoded = decodeRouterConfig({ auth: { apiKeys: { secretLabel }, required: false } });
  if (decoded.kind === 'invalid') throw new Error(JSON.stringify(decoded.findings));
  return decoded.config.auth!;
}

const route = (rateLimit: RateLimit | undefined, spec: Partial<ModelRoute['spec']> = {}): Partial<ModelRoute['spec']> => ({
  ...(rateLimit === undefined ? {} : { rateLimit }),
  ...spec,
});

describe('limits over sockets', () => {
  const folder = temporaryFolders();
  const opened: { close(): Promise<unknown> }[] = [];
  let usage: EngineUsage;
  let engine: TestEngine;

  beforeEach(async () => {
    usage = { prompt: ESTIMATE, completion: 1 };
    engine = await countingEngine(usage).start();
    opened.push({ close: () => engine.kill() });
  });
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each.close();
  });

  async function router(rateLimit: RateLimit | undefined, options: Partial<TestRouterOptions> = {}): Promise<TestRouter> {
    const made = await startTestRouter({ engines: [engine], route: route(rateLimit), ...options });
    opened.push({
      close: async () => {
        await until(() => made.router.load().activeRequests === 0, 'every request is over');
        expect(made.router.load()).toMatchObject({ permits: 0, exchanges: 0, reservedLimits: 0, queued: 0 });
        await made.router.close();
      },
    });
    return made;
  }

  const ask = (at: TestRouter, extra: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
    send(at.url, CHAT, chatBody(extra), headers);
  const metricsOf = async (at: TestRouter): Promise<string> =>
    (await send(`http://127.0.0.1:${at.router.metricsAddress.port}`, '/metrics')).body;

  describe('in memory', () => {
    it('admit input to the token: 1,000 requests at once take what is there, and not one more passes', async () => {
      const at = await router({ unit: 'month', inputTokensPerUnit: 100 * ESTIMATE + ESTIMATE - 1 });
      const agent = new Agent({ keepAlive: true, maxSockets: 100 });
      const statuses = await Promise.all(Array.from({ length: 1_000 }, () => post(agent, at.url)));
      agent.destroy();
      expect(statuses.filter((status) => status === 200)).toHaveLength(100);
      expect(statuses.filter((status) => status === 429)).toHaveLength(900);
      expect(engine.received).toHaveLength(100);
    });

    it('tell a client what is left, and how long it takes to be full again', async () => {
      const at = await router({ unit: 'minute', inputTokensPerUnit: 60, outputTokensPerUnit: 600, requestsPerUnit: 4 });
      const { status, headers } = await ask(at);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'x-ratelimit-limit-requests': '4',
        'x-ratelimit-remaining-requests': '3',
        'x-ratelimit-reset-requests': '15s',
        'x-ratelimit-limit-input-tokens': '60',
        'x-ratelimit-remaining-input-tokens': String(60 - ESTIMATE),
        'x-ratelimit-reset-input-tokens': `${ESTIMATE}s`,
        'x-ratelimit-limit-output-tokens': '600',
        'x-ratelimit-remaining-output-tokens': '600',
        'x-ratelimit-reset-output-tokens': '0s',
        'x-ratelimit-limit-tokens': '60',
        'x-ratelimit-remaining-tokens': String(60 - ESTIMATE),
      });
    });

    it('say nothing on routes without limits', async () => {
      const { headers } = await ask(await router(undefined));
      expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    });

    it('refuse with 429, an error in the client’s dialect, and when to come back', async () => {
      const at = await router({ unit: 'minute', inputTokensPerUnit: 12 });
      await ask(at);
      const refused = await ask(at);
      expect(refused.status).toBe(429);
      // 3 are left and 9 needed, at 12 a minute.
      expect(Number(refused.headers['retry-after'])).toBe(30);
      expect(refused.headers['x-ratelimit-remaining-input-tokens']).toBe('3');
      expect(JSON.parse(refused.body)).toEqual({
        error: {
          message: expect.stringMatching(
            /^input token rate limit exceeded: ModelRoute default\/route may use 12 per minute, 3 are left and this request needs about 9; /,
          ),
          type: 'tokens',
          param: null,
          code: 'rate_limit_exceeded',
        },
      });
      const messages = await send(at.url, '/v1/messages', chatBody());
      expect(messages.status).toBe(429);
      expect(JSON.parse(messages.body)).toEqual({
        type: 'error',
        error: { type: 'rate_limit_error', message: expect.stringContaining('rate limit') },
      });
      expect(at.records.at(-1)).toMatchObject({ status_code: 429, error: { type: 'input_rate_limit' } });
      const metrics = await metricsOf(at);
      expect(metrics).toContain(`kthena_router_rate_limit_exceeded_total{model="m",limit_type="input_tokens",path="${CHAT}"} 1`);
      expect(metrics).toMatch(
        /kthena_router_requests_total\{model="m",path="\/v1\/chat\/completions",status_code="429",error_type="rate_limit",.*\} 1/,
      );
    });

    it('are errors that the official clients know', async () => {
      const at = await router({ unit: 'day', requestsPerUnit: 1 });
      await ask(at);
      const openai = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: 'none', maxRetries: 0 });
      const chat = openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });
      await expect(chat).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests' });
      await expect(chat).rejects.toBeInstanceOf(OpenAI.RateLimitError);
      const anthropic = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
      const message = anthropic.messages.create({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] });
      await expect(message).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    });

    it('tell a client not to come back whose prompt is larger than the whole limit', async () => {
      const at = await router({ unit: 'minute', inputTokensPerUnit: ESTIMATE - 1 });
      const { status, headers, body } = await ask(at);
      expect(status).toBe(429);
      expect(headers['retry-after']).toBeUndefined();
      expect(headers['x-should-retry']).toBe('false');
      expect(body).toContain('no wait makes this one fit');
      const openai = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: 'none', maxRetries: 2 });
      const chat = openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });
      await expect(chat).rejects.toBeInstanceOf(OpenAI.RateLimitError);
      expect(at.records).toHaveLength(2);
    });

    it('refill at their rate, so that waiting as long as Retry-After says is enough', async () => {
      let aheadMs = 0;
      const real = wallClock();
      const clock = { now: () => real.now() + aheadMs, monotonic: () => real.monotonic() + aheadMs, after: real.after };
      const at = await router({ unit: 'minute', inputTokensPerUnit: 3 * ESTIMATE }, { clock });
      const statuses: number[] = [];
      for (let i = 0; i < 4; i++) statuses.push((await ask(at)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
      aheadMs += 10_000;
      const refused = await ask(at);
      expect(refused.status).toBe(429);
      aheadMs += Number(refused.headers['retry-after']) * 1000;
      expect((await ask(at)).status).toBe(200);
      aheadMs += 70_000;
      statuses.length = 0;
      for (let i = 0; i < 4; i++) statuses.push((await ask(at)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
    });

    it('settle input by what the engine counted, in both directions', async () => {
      const at = await router({ unit: 'month', inputTokensPerUnit: 100 });
      usage.prompt = 4;
      await ask(at);
      usage.prompt = 50;
      expect((await ask(at)).headers['x-ratelimit-remaining-input-tokens']).toBe(String(100 - 4 - ESTIMATE));
      expect((await ask(at)).headers['x-ratelimit-remaining-input-tokens']).toBe(String(100 - 4 - 50 - ESTIMATE));
    });

    it('count what was in an engine’s cache at the weight that is configured', async () => {
      const at = await router(
        { unit: 'month', inputTokensPerUnit: 1_000 },
        { config: routerConfig({ rateLimit: { cachedTokenWeight: 0.25 } }) },
      );
      Object.assign(usage, { prompt: 100, cached: 80 });
      await ask(at);
      expect((await ask(at)).headers['x-ratelimit-remaining-input-tokens']).toBe(String(1_000 - 40 - ESTIMATE));
    });

    it('give back what was reserved for a request that no engine served', async () => {
      const limits: RateLimit = { unit: 'month', inputTokensPerUnit: 100, requestsPerUnit: 10 };
      const at = await router(limits, { config: routerConfig({ retry: { attempts: 0 } }) });
      engine.answer = (_, response) => {
        response.statusCode = 400;
        response.end('{"error":{"message":"no"}}');
      };
      expect((await ask(at)).status).toBe(400);
      await engine.kill();
      expect((await ask(at)).status).toBe(503);
      at.cluster.put(modelRoute('route', 'absent', route(limits)));
      expect((await ask(at)).status).toBe(404);
      at.cluster.put(modelRoute('route', 'server', route(limits)));
      const { headers } = await ask(at);
      // The two that reached for an engine count as requests.
      expect(headers['x-ratelimit-remaining-input-tokens']).toBe(String(100 - ESTIMATE));
      expect(headers['x-ratelimit-remaining-requests']).toBe('7');
    });

    it('keep what a client used that left in the middle', async () => {
      const at = await router({ unit: 'month', inputTokensPerUnit: 100, outputTokensPerUnit: 100 });
      engine.answer = (_, response) => {
        response.setHeader('content-type', 'text/event-stream');
        for (let i = 0; i < 7; i++) response.write('data: {"choices":[{"delta":{"content":"x"}}]}\n\n');
      };
      await leaveAfterFirstByte(at.url, chatBody({ stream: true }));
      await until(() => at.records.length === 1, 'the request is over');
      engine.answer = (_, response) => response.end('{}');
      const { headers } = await ask(at);
      expect(headers['x-ratelimit-remaining-input-tokens']).toBe(String(100 - 2 * ESTIMATE));
      expect(headers['x-ratelimit-remaining-output-tokens']).toBe('93');
    });

    it('of requests count requests, on paths that use no tokens too', async () => {
      const at = await router({ unit: 'month', inputTokensPerUnit: 100, requestsPerUnit: 2 });
      const { headers } = await send(at.url, '/tokenize', JSON.stringify({ model: 'm', prompt: 'hello' }));
      expect(headers['x-ratelimit-remaining-requests']).toBe('1');
      expect(headers['x-ratelimit-remaining-input-tokens']).toBeUndefined();
      await ask(at);
      const refused = await ask(at);
      expect(refused.status).toBe(429);
      expect(JSON.parse(refused.body)).toMatchObject({ error: { type: 'requests', code: 'rate_limit_exceeded' } });
      // One of two a month is there again after half a month.
      expect(Number(refused.headers['retry-after'])).toBe(1_296_000);
    });

    it('B6: an answer larger than what is left is charged in full, and the debt is paid before the next', async () => {
      usage.completion = 60;
      const at = await router({ unit: 'day', outputTokensPerUnit: 100 });
      expect((await ask(at)).status).toBe(200); // 40 left
      expect((await ask(at)).status).toBe(200); // 20 owed
      const refused = await ask(at);
      expect(refused.status).toBe(429);
      expect(JSON.parse(refused.body).error.message).toContain('output token rate limit exceeded');
      // 21 at 100 a day.
      expect(Number(refused.headers['retry-after'])).toBeCloseTo((21 * 86_400) / 100, -1);
      expect(at.records.at(-1)).toMatchObject({ error: { type: 'output_rate_limit' } });
    });

    it('B6: a refusal for output takes no input', async () => {
      usage.completion = 60;
      const at = await router({ unit: 'month', inputTokensPerUnit: 100, outputTokensPerUnit: 60 });
      await ask(at);
      const refused = await ask(at);
      expect(refused.status).toBe(429);
      expect(refused.headers['x-ratelimit-remaining-input-tokens']).toBe(String(100 - ESTIMATE));
    });

    it('B7: removing a limit, or the whole of them, ends it at once', async () => {
      const at = await router({ unit: 'day', inputTokensPerUnit: ESTIMATE, outputTokensPerUnit: 100 });
      await ask(at);
      expect((await ask(at)).status).toBe(429);
      at.cluster.put(modelRoute('route', 'server', route({ unit: 'day', outputTokensPerUnit: 100 })));
      expect((await ask(at)).status).toBe(200);
      at.cluster.put(modelRoute('route', 'server', route({ unit: 'day', outputTokensPerUnit: 1 })));
      await ask(at);
      expect((await ask(at)).status).toBe(429);
      at.cluster.put(modelRoute('route', 'server'));
      expect((await ask(at)).status).toBe(200);
    });

    it('B7: a change that does not touch the limits refills nothing', async () => {
      const limits: RateLimit = { unit: 'day', inputTokensPerUnit: ESTIMATE };
      const at = await router(limits);
      await ask(at);
      const changed = modelRoute('route', 'server', route(limits));
      at.cluster.put({ ...changed, metadata: { ...changed.metadata, labels: { touched: 'yes' } } });
      expect((await ask(at)).status).toBe(429);
    });

    it('B7: two routes of one model have limits of their own, and deleting one leaves the other’s', async () => {
      const premium = {
        rules: [
          { modelMatch: { headers: { tier: { exact: 'premium' } } }, targetModels: [{ modelServerName: 'server', weight: 100 }] },
        ],
      };
      const at = await router({ unit: 'day', inputTokensPerUnit: ESTIMATE });
      const older = modelRoute('older', 'server', route({ unit: 'day', inputTokensPerUnit: 3 * ESTIMATE }, premium));
      at.cluster.put({ ...older, metadata: { ...older.metadata, creationTimestamp: '2025-01-01T00:00:00Z' } } as typeof older);
      const asPremium = () => ask(at, {}, { tier: 'premium' });
      expect([(await ask(at)).status, (await ask(at)).status]).toEqual([200, 429]);
      expect([(await asPremium()).status, (await asPremium()).status]).toEqual([200, 200]);
      at.cluster.remove('ModelRoute', 'default', 'older');
      expect((await ask(at)).status).toBe(429);
      expect((await send(`http://127.0.0.1:${at.router.debugAddress.port}`, '/debug/findings')).body).not.toContain(
        'unlike-limits',
      );
    });

    it('B7: requests for adapters count against the route that serves them', async () => {
      const at = await router(undefined, {
        route: route({ unit: 'day', inputTokensPerUnit: 2 * ESTIMATE }, { loraAdapters: ['sql', 'law'] }),
      });
      const statuses = [];
      for (const model of ['sql', 'law', 'm']) statuses.push((await ask(at, { model })).status);
      expect(statuses).toEqual([200, 200, 429]);
    });

    it('B7: a route that was deleted and made anew is limited', async () => {
      const limits: RateLimit = { unit: 'day', inputTokensPerUnit: ESTIMATE };
      const at = await router(limits);
      at.cluster.remove('ModelRoute', 'default', 'route');
      at.cluster.put(modelRoute('route', 'server', route(limits)));
      expect([(await ask(at)).status, (await ask(at)).status]).toEqual([200, 429]);
    });

    it('B23: usage that is told in every chunk is charged once', async () => {
      usage.completion = 20;
      const at = await router({ unit: 'month', outputTokensPerUnit: 100 });
      await ask(at, { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } });
      expect((await ask(at)).headers['x-ratelimit-remaining-output-tokens']).toBe('80');
    });

    it('count each user and tenant for itself, whatever the model', async () => {
      const config = routerConfig({
        auth: keysOf('keys'),
        rateLimit: {
          clients: [
            { per: 'user', names: ['batch'], unit: 'day', requestsPerUnit: 1 },
            { per: 'user', unit: 'day', requestsPerUnit: 2 },
            { per: 'tenant', unit: 'day', requestsPerUnit: 4 },
          ],
        },
      });
      const at = await router(undefined, { config });
      const [ann, bob, batch] = ['ann', 'bob', 'batch'].map((name) => `key-of-${name}-0123456789`) as [string, string, string];
      at.cluster.putSecret('default/keys', 'keys=true', {
        ann: JSON.stringify({ key: ann, tenant: 'red' }),
        bob: JSON.stringify({ key: bob, tenant: 'red' }),
        batch,
      });
      const as = async (key: string | undefined) => (await ask(at, {}, key === undefined ? {} : { 'x-api-key': key })).status;
      expect([await as(ann), await as(ann), await as(ann)]).toEqual([200, 200, 429]);
      expect([await as(batch), await as(batch)]).toEqual([200, 429]);
      expect([await as(bob), await as(bob)]).toEqual([200, 200]);
      expect([await as(undefined), await as(undefined), await as(undefined)]).toEqual([200, 200, 200]);
    });
  });

  (hasRedisServer() ? describe : describe.skip)('in Redis', () => {
    let redis: RedisServer;

    beforeEach(async () => {
      redis = await RedisServer.start();
      opened.push({ close: () => redis.stop() });
    });

    const shared = (rateLimit: Omit<RateLimit, 'global'>): RateLimit => ({
      ...rateLimit,
      global: { redis: { address: redis.address } },
    });

    it('of two routers admit input within one request of the limit at 1,000 requests at once, and keep all output as debt', async () => {
      Object.assign(usage, { prompt: ESTIMATE, completion: 50 });
      const [inputTokensPerUnit, outputTokensPerUnit] = [200 * ESTIMATE + 5, 1_000];
      const limits = shared({ unit: 'day', inputTokensPerUnit, outputTokensPerUnit });
      const routers = [await router(limits), await router(limits)];
      const agent = new Agent({ keepAlive: true, maxSockets: 100 });
      // Engines answer when everybody was admitted or refused: until then all output is in flight.
      const answers: (() => void)[] = [];
      const answer = engine.answer;
      engine.answer = (...args) => void answers.push(() => answer(...args));
      const asked = Array.from({ length: 1_000 }, (_, i) => post(agent, routers[i % 2]!.url));
      await until(() => engine.received.length === 200 && answers.length === 200, 'as many as fit are at the engine', 20_000);
      const releasing = setInterval(() => {
        for (const each of answers.splice(0)) each();
      }, 20);
      const statuses = await Promise.all(asked);
      clearInterval(releasing);
      agent.destroy();
      const served = statuses.filter((status) => status === 200).length;
      expect(served + statuses.filter((status) => status === 429).length).toBe(1_000);
      expect(inputTokensPerUnit - served * ESTIMATE).toBeGreaterThanOrEqual(0);
      expect(inputTokensPerUnit - served * ESTIMATE).toBeLessThan(ESTIMATE);
      const levels = await redis.with(async (client) => {
        const output = await client.hget('kthena:ratelimit:m:output', 'tokens');
        return Number(output);
      });
      await until(() => routers.every((each) => each.router.load().activeRequests === 0), 'every request is over');
      // 200 in flight at 50 tokens: 9,000 beyond the limit, all of it owed.
      expect(levels).toBeCloseTo(outputTokensPerUnit - served * 50, -1);
      for (const each of routers) expect((await ask(each)).status).toBe(429);
    }, 30_000);

    it('are those of Kthena’s routers on the same Redis', async () => {
      const at = await router(shared({ unit: 'day', inputTokensPerUnit: 5 * ESTIMATE }));
      await redis.with(async (client) => {
        const theirs = new KthenaLimiter(client, 'm', 'input', 5 * ESTIMATE, 86_400);
        await ask(at);
        expect(await theirs.available()).toBe(4 * ESTIMATE);
        expect(await theirs.take(3 * ESTIMATE)).toBe(true);
        expect([(await ask(at)).status, (await ask(at)).status]).toEqual([200, 429]);
      });
    });

    it('B8: each route is counted in the Redis that it names', async () => {
      const other = await RedisServer.start();
      opened.push({ close: () => other.stop() });
      const at = await router(shared({ unit: 'day', inputTokensPerUnit: 100 }));
      at.cluster.put(
        modelRoute(
          'second',
          'server',
          route({ unit: 'day', inputTokensPerUnit: 50, global: { redis: { address: other.address } } }, { modelName: 'n' }),
        ),
      );
      await ask(at);
      await ask(at, { model: 'n' });
      const tokens = (server: RedisServer, model: string) =>
        server.with((client) => client.hget(`kthena:ratelimit:${model}:input`, 'tokens'));
      expect(Number(await tokens(redis, 'm'))).toBeCloseTo(100 - ESTIMATE, 0);
      expect(Number(await tokens(other, 'n'))).toBeCloseTo(50 - ESTIMATE, 0);
      expect(await tokens(other, 'm')).toBeNull();
      expect(await tokens(redis, 'n')).toBeNull();
    });

    it('B8: are counted by each router for its part when the server cannot be reached, from the start or later, and shared again after', async () => {
      const limits = shared({ unit: 'day', inputTokensPerUnit: 4 * ESTIMATE });
      await redis.stop();
      const at = await router(limits, { config: routerConfig({ rateLimit: { replicas: 2 } }) });
      expect([(await ask(at)).status, (await ask(at)).status, (await ask(at)).status]).toEqual([200, 200, 429]);
      expect(await metricsOf(at)).toContain(`kvasir_redis_up{address="${redis.address}"} 0`);
      expect(await metricsOf(at)).toContain('kvasir_router_rate_limit_local_decisions_total 3');
      await redis.start();
      await until(() => at.router.load().activeRequests === 0, 'idle');
      for (;;) if ((await metricsOf(at)).includes(`kvasir_redis_up{address="${redis.address}"} 1`)) break;
      // The two that passed meanwhile are taken from what all share.
      expect([(await ask(at)).status, (await ask(at)).status, (await ask(at)).status]).toEqual([200, 200, 429]);
      await redis.stop();
      expect((await ask(at)).status).toBe(429);
    }, 15_000);

    it('B8: passwords are known to the router’s own Redis, and sent to no other', async () => {
      const passwordFile = join(folder(), 'password');
      writeFileSync(passwordFile, 'right-password\n');
      const guarded = await RedisServer.start('--requirepass', 'right-password');
      opened.push({ close: () => guarded.stop() });
      let heard = '';
      const stranger = createServer((socket) =>
        socket.on('data', (bytes) => (heard += bytes.toString())).on('error', () => undefined),
      );
      await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
      opened.push({ close: async () => stranger.close() });
      const strange = `127.0.0.1:${(stranger.address() as AddressInfo).port}`;

      const config = routerConfig({ redis: { address: guarded.address, passwordFile } });
      const limits = (address: string): RateLimit => ({ unit: 'day', inputTokensPerUnit: 100, global: { redis: { address } } });
      const at = await router(limits(guarded.address), { config });
      expect((await ask(at)).headers['x-ratelimit-remaining-input-tokens']).toBe(String(100 - ESTIMATE));
      expect(await metricsOf(at)).toContain('kvasir_router_rate_limit_local_decisions_total 0');
      at.cluster.put(modelRoute('second', 'server', route(limits(strange), { modelName: 'n' })));
      await until(() => heard !== '', 'the stranger is asked');
      expect((await ask(at, { model: 'n' })).status).toBe(200);
      expect(heard.toLowerCase()).not.toContain('password');
    });

    it('of routes of one model that differ are a finding, and those of the oldest count', async () => {
      const at = await router(shared({ unit: 'day', inputTokensPerUnit: 2 * ESTIMATE }));
      const younger = modelRoute(
        'younger',
        'server',
        route(shared({ unit: 'day', inputTokensPerUnit: 100 * ESTIMATE }), {
          rules: [{ targetModels: [{ modelServerName: 'server', weight: 100 }] }],
        }),
      );
      at.cluster.put({
        ...younger,
        metadata: { ...younger.metadata, creationTimestamp: '2026-02-01T00:00:00Z' },
      } as typeof younger);
      const findings = JSON.parse((await send(`http://127.0.0.1:${at.router.debugAddress.port}`, '/debug/findings')).body);
      expect(findings.findings).toContainEqual(
        expect.objectContaining({
          code: 'routing/unlike-limits',
          severity: 'error',
          object: 'ModelRoute default/younger',
          field: 'spec.rateLimit',
        }),
      );
      expect([(await ask(at)).status, (await ask(at)).status, (await ask(at)).status]).toEqual([200, 200, 429]);
    });

    it('take nothing for a client that leaves while Redis is asked', async () => {
      const at = await router(shared({ unit: 'day', inputTokensPerUnit: 100, requestsPerUnit: 9 }));
      await ask(at);
      redis.freeze();
      const request = httpRequest(`${at.url}${CHAT}`, {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json' },
      });
      request.on('error', () => undefined);
      request.end(chatBody());
      await until(() => at.router.load().permits === 1, 'the request waits for Redis');
      request.destroy();
      await until(() => at.records.length === 2, 'the request is over');
      redis.thaw();
      expect(at.records[1]).toMatchObject({ status_code: 499 });
      expect(engine.received).toHaveLength(1);
      await until(() => at.router.load().reservedLimits === 0, 'everything was given back');
    });

    it('give back what a client’s own limit refuses after them', async () => {
      const config = routerConfig({
        auth: keysOf('keys'),
        rateLimit: { clients: [{ per: 'user', unit: 'day', requestsPerUnit: 1 }] },
      });
      const at = await router(shared({ unit: 'day', inputTokensPerUnit: 100, requestsPerUnit: 50 }), { config });
      const key = 'key-of-ann-0123456789';
      at.cluster.putSecret('default/keys', 'keys=true', { ann: key });
      expect((await ask(at, {}, { 'x-api-key': key })).status).toBe(200);
      expect((await ask(at, {}, { 'x-api-key': key })).status).toBe(429);
      await until(() => at.router.load().reservedLimits === 0, 'everything was given back');
      expect((await ask(at)).headers).toMatchObject({
        'x-ratelimit-remaining-input-tokens': String(100 - 2 * ESTIMATE),
        'x-ratelimit-remaining-requests': '48',
      });
    });
  });
});

/** One request on a shared connection. @returns its status. */
function post(agent: Agent, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${CHAT}`, { method: 'POST', agent, headers: { 'content-type': 'application/json' } });
    request.on('error', reject);
    request.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode!));
    });
    request.end(chatBody());
  });
}

function leaveAfterFirstByte(url: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${CHAT}`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json' },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      response.on('error', () => undefined);
      response.once('data', () => {
        request.destroy();
        resolve();
      });
    });
    request.end(body);
  });
}
