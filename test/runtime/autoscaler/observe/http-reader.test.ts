import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpReader } from '../../../../runtime/autoscaler/observe/http-reader';
import { wallClock } from '../../../../runtime/lib/wall-clock';

const servers: Server[] = [];
const readers: HttpReader[] = [];

afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}

function reader(options: { timeoutMs?: number; concurrency?: number; speed?: number } = {}): HttpReader {
  const made = new HttpReader(wallClock(options.speed), { timeoutMs: 3000, concurrency: 8, ...options });
  readers.push(made);
  return made;
}

describe('reading a page', () => {
  it('gives the text of a 2xx answer', async () => {
    const url = await serve((_request, response) => response.end('load 1\n'));
    expect(await reader().read(url)).toEqual({ kind: 'text', text: 'load 1\n' });
  });

  it('tells the status of any other answer', async () => {
    const url = await serve((_request, response) => response.writeHead(503).end('no'));
    expect(await reader().read(url)).toEqual({ kind: 'failed', reason: 'answered 503' });
  });

  it('tells that nobody listens', async () => {
    expect(await reader().read('http://127.0.0.1:1/metrics')).toEqual({ kind: 'failed', reason: 'failed (ECONNREFUSED)' });
  });

  it('tells of an address that is none, and rejects nothing', async () => {
    expect(await reader().read('http://')).toEqual({ kind: 'failed', reason: 'is no URL' });
  });

  it.each([
    ['headers', (() => {}) as RequestListener],
    ['a body', ((_request, response) => response.write('load')) as RequestListener],
  ])('waits no longer than the timeout for %s', async (_, listener) => {
    const url = await serve(listener);
    const startedAt = performance.now();
    expect(await reader({ timeoutMs: 300 }).read(url)).toEqual({ kind: 'failed', reason: 'gave no answer within 300 ms' });
    expect(performance.now() - startedAt).toBeLessThan(1500);
  });

  it('leaves a real answer 250 real milliseconds, however fast the clock runs', async () => {
    const url = await serve((_request, response) => setTimeout(() => response.end('late'), 100));
    expect(await reader({ timeoutMs: 3000, speed: 1000 }).read(url)).toEqual({ kind: 'text', text: 'late' });
    const never = await serve(() => {});
    const startedAt = performance.now();
    expect(await reader({ timeoutMs: 3000, speed: 1000 }).read(never)).toMatchObject({ kind: 'failed' });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(240);
    expect(performance.now() - startedAt).toBeLessThan(1500);
  });

  it('keeps to its concurrency', async () => {
    let open = 0;
    let most = 0;
    const url = await serve((_request, response) => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        response.end('x');
      }, 5);
    });
    const one = reader({ concurrency: 2 });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => one.read(`${url}?${i}`)));
    expect(answers.every(({ kind }) => kind === 'text')).toBe(true);
    expect(most).toBeLessThanOrEqual(2);
  });
});
