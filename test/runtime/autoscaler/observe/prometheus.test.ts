import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { HttpReader } from '../../../../runtime/autoscaler/observe/http-reader';
import { PrometheusAccess } from '../../../../runtime/autoscaler/observe/prometheus-access';
import { queryPrometheus, readAnswer } from '../../../../runtime/autoscaler/observe/prometheus-query';
import { wallClock } from '../../../../runtime/lib/wall-clock';
import type { PrometheusServerConfig } from '../../../../src/config/prometheus-server-config';
import { hasPrometheus, PrometheusServer } from '../../../helpers/prometheus-server';

const tls = (name: string): string => join(__dirname, '../../../fixtures/tls', `${name}.pem`);
const folder = mkdtempSync(join(tmpdir(), 'prometheus-access-'));
const tokenFile = join(folder, 'token');
const http = new HttpReader(wallClock(), { timeoutMs: 3000, concurrency: 8 });

/** A metrics page, and every request that was made to it. */
let target: Server;
let asked: IncomingMessage[] = [];
const accesses: PrometheusAccess[] = [];

beforeAll(async () => {
  target = createServer((request, response) => {
    asked.push(request);
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(
      request.url?.includes('/api/v1/') === true
        ? JSON.stringify({ status: 'success', data: { resultType: 'scalar', result: [Date.now() / 1000, '7'] } })
        : '# TYPE load gauge\nload{pod="a"} 40\nload{pod="b"} 2\n',
    );
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  asked = [];
  await Promise.all(accesses.splice(0).map((access) => access.close()));
});

afterAll(async () => {
  target.closeAllConnections();
  await new Promise((resolve) => target.close(resolve));
});

const targetPort = (): number => (target.address() as AddressInfo).port;

function ask(serverURL: string, query: string, servers: readonly PrometheusServerConfig[]) {
  const access = new PrometheusAccess(servers);
  accesses.push(access);
  return queryPrometheus({ serverURL, query }, http, access);
}

(hasPrometheus() ? describe : describe.skip)('a real Prometheus that asks for a client certificate', () => {
  let server: PrometheusServer;
  let url: string;

  beforeAll(async () => {
    const files = { cert: tls('server'), key: tls('server-key'), clientCa: tls('client-authority') };
    server = await PrometheusServer.start(`127.0.0.1:${targetPort()}`, files);
    url = `https://127.0.0.1:${server.port}`;
  }, 30_000);

  afterAll(() => server.stop());

  const trusted = (): PrometheusServerConfig => ({
    serverURL: url,
    caFile: tls('authority'),
    certFile: tls('client'),
    keyFile: tls('client-key'),
  });

  it('is asked with the certificate and authority of the configuration', async () => {
    let reading = await ask(url, 'sum(load)', [trusted()]);
    for (const end = performance.now() + 25_000; reading.kind !== 'external' && performance.now() < end; ) {
      await setTimeout(50);
      reading = await ask(url, 'sum(load)', [trusted()]);
    }
    expect(reading).toEqual({ kind: 'external', value: 42 });
    expect(await ask(url, 'load', [trusted()])).toEqual({
      kind: 'missing',
      reason: 'the query gives 2 samples; make it give one',
    });
    expect(await ask(url, 'sum(load{pod="c"})', [trusted()])).toMatchObject({ kind: 'missing' });
    expect(await ask(url, 'sum(', [trusted()])).toMatchObject({
      kind: 'missing',
      reason: expect.stringContaining('answered 400'),
    });
  }, 30_000);

  it('is a missing metric without them', async () => {
    expect(await ask(url, 'sum(load)', [])).toMatchObject({ kind: 'missing', reason: expect.stringContaining('failed (') });
    const { certFile: _cert, keyFile: _key, ...anonymous } = trusted();
    expect(await ask(url, 'sum(load)', [anonymous])).toMatchObject({ kind: 'missing' });
  });
});

describe('credentials for Prometheus', () => {
  it('go to servers of the configuration only, and are read again for each query', async () => {
    const base = `http://127.0.0.1:${targetPort()}`;
    const server = { serverURL: `${base}/tenant`, bearerTokenFile: tokenFile };
    writeFileSync(tokenFile, 'first\n');
    expect(await ask(`${base}/tenant/a`, 'load', [server])).toEqual({ kind: 'external', value: 7 });
    writeFileSync(tokenFile, 'second\n');
    await ask(`${base}/tenant`, 'load', [server]);
    await ask(`${base}/tenants`, 'load', [server]);
    await ask(`${base}/tenant/../other`, 'load', [server]);
    await ask(`http://localhost:${targetPort()}/tenant`, 'load', [server]);
    const tokens = asked.filter(({ url }) => url?.includes('/api/v1/query')).map(({ headers }) => headers.authorization);
    expect(tokens).toEqual(['Bearer first', 'Bearer second', undefined, undefined, undefined]);
  });

  it('that cannot be read make the metric missing, and nothing is asked without them', async () => {
    const url = `http://127.0.0.1:${targetPort()}`;
    const reading = await ask(url, 'load', [{ serverURL: url, bearerTokenFile: join(folder, 'none') }]);
    expect(reading).toMatchObject({ kind: 'missing', reason: expect.stringContaining('cannot be used: ENOENT') });
    expect(asked.filter(({ url: path }) => path?.includes('/api/v1/query'))).toEqual([]);
  });
});

describe('an answer of Prometheus', () => {
  const vector = (atSeconds: number) =>
    JSON.stringify({ status: 'success', data: { resultType: 'vector', result: [{ value: [atSeconds, '3'] }] } });

  it('about an earlier time is refused, by the clock of the server', () => {
    expect(readAnswer(vector(1000), 1_060_000)).toEqual({ kind: 'external', value: 3 });
    expect(readAnswer(vector(1000), 1_200_000)).toEqual({ kind: 'missing', reason: 'the answer of Prometheus is 200 s old' });
  });
});
