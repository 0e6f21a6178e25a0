import { seededRandom } from '../../../../runtime/lib/random';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { FetchMetrics } from '../../../../runtime/router/endpoints/scraper';
import type { SchedulingRequest } from '../../../../runtime/router/scheduling/attempts';
import { createScheduling, type Scheduling, type SchedulingOptions } from '../../../../runtime/router/scheduling/scheduling';
import { FakeRouterCluster, modelRouteOf, modelServerOf, podOf } from '../../../helpers/router-cluster';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const NONE: ReadonlySet<string> = new Set();
const request: SchedulingRequest = {
  modelServer: 'default/a',
  upstreamModel: 'm',
  promptSpans: [Buffer.from('hello')],
  promptTokens: 2,
  streams: true,
};

/** A page of an engine that reports so much load. */
const page = (running: number, waiting: number, kvUsage: number): string =>
  `vllm:num_requests_running{engine="0"} ${running}\nvllm:num_requests_waiting{engine="0"} ${waiting}\nvllm:kv_cache_usage_perc{engine="0"} ${kvUsage}\n` +
  'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1000"} 1.0\n';

describe('scheduling', () => {
  let clock: VirtualClock;
  let cluster: FakeRouterCluster;
  let scheduling: Scheduling;

  const open = async (fetchMetrics: FetchMetrics, config: SchedulingOptions['config'] = {}): Promise<void> => {
    clock = new VirtualClock();
    scheduling = await createScheduling({ cluster, clock, random: seededRandom(1), config, fetchMetrics });
  };

  beforeEach(() => {
    cluster = new FakeRouterCluster().put(
      modelRouteOf('a', { modelName: 'chat' }),
      modelServerOf('a'),
      podOf('a', 0),
      podOf('a', 1),
    );
  });
  afterEach(() => scheduling.close());

  it('is ready after the first list and one scrape of each pod, and stays so', async () => {
    cluster.isSynced = false;
    const pages: ((text: string) => void)[] = [];
    await open(() => new Promise((resolve) => pages.push(resolve)));
    const waiting = scheduling.whenReady();
    expect(scheduling.isReady()).toBe(false);
    cluster.isSynced = true;
    clock.advance(100);
    expect(scheduling.isReady()).toBe(false);
    pages[0]!(page(0, 0, 0));
    await settle();
    expect(scheduling.isReady()).toBe(false);
    pages[1]!('not a page');
    await waiting;
    cluster.put(podOf('a', 2));
    expect(scheduling.isReady()).toBe(true);
  });

  it('is not ready for want of pods that it did not look at yet, however long its start takes', async () => {
    const opening = open(() => new Promise(() => undefined));
    clock.advance(10_000);
    await opening;
    expect(scheduling.isReady()).toBe(false);
  });

  it('is ready although a pod cannot be scraped, and routes to it', async () => {
    await open(() => Promise.reject(new Error('connect ECONNREFUSED')));
    await scheduling.whenReady();
    expect(scheduling.attempts.next(request, NONE).kind).toBe('attempt');
  });

  it('is ready with no pods at all once lists are complete', async () => {
    cluster = new FakeRouterCluster();
    cluster.isSynced = false;
    await open(() => Promise.reject(new Error('nobody')));
    expect(scheduling.isReady()).toBe(false);
    cluster.isSynced = true;
    clock.advance(60);
    await scheduling.whenReady();
  });

  it('follows routes, servers and pods as they change', async () => {
    await open(async () => page(0, 0, 0));
    const query = { path: '/', method: 'POST', headers: {}, random: seededRandom(1) };
    expect(scheduling.routes.match({ ...query, model: 'chat' }).kind).toBe('matched');
    cluster.put(modelRouteOf('a', { modelName: 'renamed' }));
    expect(scheduling.routes.match({ ...query, model: 'chat' }).kind).toBe('unmatched');
    expect(scheduling.routes.match({ ...query, model: 'renamed' }).kind).toBe('matched');
    const gone: string[] = [];
    const end = scheduling.endpoints.removed(({ id }) => gone.push(id));
    cluster.remove(podOf('a', 1));
    expect(gone).toEqual(['default/a-1#uid-a-1']);
    end();
    cluster.remove(modelServerOf('a'));
    expect(gone).toHaveLength(1);
    expect(scheduling.endpoints.ofModelServer('default/a')).toBeUndefined();
  });

  it('sees load that others put on a pod, from its scrape', async () => {
    await open(async ({ slot }) => page(slot === 0 ? 40 : 0, slot === 0 ? 10 : 0, slot === 0 ? 0.9 : 0));
    await settle();
    const next = scheduling.attempts.next(request, NONE);
    expect(next).toMatchObject({ attempt: { endpoint: { slot: 1 } } });
  });

  it('lets a scrape fade that is not renewed, and never fails for it', async () => {
    let isBroken = false;
    await open(async ({ slot }) => {
      if (isBroken) throw new Error('gone');
      return page(slot === 0 ? 40 : 0, 0, 0);
    });
    await settle();
    isBroken = true;
    const used = new Set<number>();
    for (let i = 0; i < 60; i++) {
      // Three requests stay at the other pod, far fewer than the forty that were once reported here.
      clock.advance(1000);
      await settle();
      const next = scheduling.attempts.next(request, NONE);
      if (next.kind !== 'attempt') throw new Error(next.message);
      if (i < 3) expect(next.attempt.endpoint.slot).toBe(1);
      used.add(next.attempt.endpoint.slot);
      if (i > 2) next.attempt.settle({ kind: 'completed' });
    }
    expect(used).toEqual(new Set([0, 1]));
  });

  it('believes of a pod that it holds as much as the KV cache that it reports', async () => {
    cluster = new FakeRouterCluster().put(modelServerOf('a'), podOf('a', 0));
    await open(async () => page(0, 0, 0));
    await settle();
    for (let i = 0; i < 30; i++) {
      const text = `${i}`.padEnd(4096, 'x');
      const next = scheduling.attempts.next({ ...request, promptSpans: [Buffer.from(text)], promptTokens: 1024 }, NONE);
      if (next.kind === 'attempt') next.attempt.settle({ kind: 'completed' });
    }
    // 1000 blocks of 16 tokens, at four bytes a token.
    expect(scheduling.endpoints.all()[0]!.indexedBytes).toBeGreaterThan(62_000);
    expect(scheduling.endpoints.all()[0]!.indexedBytes).toBeLessThanOrEqual(64_000);
    expect(scheduling.endpoints.index()).toEqual({ blocks: 250, shareScale: 1 });
  });

  it('forgets a prompt when the container of its pod restarts', async () => {
    cluster = new FakeRouterCluster().put(modelServerOf('a'), podOf('a', 0));
    await open(async () => page(0, 0, 0));
    const long = { ...request, promptSpans: [Buffer.alloc(2048, 'x')], promptTokens: 512 };
    const cached = () => {
      const next = scheduling.attempts.next({ ...long }, NONE);
      if (next.kind !== 'attempt') throw new Error(next.message);
      next.attempt.settle({ kind: 'completed' });
      return next.attempt.predictedCachedTokens;
    };
    expect([cached(), cached()]).toEqual([0, 512]);
    cluster.put(podOf('a', 0, { status: { containerStatuses: [{ name: 'engine', ready: true, restartCount: 1 }] } }));
    expect(cached()).toBe(0);
  });

  it('tells what of configuration and routes cannot be done', async () => {
    cluster.put(modelRouteOf('bad', { modelName: 'b', rules: [{ modelMatch: { uri: { regex: '(' } }, targetModels: [] }] }));
    await open(async () => page(0, 0, 0), { profile: 'nonsense' });
    expect(scheduling.findings().map(({ code }) => code)).toEqual(['config/unknown-profile', 'routing/invalid-regex']);
    cluster.put(
      modelServerOf('a', { workloadPort: { port: 8000, protocol: 'https' } }),
      modelServerOf('pd', {
        workloadSelector: {
          matchLabels: { app: 'pd' },
          pdGroup: { groupKey: 'g', prefillLabels: { r: 'p' }, decodeLabels: { r: 'd' } },
        },
      }),
      podOf('pd', 0, { labels: { app: 'pd', r: 'p', g: '1' } }),
      podOf('pd', 1, { labels: { app: 'pd', r: 'd', g: '2' } }),
    );
    expect(scheduling.findings().map(({ object, field }) => `${object} ${field}`)).toEqual(
      expect.arrayContaining([
        'ModelServer default/a spec.workloadPort.protocol',
        'ModelServer default/pd spec.workloadSelector.pdGroup',
      ]),
    );
  });

  it('leaves no listener behind when closed', async () => {
    await open(async () => page(0, 0, 0));
    expect(cluster.listening).toBe(4);
    await scheduling.close();
    expect(cluster.listening).toBe(0);
    while (clock.step());
  });
});
