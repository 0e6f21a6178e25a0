import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpReader } from '../../../../runtime/autoscaler/observe/http-reader';
import { wallClock } from '../../../../runtime/lib/wall-clock';

const servers: Server[] = [];

afterEach(async () => {
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
  return new HttpReader(wallClock(options.speed), { timeoutMs: 3000, concurrency: 8, ...options });
}

describe('reading a page', () => {
  it('gives the text of a 2xx answer', async () => {
    const url = await serve((_request, response) => response.end('load 1\n'));
    expect(await reader().read(url, (text) => text)).toEqual({ kind: 'read', value: 'load 1\n' });
  });

  it('puts a page together that comes in pieces, by length, in chunks, or until the end of the connection', async () => {
    const page = `load{model="é漢"} ${'1'.repeat(300_000)}\n`;
    const bytes = Buffer.from(page);
    const half = bytes.indexOf('é') + 1;
    const sent: RequestListener = (_request, response) => {
      response.write(bytes.subarray(0, half));
      setTimeout(() => response.end(bytes.subarray(half)), 5);
    };
    const one = reader();
    const urls = [
      await serve(sent),
      await serve((request, response) => {
        response.setHeader('content-length', bytes.length);
        sent(request, response);
      }),
      await serve((_request, { socket }) => {
        socket!.write('HTTP/1.0 200 OK\r\n\r\n');
        socket!.end(bytes);
      }),
    ];
    for (const url of [...urls, ...urls]) expect(await one.read(url, (text) => text)).toEqual({ kind: 'read', value: page });
  });

  it.each([
    ['speaks no HTTP', 'SSH-2.0-x\r\n\r\n', /^answered what is no HTTP: /],
    [
      'ends before its page is whole',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nload',
      /^answered what is no HTTP: the connection was closed/,
    ],
    ['sends more than a page can be', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(2 ** 24 + 1)}`, /^answered more than 16777216 bytes$/],
  ])('tells of a server that %s', async (_what, bytes, reason) => {
    const url = await serve((_request, { socket }) => socket!.end(bytes));
    expect(await reader().read(url, (text) => text)).toEqual({ kind: 'failed', reason: expect.stringMatching(reason) });
  });

  it('tells the status of any other answer', async () => {
    const url = await serve((_request, response) => response.writeHead(503).end('no'));
    expect(await reader().read(url, (text) => text)).toEqual({ kind: 'failed', reason: 'answered 503' });
  });

  it('tells that nobody listens', async () => {
    expect(await reader().read('http://127.0.0.1:1/metrics', (text) => text)).toEqual({
      kind: 'failed',
      reason: 'failed (ECONNREFUSED)',
    });
  });

  it('tells of an address that is none, and rejects nothing', async () => {
    expect(await reader().read('http://', (text) => text)).toEqual({ kind: 'failed', reason: 'is no URL' });
  });

  it.each([
    ['headers', (() => {}) as RequestListener],
    ['a body', ((_request, response) => response.write('load')) as RequestListener],
  ])('waits no longer than the timeout for %s', async (_, listener) => {
    const url = await serve(listener);
    const startedAt = performance.now();
    expect(await reader({ timeoutMs: 300 }).read(url, (text) => text)).toEqual({
      kind: 'failed',
      reason: 'gave no answer within 300 ms',
    });
    expect(performance.now() - startedAt).toBeLessThan(1500);
  });

  it('leaves a real answer 250 real milliseconds, however fast the clock runs', async () => {
    const url = await serve((_request, response) => setTimeout(() => response.end('late'), 100));
    expect(await reader({ timeoutMs: 3000, speed: 1000 }).read(url, (text) => text)).toEqual({ kind: 'read', value: 'late' });
    const never = await serve(() => {});
    const startedAt = performance.now();
    expect(await reader({ timeoutMs: 3000, speed: 1000 }).read(never, (text) => text)).toMatchObject({ kind: 'failed' });
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
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => one.read(`${url}?${i}`, (text) => text)));
    expect(answers.every(({ kind }) => kind === 'read')).toBe(true);
    expect(most).toBeLessThanOrEqual(2);
  });
});
