import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import { ProviderChoice } from '../../../../runtime/router/providers/provider-choice';
import { ProviderLatency } from '../../../../runtime/router/providers/provider-latency';
import { decodeRouterConfig, type RouterConfig } from '../../../../src/config/router-config';
import { AUTHORITY_FILE, addProvider, startProviderRouter, testProvider } from '../../../helpers/provider-harness';
import { chatBody, routerConfig, send, type TestEngine, type TestRouter, until } from '../../../helpers/router-harness';

const REQUEST = { model: 'm', promptTokens: 1_000, maxOutputTokens: 100, streams: false };
const PRICES = {
  'default/cheap': { inputPerMillion: 1, outputPerMillion: 10 },
  'default/dear': { inputPerMillion: 10, outputPerMillion: 100 },
};

function providers(parts: Partial<RouterConfig['providers']>): RouterConfig['providers'] {
  return { ...routerConfig().providers, selection: 'cost', ...parts };
}

describe('what a request costs at a provider', () => {
  const clock = new VirtualClock();
  const latencies = new Map<string, ProviderLatency>();
  const ejected = new Set<string>();
  const latencyOf = (key: string): ProviderLatency => {
    if (!latencies.has(key)) latencies.set(key, new ProviderLatency());
    return latencies.get(key)!;
  };
  const choice = (parts: Partial<RouterConfig['providers']>) =>
    new ProviderChoice({
      ...{ config: { providers: providers(parts) }, clock, latencyOf },
      isEjected: (key) => ejected.has(key),
    });

  beforeEach(() => {
    latencies.clear();
    ejected.clear();
  });

  it('is the mean of its times, of streams and of documents apart, and nothing while they are unknown', () => {
    const made = choice({});
    expect(made.seconds('default/a', REQUEST)).toBe(0);
    latencyOf('default/a').observe(false, 2_000, clock.monotonic());
    latencyOf('default/a').observe(true, 500, clock.monotonic());
    expect(made.seconds('default/a', REQUEST)).toBe(2);
    expect(made.seconds('default/a', { ...REQUEST, streams: true })).toBe(0.5);
    latencyOf('default/a').observe(false, 3_000, clock.monotonic());
    expect(made.seconds('default/a', REQUEST)).toBeCloseTo(2.2);
  });

  it('forgets a slow spell after a minute without an answer', () => {
    latencyOf('default/a').observe(false, 9_000, clock.monotonic());
    clock.advance(60_000);
    expect(choice({}).seconds('default/a', REQUEST)).toBe(9);
    clock.advance(1);
    expect(choice({}).seconds('default/a', REQUEST)).toBe(0);
  });

  it('adds the price of prompt and expected answer at its worth in seconds', () => {
    const made = choice({ prices: PRICES, secondsPerUnit: 1_000 });
    // 1,000 tokens at 1 a million and 100 at 10 a million are 0.002 units.
    expect(made.seconds('default/cheap', REQUEST)).toBeCloseTo(2);
    expect(made.seconds('default/dear', REQUEST)).toBeCloseTo(20);
    expect(made.seconds('default/free', REQUEST)).toBe(0);
    made.answered('m', 0);
    // An answer has one token at least.
    expect(made.seconds('default/cheap', REQUEST)).toBeCloseTo(1.01);
    expect(choice({ prices: PRICES }).seconds('default/dear', REQUEST)).toBe(0);
  });

  it('decides who is taken: the least, the first of equal ones, and one that keeps failing only alone', () => {
    const made = choice({ prices: PRICES, secondsPerUnit: 1 });
    const best = (...keys: string[]) => made.best(keys, (key) => key, REQUEST);
    expect(best('default/dear', 'default/cheap')).toBe('default/cheap');
    expect(best('default/x', 'default/y')).toBe('default/x');
    ejected.add('default/cheap');
    expect(best('default/dear', 'default/cheap')).toBe('default/dear');
    expect(best('default/cheap')).toBe('default/cheap');
    expect(best()).toBeUndefined();
  });
});

describe('a request that goes to one of several providers', () => {
  const opened: TestEngine[] = [];
  const routers: TestRouter[] = [];
  const CHAT = '/v1/chat/completions';
  let served: string[];

  beforeEach(() => {
    served = [];
  });
  afterEach(async () => {
    for (const { router } of routers.splice(0)) {
      await until(() => router.load().activeRequests === 0, 'every request is over');
      await router.close();
    }
    for (const each of opened.splice(0)) await each.kill();
  });

  const provider = async (name: string, delayMs = 0, status = 200): Promise<TestEngine> => {
    const made = await testProvider((_request, response) => {
      served.push(name);
      const body =
        status === 200 ? { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } } : { error: { message: name } };
      setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)), delayMs);
    });
    opened.push(made);
    return made;
  };
  const start = async (parts: Partial<RouterConfig['providers']>, names: readonly string[], weights = names.map(() => 50)) => {
    const config = routerConfig({
      providers: providers({ caFile: AUTHORITY_FILE, ...parts }),
      retry: { intervalMs: 1 },
      queue: { overflow: true },
    });
    const targets = names.map((externalModelProviderName, i) => ({ externalModelProviderName, weight: weights[i]! }));
    const made = await startProviderRouter({ config, targets });
    routers.push(made);
    return made;
  };
  const ask = async ({ url }: TestRouter, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) expect((await send(url, CHAT, chatBody())).status).toBe(200);
  };

  it('goes to the fastest, after each was tried', async () => {
    const at = await start({}, ['slow', 'fast']);
    addProvider(at, await provider('slow', 500), { name: 'slow' });
    addProvider(at, await provider('fast'), { name: 'fast' });
    await ask(at, 10);
    expect(served.filter((name) => name === 'slow').length).toBeLessThanOrEqual(1);
  });

  it('goes to a slow one that is cheap where money is worth more than time, and by weight where nothing else is said', async () => {
    const prices = { 'default/fast': { inputPerMillion: 100, outputPerMillion: 100 } };
    const at = await start({ prices, secondsPerUnit: 1_000_000 }, ['slow', 'fast']);
    addProvider(at, await provider('slow', 40), { name: 'slow' });
    addProvider(at, await provider('fast'), { name: 'fast' });
    await ask(at, 6);
    expect(new Set(served)).toEqual(new Set(['slow']));
    const drawn = await start({ prices, secondsPerUnit: 1_000_000, selection: 'weight' }, ['slow', 'fast'], [0, 100]);
    addProvider(drawn, opened[0]!, { name: 'slow' });
    addProvider(drawn, opened[1]!, { name: 'fast' });
    served = [];
    await ask(drawn, 4);
    expect(new Set(served)).toEqual(new Set(['fast']));
  });

  it('goes on to the next in cost when the first fails, and never to one of weight 0', async () => {
    const prices = {
      'default/second': { inputPerMillion: 1, outputPerMillion: 1 },
      'default/third': { inputPerMillion: 9, outputPerMillion: 9 },
    };
    const at = await start({ prices, secondsPerUnit: 1_000_000 }, ['third', 'first', 'second', 'none'], [40, 30, 30, 0]);
    addProvider(at, await provider('first', 0, 500), { name: 'first' });
    addProvider(at, await provider('second'), { name: 'second' });
    addProvider(at, await provider('third'), { name: 'third' });
    addProvider(at, await provider('none'), { name: 'none' });
    await ask(at, 1);
    expect(served).toEqual(['first', 'second']);
  });

  it('overflows from pods to the cheapest, of whatever weight', async () => {
    const prices = {
      'default/a': { inputPerMillion: 9, outputPerMillion: 9 },
      'default/b': { inputPerMillion: 1, outputPerMillion: 1 },
    };
    const config = routerConfig({
      providers: providers({ caFile: AUTHORITY_FILE, prices, secondsPerUnit: 1_000_000 }),
      queue: { overflow: true },
    });
    const targets = [
      { modelServerName: 'server', weight: 100 },
      { externalModelProviderName: 'a', weight: 0 },
      { externalModelProviderName: 'b', weight: 0 },
    ];
    const at = await startProviderRouter({ config, targets });
    routers.push(at);
    addProvider(at, await provider('a'), { name: 'a' });
    addProvider(at, await provider('b'), { name: 'b' });
    await ask(at, 3);
    expect(served).toEqual(['b', 'b', 'b']);
  });
});

it('a price names a provider by namespace and name', () => {
  const decoded = decodeRouterConfig({ providers: { prices: { cloud: { inputPerMillion: 1 } } } });
  expect(decoded.kind === 'invalid' && decoded.findings[0]!.field).toMatch(/providers\.prices/);
});
