import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Value } from '@sinclair/typebox/value';
import { engineTlsSchema, tlsSchema } from '../../../src/config/tls-config';
import { answerOf, ask, openHttp2, post, tlsFixture } from '../../helpers/http2-client';
import { chatBody, routerConfig, send, startTestRouter, TestEngine, type TestRouter } from '../../helpers/router-harness';

const read = (name: string): Buffer => readFileSync(tlsFixture(name));
const answerJson = '{"usage":{"prompt_tokens":3,"completion_tokens":2}}';
const CHAT = '/v1/chat/completions';

let folder: string;
let engine: TestEngine;
let router: TestRouter | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tls-'));
  engine = await new TestEngine((_request, response) => response.end(answerJson)).start();
});

afterEach(async () => {
  await router?.router.close();
  router = undefined;
  await engine.kill();
  rmSync(folder, { recursive: true });
});

/** Mounts files as a Secret's volume does: links into a folder that a link names, which is turned. */
function mount(version: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, version));
  for (const [name, fixture] of Object.entries(files)) copyFileSync(tlsFixture(fixture), join(folder, version, name));
  symlinkSync(version, join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  for (const name of Object.keys(files)) {
    rmSync(join(folder, name), { force: true });
    symlinkSync(join('..data', name), join(folder, name));
  }
}

const metric = async (line: string): Promise<string | undefined> => {
  const page = (await send(`http://127.0.0.1:${router!.router.metricsAddress.port}`, '/metrics')).body;
  return page
    .split('\n')
    .find((each) => each.startsWith(line))
    ?.split(' ')
    .at(-1);
};

describe('certificates of the listener', () => {
  const start = async (extra: object = {}): Promise<number> => {
    const tls = Value.Default(tlsSchema, { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), ...extra });
    router = await startTestRouter({ engines: [engine], config: routerConfig({ tls: tls as object }) });
    return router.router.address.port;
  };
  const servedName = (port: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket: TLSSocket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('are taken over when their Secret changes, and connections that stand go on', async () => {
    mount('one', { 'tls.crt': 'server.pem', 'tls.key': 'server-key.pem' });
    const port = await start();
    expect(await servedName(port)).toBe('localhost');
    expect(Number(await metric('kvasir_router_tls_certificate_expiry_timestamp_seconds{use="listener"}'))).toBe(
      Date.parse('2126-11-06T21:58:39Z') / 1000,
    );
    const before = await openHttp2(port);
    let more: () => void = () => undefined;
    engine.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
      more = () => response.end('data: [DONE]\n\n');
    };
    const stream = before.request(post(CHAT));
    const done = answerOf(stream);
    stream.end(chatBody({ stream: true }));
    await new Promise((resolve) => stream.once('data', resolve));
    mount('two', { 'tls.crt': 'next-server.pem', 'tls.key': 'next-server-key.pem' });
    await untilAsync(async () => (await servedName(port)) === 'next.localhost');
    more();
    expect((await done).body).toContain('[DONE]');
    expect((await ask(before, { ':path': '/v1/models' })).status).toBe(200);
    before.destroy();
  });

  it('that are bad leave the last good one, with a metric, until a good one comes', async () => {
    mount('one', { 'tls.crt': 'server.pem', 'tls.key': 'server-key.pem' });
    const port = await start();
    mount('two', { 'tls.crt': 'next-server.pem', 'tls.key': 'server-key.pem' });
    const state = 'kvasir_router_tls_last_reload_successful{use="listener"}';
    await untilAsync(async () => (await metric(state)) === '0');
    expect(await servedName(port)).toBe('localhost');
    mount('three', { 'tls.crt': 'next-server.pem', 'tls.key': 'next-server-key.pem' });
    await untilAsync(async () => (await metric(state)) === '1');
    expect(await servedName(port)).toBe('next.localhost');
  });

  it('that are bad from the start end it with what to do', async () => {
    await expect(start()).rejects.toMatchObject({ code: 'config/tls-files', message: expect.stringContaining('tls.') });
    writeFileSync(join(folder, 'tls.crt'), 'no certificate');
    writeFileSync(join(folder, 'tls.key'), 'no key');
    await expect(start()).rejects.toMatchObject({
      code: 'config/tls-files',
      message: expect.stringContaining('holds no certificate'),
    });
  });

  it('of clients are asked for where their authority is named, and who has none is refused', async () => {
    mount('one', { 'tls.crt': 'server.pem', 'tls.key': 'server-key.pem', 'clients.crt': 'client-authority.pem' });
    const port = await start({ clientCaFile: join(folder, 'clients.crt') });
    const client = { cert: read('client.pem'), key: read('client-key.pem') };
    const known = await openHttp2(port, client);
    expect((await ask(known, { ':path': '/v1/models' })).status).toBe(200);
    known.destroy();
    // With TLS 1.3 a client learns it after its own side of the handshake.
    const refused = (options: object): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({ port, host: 'localhost', ca: read('authority.pem'), ...options });
        let received = '';
        socket.on('data', (chunk) => {
          received += chunk.toString('latin1');
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve(received));
        socket.write('GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      });
    expect(await refused({})).toBe('');
    expect(await refused({ cert: read('server.pem'), key: read('server-key.pem') })).toBe('');
    expect(await refused(client)).toContain('200 OK');
    await untilAsync(async () => (await metric('kvasir_router_tls_handshake_failures_total')) === '2');
    expect(router!.records).toHaveLength(2);
    // Probes have no certificate.
    expect((await send(`http://127.0.0.1:${router!.router.metricsAddress.port}`, '/readyz')).status).toBe(200);
  });

  it('older versions than the oldest are refused', async () => {
    mount('one', { 'tls.crt': 'server.pem', 'tls.key': 'server-key.pem' });
    const port = await start({ minVersion: 'TLSv1.3' });
    await expect(openHttp2(port, { maxVersion: 'TLSv1.2' })).rejects.toThrow();
    (await openHttp2(port)).destroy();
  });
});

describe('engines whose ModelServer says https', () => {
  let tlsEngine: TestEngine;
  const server = { workloadPort: { port: 8000, protocol: 'https' as const } };

  beforeEach(async () => {
    tlsEngine = await new TestEngine((_request, response) => response.end(answerJson), {
      key: read('server-key.pem').toString(),
      cert: read('server.pem').toString(),
    }).start();
  });

  afterEach(() => tlsEngine.kill());

  const start = async (engineTls: object, port = tlsEngine.port): Promise<string> => {
    const config = routerConfig({ engineTls: Value.Default(engineTlsSchema, engineTls) as object, retry: { attempts: 0 } });
    router = await startTestRouter({ engines: [{ port }], config, server });
    return router.url;
  };

  it('are asked and scraped over TLS, with the authority that is named', async () => {
    tlsEngine.metricsPage = 'vllm:num_requests_running{model_name="m"} 7\n';
    const url = await start({ caFile: tlsFixture('authority.pem') });
    expect((await send(url, CHAT, chatBody())).status).toBe(200);
    expect(router!.router.endpoints.all()[0]).toMatchObject({ running: 7 });
  });

  it('are not asked where nobody vouches for them, unless anybody will do', async () => {
    const refused = await start({});
    const answer = await send(refused, CHAT, chatBody());
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([503, 'upstream_unavailable']);
    expect(tlsEngine.received).toHaveLength(0);
    await router!.router.close();
    const wrongName = await start({ caFile: tlsFixture('authority.pem'), serverName: 'engine.example.com' });
    expect((await send(wrongName, CHAT, chatBody())).status).toBe(503);
    await router!.router.close();
    const lenient = await start({ insecureSkipVerify: true });
    expect((await send(lenient, CHAT, chatBody())).status).toBe(200);
  });

  describe('and asks for a certificate', () => {
    let mutual: Server;
    const names: string[] = [];

    beforeEach(async () => {
      names.length = 0;
      const options = {
        key: read('next-server-key.pem'),
        cert: read('next-server.pem'),
        requestCert: true,
        rejectUnauthorized: true,
      };
      mutual = createServer({ ...options, ca: [read('client-authority.pem'), read('authority.pem')] }, (message, response) => {
        if (message.method === 'POST') names.push(String((message.socket as TLSSocket).getPeerCertificate().subject.CN));
        message.resume();
        message.on('end', () => response.end(message.url === '/metrics' ? '' : answerJson));
      });
      await new Promise<void>((resolve) => mutual.listen(0, '127.0.0.1', resolve));
    });

    afterEach(async () => {
      mutual.closeAllConnections();
      await new Promise((resolve) => mutual.close(resolve));
    });

    it('get the one that is given, and the next one when it changes', async () => {
      mount('one', { 'tls.crt': 'client.pem', 'tls.key': 'client-key.pem', 'ca.crt': 'client-authority.pem' });
      const url = await start(
        {
          caFile: join(folder, 'ca.crt'),
          certFile: join(folder, 'tls.crt'),
          keyFile: join(folder, 'tls.key'),
          serverName: 'engine.example.com',
        },
        (mutual.address() as AddressInfo).port,
      );
      expect((await send(url, CHAT, chatBody())).status).toBe(200);
      expect(names).toEqual(['client']);
      mount('two', { 'tls.crt': 'next-server.pem', 'tls.key': 'next-server-key.pem', 'ca.crt': 'client-authority.pem' });
      await untilAsync(async () => {
        expect((await send(url, CHAT, chatBody())).status).toBe(200);
        return names.at(-1) === 'next.localhost';
      });
    });

    it('refuse a router that has none', async () => {
      const url = await start(
        { caFile: tlsFixture('client-authority.pem'), serverName: 'engine.example.com' },
        (mutual.address() as AddressInfo).port,
      );
      // Not 503: with TLS 1.3 the request is under way when the engine refuses.
      expect((await send(url, CHAT, chatBody())).status).toBe(502);
      expect(names).toEqual([]);
      expect(router!.records.at(-1)).toMatchObject({ status_code: 502 });
    });
  });
});

async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 8_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('not in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
