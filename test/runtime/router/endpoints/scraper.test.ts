import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '../../../../runtime/lib/virtual-clock';
import type { EngineObservation } from '../../../../runtime/router/endpoints/engine-observation';
import { httpMetricsFetcher } from '../../../../runtime/router/endpoints/fetch-metrics';
import { type FetchMetrics, Scraper, type ScrapeTarget } from '../../../../runtime/router/endpoints/scraper';

class Target implements ScrapeTarget {
  readonly found: (EngineObservation | 'failed')[] = [];
  isBusyNow = false;

  constructor(readonly port: number) {}

  get endpoint() {
    const pod = { namespace: 'default', name: `p${this.port}`, uid: `u${this.port}` };
    return {
      id: `default/p${this.port}#u${this.port}`,
      slot: this.port,
      pod,
      host: '127.0.0.1',
      port: this.port,
      engine: 'vLLM' as const,
    };
  }

  isBusy(): boolean {
    return this.isBusyNow;
  }

  scraped(observation: EngineObservation): void {
    this.found.push(observation);
  }

  scrapeFailed(): void {
    this.found.push('failed');
  }
}

/** Lets promise callbacks run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function pass(clock: VirtualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    await settle();
  }
}

const page = (running: number): string => `vllm:num_requests_running{engine="0"} ${running}\n`;

describe('the scraper', () => {
  it('asks a busy endpoint each second and an idle one less and less often, every five seconds at most', async () => {
    const clock = new VirtualClock();
    const scraper = new Scraper(clock, async () => page(1));
    const [busy, idle] = [new Target(1), new Target(2)];
    busy.isBusyNow = true;
    scraper.add(busy);
    scraper.add(idle);
    await settle();
    await pass(clock, 20_000);
    expect(busy.found).toHaveLength(21);
    // At 0, 2, 6, 11 and 16 s.
    expect(idle.found).toHaveLength(5);
    expect(busy.found[0]).toEqual({ running: 1 });
    scraper.close();
  });

  it('delays nobody for one that hangs, and gives that one up', async () => {
    const clock = new VirtualClock();
    let aborted = 0;
    const hang: FetchMetrics = ({ port }, signal) =>
      port === 1
        ? new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              aborted += 1;
              reject(new Error('aborted'));
            });
          })
        : Promise.resolve(page(0));
    const scraper = new Scraper(clock, hang, { timeoutMs: 3000, concurrency: 2 });
    const [stuck, well] = [new Target(1), new Target(2)];
    well.isBusyNow = true;
    scraper.add(stuck);
    scraper.add(well);
    await settle();
    await pass(clock, 2900);
    expect([stuck.found, well.found.length]).toEqual([[], 3]);
    await pass(clock, 200);
    expect([stuck.found, aborted]).toEqual([['failed'], 1]);
    scraper.close();
  });

  it('keeps to its concurrency and serves all that wait', async () => {
    const clock = new VirtualClock();
    let active = 0;
    let most = 0;
    const release: (() => void)[] = [];
    const scraper = new Scraper(
      clock,
      () => {
        active += 1;
        most = Math.max(most, active);
        return new Promise((resolve) => {
          release.push(() => {
            active -= 1;
            resolve(page(0));
          });
        });
      },
      { concurrency: 3 },
    );
    const targets = Array.from({ length: 10 }, (_, i) => new Target(i));
    for (const target of targets) scraper.add(target);
    for (let i = 0; i < 10; i++) {
      release.shift()?.();
      await settle();
    }
    expect(most).toBe(3);
    expect(targets.every(({ found }) => found.length === 1)).toBe(true);
    scraper.close();
  });

  it('tells nothing to a target that was removed while its page was on the way', async () => {
    const clock = new VirtualClock();
    const scraper = new Scraper(clock, async () => page(0));
    const target = new Target(1);
    scraper.add(target);
    scraper.remove(target);
    await settle();
    await pass(clock, 3000);
    expect(target.found).toEqual([]);
  });
});

describe('a page over HTTP', () => {
  it('is fetched from /metrics; another status, a closed port and an abort reject', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/metrics' && request.headers.accept !== 'x') response.end(page(2));
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const { fetchMetrics, close } = httpMetricsFetcher();
    const never = new AbortController().signal;
    try {
      expect(await fetchMetrics(new Target(port).endpoint, never)).toBe(page(2));
      await expect(fetchMetrics(new Target(port).endpoint, AbortSignal.abort())).rejects.toThrow();
      server.removeAllListeners('request').on('request', (_request, response) => response.writeHead(500).end('no'));
      await expect(fetchMetrics(new Target(port).endpoint, never)).rejects.toThrow('status 500');
    } finally {
      await close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    const { fetchMetrics: again, close: closeAgain } = httpMetricsFetcher();
    await expect(again(new Target(port).endpoint, never)).rejects.toThrow();
    await closeAgain();
  });
});
