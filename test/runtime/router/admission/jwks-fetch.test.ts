import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpJwksFetcher } from '../../../../runtime/router/admission/jwks-fetch';

const TLS = join(__dirname, '../../../fixtures/tls');
const KEYS = { keys: [{ kid: 'a' }] };
const never = (): AbortSignal => new AbortController().signal;

const servers: Server[] = [];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kvasir-jwks-'));
});

afterEach(async () => {
  rmSync(folder, { recursive: true });
  await Promise.all(
    servers.splice(0).map((server) => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      return closed;
    }),
  );
});

async function serve(listener: RequestListener, isTls = false): Promise<string> {
  const [key, cert] = ['server-key.pem', 'server.pem'].map((name) => readFileSync(join(TLS, name)));
  const server = isTls ? createHttpsServer({ key, cert }, listener) : createHttpServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `${isTls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
}

const document: RequestListener = (_message, response) => response.end(JSON.stringify(KEYS));

it('takes a certificate of the authorities in the file, and of new ones without a restart', async () => {
  const uri = await serve(document, true);
  const caFile = join(folder, 'ca.pem');
  const fetch = httpJwksFetcher(uri, caFile);
  await expect(fetch(never())).rejects.toMatchObject({ code: 'ENOENT' });
  writeFileSync(caFile, '');
  await expect(fetch(never())).rejects.toThrow();
  copyFileSync(join(TLS, 'authority.pem'), caFile);
  expect(await fetch(never())).toEqual(KEYS);
});

it('takes no certificate of an unknown authority', async () => {
  const uri = await serve(document, true);
  await expect(httpJwksFetcher(uri)(never())).rejects.toThrow('fetch failed');
});

it('follows a redirect, but not from TLS to none', async () => {
  const plain = await serve(document);
  const toPlain: RequestListener = (_message, response) => response.writeHead(302, { location: plain }).end();
  expect(await httpJwksFetcher(await serve(toPlain))(never())).toEqual(KEYS);
  const uri = await serve(toPlain, true);
  await expect(httpJwksFetcher(uri, join(TLS, 'authority.pem'))(never())).rejects.toThrow('redirected to a URL without TLS');
});

it.each<[string, RequestListener, RegExp]>([
  ['an error', (_message, response) => response.writeHead(500).end('{}'), /status 500/],
  ['no JSON', (_message, response) => response.end('<html>'), /JSON/],
  ['more than a mebibyte', (_message, response) => response.end(`{"keys":"${'x'.repeat(2 ** 20)}"}`), /./],
])('fails on %s', async (_name, listener, reason) => {
  const uri = await serve(listener);
  await expect(httpJwksFetcher(uri)(never())).rejects.toThrow(reason);
});
